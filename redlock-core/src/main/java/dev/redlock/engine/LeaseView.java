package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.LockNotAcquiredException;
import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.KeyType;
import java.util.List;

/**
 * Holds the outcome of an acquisition and the state of its lease for callers to read. The event loop writes the state
 * last; callers read it first. {@link ResultText} describes both.
 *
 * @threading any thread
 */
abstract class LeaseView extends RequestMailbox implements AcquireOutcome, Lease {

    final LeaseClient client;
    volatile LeaseState state = LeaseState.IDLE;
    volatile long validUntilNs;
    /** The use that its holder has closed: the event loop releases it, now or soon. Replaced by the next use. */
    volatile short closedUse;
    LockKey key;
    AcquireSpec spec;
    /** The token of a fenced lease. */
    long fencingToken;

    Kind kind = Kind.CANCELLED;
    /**
     * The failure of the last attempt; the outcome reports it if no later attempt succeeds. {@link Kind#CANCELLED} if
     * none has failed.
     */
    Kind lastReason = Kind.CANCELLED;
    int attemptCount;
    /** Acquisitions of this client that were ahead when this one joined their queue; 0 until this one has ended. */
    int aheadCount;
    /** Why it has no lock, unless its own last attempt says that; null if it does. */
    WaitCause waitCause;
    // The votes of the last attempt, of this acquisition or of the one ahead.
    long grantedMask;
    long refusedMask;
    long failedMask;
    long unknownMask;
    long shortestRemainingTtlMs = -1;
    byte[] failures;
    /** A key whose type the acquisition has asked for; null for none. */
    LockKey askedKey;
    /** The type; {@link KeyType#NONE} if it is not known yet. */
    KeyType keyType = KeyType.NONE;

    LeaseView(LeaseClient client) {
        this.client = client;
    }

    abstract void refuseWhileAcquiring();

    // ---- the outcome ------------------------------------------------------------------------------------------------

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

    // ---- the lease --------------------------------------------------------------------------------------------------

    @Override
    public final String resource() {
        return key == null ? null : key.resource();
    }

    @Override
    public final List<String> resources() {
        return key == null ? List.of() : key.resources();
    }

    /** The event loop ends the lease some time after its validity: until then a read of the state shows the end. */
    @Override
    public final LeaseState state() {
        boolean isOver = state == LeaseState.HELD && !isHeld();
        LeaseState now = state;
        if (!isOver || now != LeaseState.HELD) {
            return now;
        }
        return isClosed() ? LeaseState.RELEASING : LeaseState.EXPIRED;
    }

    final boolean isClosed() {
        return closedUse == useCount();
    }

    /** The state as the event loop has stored it. */
    final LeaseState storedState() {
        return state;
    }

    @Override
    public final boolean isHeld() {
        return remainingValidityNs() > 0;
    }

    @Override
    public final long remainingValidityNs() {
        while (state == LeaseState.HELD && !isClosed()) {
            long untilNs = validUntilNs;
            long leftNs = Math.max(0, untilNs - loop().clock().nanoTime());
            // Both are read again: a lost lease must not look held, and the state must belong to the same use.
            if (state == LeaseState.HELD && untilNs == validUntilNs) {
                return leftNs;
            }
        }
        return 0;
    }

    @Override
    public final long fencingToken() {
        refuseWhileAcquiring();
        if (!isAcquired()) {
            throw new LockNotAcquiredException("\"" + key + "\" was not acquired, it has no fencing token: " + this,
                    this);
        }
        if (!spec.isFenced) {
            throw new IllegalStateException("the lease of \"" + key
                    + "\" is not fenced: acquire it with AcquireOptions.fenced() to get a fencing token");
        }
        return fencingToken;
    }

    @Override
    public final String toString() {
        return ResultText.of(this);
    }
}
