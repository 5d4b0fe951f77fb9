package dev.redlock.engine;

import dev.redlock.AcquireOutcome;
import dev.redlock.node.VoteFailure;

/**
 * The outcome of an acquisition: its kind, and the votes of the attempt that decided it. Written by the event loop
 * before it stores the state of the lease, read by callers after they have read the state.
 *
 * @threading any thread
 */
abstract class AcquireResult extends RequestMailbox implements AcquireOutcome {

    private final LockEngine engine;
    private Kind kind = Kind.CANCELLED;
    private Kind lastReason = Kind.CANCELLED;
    private int attemptCount;
    private long granted;
    private long refused;
    private long failed;
    private long unknown;
    private long shortestRemainingTtlMs = -1;
    private byte[] failures;

    AcquireResult(final LockEngine engine) {
        this.engine = engine;
    }

    final LockEngine engine() {
        return engine;
    }

    final void resetResult() {
        kind = Kind.CANCELLED;
        lastReason = Kind.CONTENDED;
        attemptCount = 0;
        granted = 0;
        refused = 0;
        failed = 0;
        unknown = 0;
        shortestRemainingTtlMs = -1;
    }

    /** Records the votes of an attempt that is decided. */
    final void recordVotes(final Claim decided) {
        attemptCount++;
        granted = decided.acquireRound.granted();
        refused = decided.acquireRound.refused();
        failed = decided.acquireRound.failed();
        unknown = decided.acquireRound.unknown();
        shortestRemainingTtlMs = decided.shortestRemainingTtlMs;
        if ((failed | unknown) != 0) {
            if (failures == null) {
                failures = new byte[decided.failures.length];
            }
            System.arraycopy(decided.failures, 0, failures, 0, failures.length);
        }
    }

    /** Records why the acquisition has not succeeded so far. */
    final void recordReason(final Kind reason) {
        lastReason = reason;
    }

    final void recordOutcome(final Kind outcome, final Kind reason) {
        kind = outcome;
        lastReason = reason;
    }

    @Override
    public final Kind kind() {
        return kind;
    }

    @Override
    public final String advice() {
        return kind == Kind.TIMED_OUT && lastReason != kind
                ? "the wait budget ended: " + lastReason.advice()
                : kind.advice();
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
        return Long.bitCount(granted);
    }

    @Override
    public final int refusedCount() {
        return Long.bitCount(refused);
    }

    @Override
    public final int failedCount() {
        return Long.bitCount(failed);
    }

    @Override
    public final int unknownCount() {
        return Long.bitCount(unknown);
    }

    @Override
    public final long shortestRemainingTtlMs() {
        return shortestRemainingTtlMs;
    }

    @Override
    public final String voteText(final int nodeIndex) {
        if (nodeIndex < 0 || nodeIndex >= engine.nodeCount()) {
            throw new IndexOutOfBoundsException("node index " + nodeIndex + " is out of range: 0 to "
                    + (engine.nodeCount() - 1) + " are the nodes in configured order");
        }
        final long bit = 1L << nodeIndex;
        if ((granted & bit) != 0) {
            return "granted";
        }
        if ((refused & bit) != 0) {
            return "refused";
        }
        final String reason = failures == null ? "" : ": " + VoteFailure.of(failures[nodeIndex]).text();
        if ((failed & bit) != 0) {
            return "failed" + reason;
        }
        return (unknown & bit) != 0 ? "unknown" + reason : "pending";
    }

    final void appendResult(final StringBuilder text) {
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
        for (long silent = failed | unknown; silent != 0; silent &= silent - 1) {
            final int nodeIndex = Long.numberOfTrailingZeros(silent);
            text.append(", node ").append(nodeIndex).append(' ').append(voteText(nodeIndex));
        }
    }
}
