package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.node.send.ErrorAdvice;
import dev.redlock.node.send.VoteFailure;

/**
 * Describes leases and the outcomes of their acquisitions.
 *
 * @threading immutable
 */
final class ResultText {

    private static final String FOREIGN_KEY_FIX = "delete it if no other program uses it, or choose another name"
            + " or RedlockContext.keyPrefix";
    /** A key of a lock always expires. */
    private static final String FOREIGN_KEY_ADVICE = "a key with the name of the lock never expires, so it is no lock"
            + " of a client: " + FOREIGN_KEY_FIX;

    /** The refusal of a plain {@code SET} shows no ttl, for example. */
    private static final String UNKNOWN_KEY_ADVICE = "the key of the lock is in use, and no node has reported its"
            + " remaining ttl: wait longer, or look at the key with TYPE and PTTL";

    private static final String NO_ATTEMPT_ADVICE = "no attempt has ended: wait longer";
    private static final String TOO_SLOW_AHEAD_ADVICE = "the nodes answer too slowly for the ttl of one that is ahead:"
            + " use a longer ttl or a smaller minimum validity there";

    private ResultText() {
    }

    /** Returns a lease, or the outcome of its acquisition, with its state. */
    static String of(LeaseView lease) {
        StringBuilder text = new StringBuilder(160);
        LeaseState now = lease.state();
        boolean hasResult = now != LeaseState.IDLE && now != LeaseState.ACQUIRING;
        // A handle is also the outcome of its acquisition, and without the lock nothing else.
        text.append(now == LeaseState.NOT_ACQUIRED ? "AcquireOutcome{" : hasResult ? lease.kind + " Lease{" : "Lease{");
        text.append(lease.key).append(", ").append(now);
        if (now == LeaseState.HELD) {
            text.append(", valid for ").append(lease.remainingValidityNs() / NS_PER_MS).append(" ms");
            if (lease.spec.isFenced) {
                text.append(", fencing token ").append(lease.fencingToken);
            }
        }
        if (hasResult) {
            appendResult(text, lease);
        }
        return text.append('}').toString();
    }

    /** Returns what the caller can do. */
    static String advice(LeaseView result) {
        boolean hasReason = result.kind == AcquireOutcome.Kind.TIMED_OUT && result.lastReason != result.kind;
        String advice = advice(result, hasReason ? result.lastReason : result.kind);
        boolean isBehind = result.waitCause != null || result.attemptCount == 0;
        return hasReason ? "the wait budget ended" + (isBehind ? aheadText(result) : "") + ": " + advice : advice;
    }

    /** Returns why an acquisition that waits has no lock, and what the reader of a log can do. */
    static String waitText(LeaseView waiting) {
        StringBuilder text = new StringBuilder(160).append(advice(waiting, waiting.lastReason));
        if (waiting.lastReason == AcquireOutcome.Kind.NO_QUORUM) {
            appendMissingVotes(text, waiting);
        }
        return text.toString();
    }

    private static String advice(LeaseView result, AcquireOutcome.Kind reason) {
        return switch (reason) {
            case NO_QUORUM -> noQuorumAdvice(result);
            case CONTENDED -> contendedAdvice(result);
            case TOO_SLOW -> result.waitCause == null ? reason.advice() : TOO_SLOW_AHEAD_ADVICE;
            default -> reason.advice();
        };
    }

    /** Returns an empty text for an acquisition that was the first of its client. */
    private static String aheadText(LeaseView result) {
        return switch (result.aheadCount) {
            case 0 -> "";
            case 1 -> " behind 1 caller of this client";
            default -> " behind " + result.aheadCount + " callers of this client";
        };
    }

    private static String contendedAdvice(LeaseView result) {
        if (result.waitCause != null && result.waitCause != WaitCause.CALLER_AHEAD) {
            return result.waitCause.advice();
        }
        if (result.waitCause == null && result.attemptCount == 0) {
            return NO_ATTEMPT_ADVICE;
        }
        // While the acquisition has waited, another key may have replaced it.
        boolean isCurrent = result.kind == AcquireOutcome.Kind.CONTENDED
                || result.shortestRemainingTtlMs > result.client.config.terms().maxTtlMs();
        if (result.askedKey != null && isCurrent && result.keyType.isForeign()) {
            return "the key of resource \"" + result.askedKey + "\" has the type " + result.keyType.text()
                    + ", and a lock has the type string, or zset for readers: " + FOREIGN_KEY_FIX;
        }
        if (result.shortestRemainingTtlMs < 0) {
            return UNKNOWN_KEY_ADVICE;
        }
        return result.shortestRemainingTtlMs == Long.MAX_VALUE
                ? FOREIGN_KEY_ADVICE
                : AcquireOutcome.Kind.CONTENDED.advice();
    }

    private static String noQuorumAdvice(LeaseView result) {
        long quarantinedMask = 0;
        for (long mask = result.failures == null ? 0 : result.failedMask; mask != 0; mask &= mask - 1) {
            VoteFailure failure = VoteFailure.of(result.failures[Long.numberOfTrailingZeros(mask)]);
            quarantinedMask |= failure == VoteFailure.QUARANTINED ? Long.lowestOneBit(mask) : 0;
        }
        String advice = result.client.isQuorumWithout(quarantinedMask)
                ? null
                : result.client.quarantineAdvice(Long.bitCount(quarantinedMask));
        return advice == null ? AcquireOutcome.Kind.NO_QUORUM.advice() + errorAdvice(result) : advice;
    }

    /** The advice about the first node that has answered with an error; empty if none has. */
    private static String errorAdvice(LeaseView result) {
        for (long mask = result.failures == null ? 0 : result.failedMask; mask != 0; mask &= mask - 1) {
            int nodeIndex = Long.numberOfTrailingZeros(mask);
            VoteFailure failure = VoteFailure.of(result.failures[nodeIndex]);
            if (failure.isErrorReply()) {
                return "; node " + nodeIndex + " answered " + failure.text() + ": " + ErrorAdvice.of(failure);
            }
        }
        return "";
    }

    /** Returns the vote of a node. */
    static String vote(LeaseView result, int nodeIndex) {
        if (nodeIndex < 0 || nodeIndex >= result.client.nodeCount()) {
            throw new IndexOutOfBoundsException("node index " + nodeIndex + " is out of range: 0 to "
                    + (result.client.nodeCount() - 1) + " are the nodes in configured order");
        }
        long bit = 1L << nodeIndex;
        if ((result.grantedMask & bit) != 0) {
            return "granted";
        }
        if ((result.refusedMask & bit) != 0) {
            return "refused";
        }
        String reason = result.failures == null ? "" : ": " + reasonText(result, nodeIndex);
        if ((result.failedMask & bit) != 0) {
            return "failed" + reason;
        }
        return (result.unknownMask & bit) != 0 ? "unknown" + reason : "pending";
    }

    /** The reason of a vote that was not given, and the cause if the node has the problem still. */
    private static String reasonText(LeaseView result, int nodeIndex) {
        VoteFailure failure = VoteFailure.of(result.failures[nodeIndex]);
        String cause = failure.isOfNode() ? result.client.problemOf(nodeIndex) : null;
        if (cause == null) {
            return failure.text();
        }
        return cause.startsWith(failure.text()) ? cause : failure.text() + ": " + cause;
    }

    private static void appendResult(StringBuilder text, LeaseView result) {
        if (!result.isAcquired()) {
            text.append(", outcome ").append(result.kind);
            if (result.lastReason != result.kind) {
                text.append(" after ").append(result.lastReason);
            }
        }
        text.append(", attempts " + result.attemptCount + aheadText(result) + ", votes "
                + (result.waitCause == WaitCause.CALLER_AHEAD ? "of a caller ahead " : "")
                + result.grantedCount() + " granted "
                + result.refusedCount() + " refused " + result.failedCount() + " failed " + result.unknownCount()
                + " unknown");
        long ttlMs = result.shortestRemainingTtlMs;
        if (ttlMs >= 0) {
            text.append(", shortest remaining ttl " + (ttlMs == Long.MAX_VALUE ? "unlimited" : ttlMs + " ms"));
        }
        appendMissingVotes(text, result);
    }

    private static void appendMissingVotes(StringBuilder text, LeaseView result) {
        for (long left = result.failedMask | result.unknownMask; left != 0; left &= left - 1) {
            int nodeIndex = Long.numberOfTrailingZeros(left);
            text.append(", node " + nodeIndex + " (" + result.client.config.nodes().addresses().get(nodeIndex) + ") "
                    + vote(result, nodeIndex));
        }
    }
}
