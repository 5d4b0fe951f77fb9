package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LockNotAcquiredException;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/**
 * The outcome in the stage of an acquisition. A caller takes it by its first question to it, however it has reached the
 * caller. Until then it may be withdrawn: it is CANCELLED from then on.
 *
 * @threading any thread
 */
final class OfferedOutcome implements AcquireOutcome {

    private static final AtomicReferenceFieldUpdater<OfferedOutcome, State> STATE = AtomicReferenceFieldUpdater
            .newUpdater(OfferedOutcome.class, State.class, "state");

    /**
     * Who decides about the lock.
     *
     * @threading immutable
     */
    private enum State {
        /** Nobody has asked the outcome, so the lock is released if the stage is given up. */
        OPEN,
        /** A caller knows the outcome and is responsible for the lease. */
        TAKEN,
        /** The stage was given up; the lock is released. */
        WITHDRAWN
    }

    private final LeaseHandle lease;
    private volatile State state = State.OPEN;

    OfferedOutcome(LeaseHandle lease) {
        this.lease = lease;
    }

    /** Returns whether nobody has taken the outcome, and nobody can from now on. Succeeds once. */
    boolean withdraw() {
        return STATE.compareAndSet(this, State.OPEN, State.WITHDRAWN);
    }

    /** Returns false if the outcome was withdrawn. */
    private boolean take() {
        return state == State.TAKEN || STATE.compareAndSet(this, State.OPEN, State.TAKEN) || state == State.TAKEN;
    }

    @Override
    public Kind kind() {
        return take() ? lease.kind() : Kind.CANCELLED;
    }

    @Override
    public String advice() {
        return take() ? lease.advice() : Kind.CANCELLED.advice();
    }

    @Override
    public boolean isAcquired() {
        return take() && lease.isAcquired();
    }

    @Override
    public Lease lease() {
        if (!take()) {
            throw new LockNotAcquiredException("\"" + lease.resource() + "\" is released: the stage of its acquisition"
                    + " was cancelled before its outcome was read", this);
        }
        return lease.lease();
    }

    @Override
    public Kind lastReason() {
        return take() ? lease.lastReason() : Kind.CANCELLED;
    }

    @Override
    public int attemptCount() {
        return lease.attemptCount();
    }

    @Override
    public int grantedCount() {
        return lease.grantedCount();
    }

    @Override
    public int refusedCount() {
        return lease.refusedCount();
    }

    @Override
    public int failedCount() {
        return lease.failedCount();
    }

    @Override
    public int unknownCount() {
        return lease.unknownCount();
    }

    @Override
    public long shortestRemainingTtlMs() {
        return lease.shortestRemainingTtlMs();
    }

    @Override
    public String voteText(int nodeIndex) {
        return lease.voteText(nodeIndex);
    }

    @Override
    public String toString() {
        return lease.toString();
    }
}
