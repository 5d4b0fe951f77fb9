package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.node.KeyType;
import dev.redlock.node.VoteFailure;

/**
 * Holds the outcome of an acquisition: its kind, and the votes of the last attempt. The event loop writes it before the
 * state of the lease; callers read the state first.
 *
 * @threading any thread
 */
abstract class AcquireResult extends RequestMailbox implements AcquireOutcome {

    private static final String FOREIGN_KEY_FIX = "delete it if no other program uses it, or choose another name"
            + " or RedlockContext.keyPrefix";
    /** A key of a lock always expires. */
    private static final String FOREIGN_KEY_ADVICE = "a key with the name of the lock never expires, so it is no lock"
            + " of a client: " + FOREIGN_KEY_FIX;

    /** As with native commands. */
    private static final String UNKNOWN_KEY_ADVICE = "the key of the lock is in use, and no node has reported its"
            + " remaining ttl: wait longer, or look at the key with TYPE and PTTL";

    private final LeaseClient client;
    private Kind kind = Kind.CANCELLED;
    private Kind lastReason = Kind.CANCELLED;
    private int attemptCount;
    private long grantedMask;
    private long refusedMask;
    private long failedMask;
    private long unknownMask;
    private long shortestRemainingTtlMs = -1;
    private byte[] failures;
    /** A key whose type the acquisition has asked for; null for none. */
    private LockKey askedKey;
    private KeyType keyType = KeyType.NONE;

    AcquireResult(LeaseClient client) {
        this.client = client;
    }

    final LeaseClient client() {
        return client;
    }

    final void resetResult() {
        kind = Kind.CANCELLED;
        lastReason = Kind.CONTENDED;
        attemptCount = 0;
        grantedMask = 0;
        refusedMask = 0;
        failedMask = 0;
        unknownMask = 0;
        shortestRemainingTtlMs = -1;
        askedKey = null;
    }

    /** Records the votes of an attempt that has ended. */
    final void recordVotes(Claim decided) {
        attemptCount++;
        grantedMask = decided.acquireRound.granted();
        refusedMask = decided.acquireRound.refused();
        failedMask = decided.acquireRound.failed();
        unknownMask = decided.acquireRound.unknown();
        shortestRemainingTtlMs = decided.shortestRemainingTtlMs;
        if ((failedMask | unknownMask) != 0) {
            if (failures == null) {
                failures = new byte[decided.failures.length];
            }
            System.arraycopy(decided.failures, 0, failures, 0, failures.length);
        }
    }

    /** Records what the nodes have said about the key in use since their votes. */
    final void recordRemainingTtl(long ttlMs) {
        shortestRemainingTtlMs = ttlMs;
    }

    /** Whether the type of a key in use was asked for. */
    final boolean isKeyTypeAsked() {
        return askedKey != null;
    }

    /** Records the type of a key in use; {@link KeyType#NONE} if it is not known yet. */
    final void recordKeyType(LockKey key, KeyType type) {
        askedKey = key;
        keyType = type;
    }

    /** Records the failure of the last attempt; the outcome reports it if no later attempt succeeds. */
    final void recordReason(Kind reason) {
        lastReason = reason;
    }

    final void recordOutcome(Kind outcome, Kind reason) {
        kind = outcome;
        lastReason = reason;
    }

    @Override
    public final Kind kind() {
        return kind;
    }

    @Override
    public final String advice() {
        boolean hasReason = kind == Kind.TIMED_OUT && lastReason != kind;
        Kind reason = hasReason ? lastReason : kind;
        String advice = switch (reason) {
            case NO_QUORUM -> noQuorumAdvice();
            case CONTENDED -> contendedAdvice();
            default -> reason.advice();
        };
        return hasReason ? "the wait budget ended: " + advice : advice;
    }

    private String contendedAdvice() {
        // While the acquisition has waited, another key may have replaced it.
        boolean isCurrent = kind == Kind.CONTENDED || shortestRemainingTtlMs > client.config.terms().maxTtlMs();
        if (askedKey != null && isCurrent && keyType.isForeign()) {
            return "the key of resource \"" + askedKey + "\" has the type " + keyType.text()
                    + ", and a lock has the type string, or zset for readers: " + FOREIGN_KEY_FIX;
        }
        if (shortestRemainingTtlMs < 0) {
            return UNKNOWN_KEY_ADVICE;
        }
        return shortestRemainingTtlMs == Long.MAX_VALUE ? FOREIGN_KEY_ADVICE : Kind.CONTENDED.advice();
    }

    private String noQuorumAdvice() {
        long quarantinedMask = 0;
        for (long mask = failedMask; mask != 0; mask &= mask - 1) {
            VoteFailure failure = VoteFailure.of(failures[Long.numberOfTrailingZeros(mask)]);
            quarantinedMask |= failure == VoteFailure.QUARANTINED ? Long.lowestOneBit(mask) : 0;
        }
        return client.isQuorumWithout(quarantinedMask)
                ? Kind.NO_QUORUM.advice()
                : client.quarantineAdvice(Long.bitCount(quarantinedMask));
    }

    @Override
    public final boolean isAcquired() {
        return kind == Kind.ACQUIRED;
    }

    @Override
    public final Kind lastReason() {
        return lastReason;
    }

    @Override
    public final int attemptCount() {
        return attemptCount;
    }

    @Override
    public final int grantedCount() {
        return Long.bitCount(grantedMask);
    }

    @Override
    public final int refusedCount() {
        return Long.bitCount(refusedMask);
    }

    @Override
    public final int failedCount() {
        return Long.bitCount(failedMask);
    }

    @Override
    public final int unknownCount() {
        return Long.bitCount(unknownMask);
    }

    @Override
    public final long shortestRemainingTtlMs() {
        return shortestRemainingTtlMs;
    }

    @Override
    public final String voteText(int nodeIndex) {
        if (nodeIndex < 0 || nodeIndex >= client.nodeCount()) {
            throw new IndexOutOfBoundsException("node index " + nodeIndex + " is out of range: 0 to "
                    + (client.nodeCount() - 1) + " are the nodes in configured order");
        }
        long bit = 1L << nodeIndex;
        if ((grantedMask & bit) != 0) {
            return "granted";
        }
        if ((refusedMask & bit) != 0) {
            return "refused";
        }
        String reason = failures == null ? "" : ": " + reasonText(nodeIndex);
        if ((failedMask & bit) != 0) {
            return "failed" + reason;
        }
        return (unknownMask & bit) != 0 ? "unknown" + reason : "pending";
    }

    /** The reason of a vote that was not given, and the cause if the node has the problem still. */
    private String reasonText(int nodeIndex) {
        VoteFailure failure = VoteFailure.of(failures[nodeIndex]);
        String cause = failure.isOfNode() ? client.problemOf(nodeIndex) : null;
        if (cause == null) {
            return failure.text();
        }
        return cause.startsWith(failure.text()) ? cause : failure.text() + ": " + cause;
    }

    final void appendResult(StringBuilder text) {
        text.append(", outcome ").append(kind);
        if (lastReason != kind) {
            text.append(" after ").append(lastReason);
        }
        text.append(", attempts ")
                .append(attemptCount)
                .append(", votes ")
                .append(grantedCount())
                .append(" granted ")
                .append(refusedCount())
                .append(" refused ")
                .append(failedCount())
                .append(" failed ")
                .append(unknownCount())
                .append(" unknown");
        if (shortestRemainingTtlMs >= 0) {
            text.append(", shortest remaining ttl ")
                    .append(shortestRemainingTtlMs == Long.MAX_VALUE ? "unlimited" : shortestRemainingTtlMs + " ms");
        }
        for (long unansweredMask = failedMask | unknownMask; unansweredMask != 0; unansweredMask &= unansweredMask
                - 1) {
            int nodeIndex = Long.numberOfTrailingZeros(unansweredMask);
            text.append(", node ")
                    .append(nodeIndex)
                    .append(" (")
                    .append(client.config.nodes().addresses().get(nodeIndex))
                    .append(") ")
                    .append(voteText(nodeIndex));
        }
    }
}
