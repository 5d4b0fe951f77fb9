package dev.redlock.micrometer;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;

/**
 * The outcome of an acquisition that has got the lock, with the lease whose hold is observed.
 *
 * @threading any thread
 */
record ObservedOutcome(AcquireOutcome outcome, ObservedLease observed) implements AcquireOutcome {

    @Override
    public Lease lease() {
        return observed;
    }

    @Override
    public Kind kind() {
        return outcome.kind();
    }

    @Override
    public String advice() {
        return outcome.advice();
    }

    @Override
    public boolean isAcquired() {
        return outcome.isAcquired();
    }

    @Override
    public Kind lastReason() {
        return outcome.lastReason();
    }

    @Override
    public int attemptCount() {
        return outcome.attemptCount();
    }

    @Override
    public int grantedCount() {
        return outcome.grantedCount();
    }

    @Override
    public int refusedCount() {
        return outcome.refusedCount();
    }

    @Override
    public int failedCount() {
        return outcome.failedCount();
    }

    @Override
    public int unknownCount() {
        return outcome.unknownCount();
    }

    @Override
    public long shortestRemainingTtlMs() {
        return outcome.shortestRemainingTtlMs();
    }

    @Override
    public String voteText(int nodeIndex) {
        return outcome.voteText(nodeIndex);
    }

    @Override
    public String toString() {
        return outcome.toString();
    }
}
