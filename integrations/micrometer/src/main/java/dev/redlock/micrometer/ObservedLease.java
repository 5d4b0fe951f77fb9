package dev.redlock.micrometer;

import dev.redlock.api.ExtendCallback;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseCall;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseCallback;
import dev.redlock.api.ReleaseOutcome;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;

/**
 * A lease whose hold is observed until the outcome of its release is known. The event loop calls no handler of the
 * application: a release that it completes ends the observation where stages are completed.
 *
 * @threading any thread
 */
final class ObservedLease implements Lease {

    private final Lease lease;
    private final LockObservation hold;

    ObservedLease(Lease lease, LockObservation hold) {
        this.lease = lease;
        this.hold = hold;
    }

    /** Runs a task as a part of the hold. */
    <T, X extends Throwable> T call(LeaseCall<T, X> task) throws X {
        return hold.inScope(this, task);
    }

    /** Records an exception of a task. */
    void error(Throwable thrown) {
        hold.error(thrown);
    }

    @Override
    public ReleaseOutcome release() {
        ReleaseOutcome outcome = lease.release();
        hold.end(outcome);
        return outcome;
    }

    @Override
    public void release(ReleaseCallback callback) {
        lease.release(callback == null ? null : (released, outcome) -> {
            try {
                callback.onReleased(this, outcome);
            } finally {
                endLater();
            }
        });
    }

    @Override
    public CompletionStage<ReleaseOutcome> releaseAsync() {
        return lease.releaseAsync().whenComplete((outcome, thrown) -> hold.end(outcome));
    }

    @Override
    public void close() {
        lease.close();
        endLater();
    }

    /** A further release only returns the outcome of the first one. */
    private void endLater() {
        try {
            lease.releaseAsync().whenComplete((outcome, thrown) -> hold.end(outcome));
        } catch (IllegalStateException e) {
            // Another release with a callback is in progress: it ends the observation.
        }
    }

    @Override
    public String resource() {
        return lease.resource();
    }

    @Override
    public List<String> resources() {
        return lease.resources();
    }

    @Override
    public LeaseState state() {
        return lease.state();
    }

    @Override
    public boolean isHeld() {
        return lease.isHeld();
    }

    @Override
    public long remainingValidityNs() {
        return lease.remainingValidityNs();
    }

    @Override
    public long fencingToken() {
        return lease.fencingToken();
    }

    @Override
    public ExtendOutcome extend(Duration ttl) {
        return lease.extend(ttl);
    }

    @Override
    public void extend(long ttlMs, ExtendCallback callback) {
        lease.extend(ttlMs, callback == null ? null : (extended, outcome) -> callback.onExtended(this, outcome));
    }

    @Override
    public CompletionStage<ExtendOutcome> extendAsync(Duration ttl) {
        return lease.extendAsync(ttl);
    }

    @Override
    public void holdAtLeast(Duration holdMin) {
        lease.holdAtLeast(holdMin);
    }

    @Override
    public String toString() {
        return lease.toString();
    }
}
