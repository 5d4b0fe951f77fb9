package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.node.KeyType;

/**
 * Holds the outcome of an acquisition: its kind, and the votes of the last attempt. The event loop writes it before the
 * state of the lease; callers read the state first. {@link ResultText} describes it.
 *
 * @threading any thread
 */
abstract class AcquireResult extends RequestMailbox implements AcquireOutcome {

    final LeaseClient client;
    Kind kind = Kind.CANCELLED;
    Kind lastReason = Kind.CANCELLED;
    int attemptCount;
    long grantedMask;
    long refusedMask;
    long failedMask;
    long unknownMask;
    long shortestRemainingTtlMs = -1;
    byte[] failures;
    /** A key whose type the acquisition has asked for; null for none. */
    LockKey askedKey;
    KeyType keyType = KeyType.NONE;
    /** Of a fenced lease. */
    long fencingToken;

    AcquireResult(LeaseClient client) {
        this.client = client;
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
        return ResultText.advice(this);
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
        return ResultText.vote(this, nodeIndex);
    }
}
