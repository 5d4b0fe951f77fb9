package dev.redlock;

import java.time.Duration;
import java.util.concurrent.CompletionStage;

/**
 * The right to use a resource for a while, and the handle on it.
 *
 * <p>Rely on it while {@link #isHeld()} says true, which reads the monotonic clock at each call: ask again after
 * anything that may have taken long. A process that is paused between that question and its effect can still act late;
 * where that matters, the protected resource has to check a fencing token.
 *
 * <p>A lease from {@link Redlock#newLease} can be used for one acquisition after another, which saves its allocation.
 *
 * @threading any thread; one acquisition at a time
 */
public interface Lease extends AutoCloseable {

    /** @return the resource it is for; null before the first acquisition */
    String resource();

    /**
     * @return its state now; {@link LeaseState#HELD} turns into {@link LeaseState#EXPIRED} shortly after validity ends
     */
    LeaseState state();

    /** @return true if the lock may be relied on at this moment */
    boolean isHeld();

    /** @return nanoseconds for which the lock may still be relied on; 0 if it is not held */
    long remainingValidityNs();

    /** @return for how long the lock may still be relied on; zero if it is not held. Allocates. */
    default Duration remainingValidity() {
        return Duration.ofNanos(remainingValidityNs());
    }

    /**
     * The number that the protected resource checks: greater than that of every earlier grant of this resource, as long
     * as no quorum of counters is lost. Stays readable after the lease has ended.
     *
     * @return the fencing token, from 1 to 2^53 - 1
     * @throws IllegalStateException if it was not acquired, or not with {@link AcquireOptions#fenced}
     */
    long fencingToken();

    /**
     * Gives the lock back and waits until a quorum has answered, at most one node timeout. An interrupt does not cut
     * the wait short and stays set. Releasing again, or after expiry, is no error.
     *
     * @return what happened
     * @throws IllegalStateException on an event loop of the client, where nothing may block, whatever the state; or
     *                               while it is being acquired
     */
    ReleaseOutcome release();

    /**
     * Gives the lock back without waiting. Allocates nothing.
     *
     * @param callback told what happened
     * @throws IllegalStateException while it is being acquired, or if another release with a callback is under way
     */
    void release(ReleaseCallback callback);

    /** @return completed with what {@link #release()} would return */
    CompletionStage<ReleaseOutcome> releaseAsync();

    /**
     * Renews the lock and waits for the answer, at most two node timeouts.
     *
     * <p>A ttl that is shorter than what is left shortens the validity at once, whatever the nodes answer. The keys on
     * the nodes may stand until the longer expiry that they had. They are deleted when the lease is released or
     * expires; if this process dies first, others wait for the longer expiry.
     *
     * @param ttl the new time to live, from now; may be shorter than what is left
     * @return what happened
     * @throws IllegalArgumentException if the ttl is out of range
     * @throws IllegalStateException    on an event loop of the client, whatever the state; or if another extension by a
     *                                  caller is under way
     */
    ExtendOutcome extend(Duration ttl);

    /**
     * Renews the lock without waiting. Allocates nothing. A shorter ttl shortens the validity, as in
     * {@link #extend(Duration)}.
     *
     * @param ttlMs    the new time to live, milliseconds from now
     * @param callback told what happened
     * @throws IllegalArgumentException if the ttl is out of range
     * @throws IllegalStateException    if another extension by a caller is under way
     */
    void extend(long ttlMs, ExtendCallback callback);

    /**
     * Renews the lock. A shorter ttl shortens the validity, as in {@link #extend(Duration)}.
     *
     * @param ttl the new time to live, from now
     * @return completed with what {@link #extend(Duration)} would return
     */
    CompletionStage<ExtendOutcome> extendAsync(Duration ttl);

    /**
     * Releases the lock as {@link #release()} does; on an event loop of the client it does not wait. Does not throw if
     * the lease has expired, and does nothing the second time. Cancels an acquisition that is under way.
     */
    @Override
    void close();
}
