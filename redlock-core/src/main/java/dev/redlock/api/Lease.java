package dev.redlock.api;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;

/**
 * The right to use a resource for a limited time, and the handle on it.
 *
 * <p>Rely on it while {@link #isHeld()} returns true, which reads the monotonic clock at each call. Ask again after
 * anything that may have taken long. A process that is paused between the question and its effect can still act late;
 * where that does harm, the protected resource has to check a fencing token.
 *
 * <p>A lease from {@link dev.redlock.Redlock#newLease} serves one acquisition after another, which saves an allocation.
 *
 * @threading any thread; one acquisition at a time
 */
public interface Lease extends AutoCloseable {

    /** @return the name of the resource; those of a set in brackets; null before the first acquisition */
    String resource();

    /** @return the names of the resources, one or those of a set; empty before the first acquisition. Allocates. */
    List<String> resources();

    /**
     * @return the state now; {@link LeaseState#EXPIRED} from the end of the validity on. The event loop ends the lease
     *         soon afterwards: it then releases the keys, calls the listener, and the lease can be used again
     */
    LeaseState state();

    /** @return true if the lock is held and valid at this moment */
    boolean isHeld();

    /** @return nanoseconds of validity that remain; 0 if the lock is not held */
    long remainingValidityNs();

    /** @return validity that remains; zero if the lock is not held. Allocates. */
    default Duration remainingValidity() {
        return Duration.ofNanos(remainingValidityNs());
    }

    /**
     * The number that the protected resource checks. It is greater than that of every earlier grant of the resource, as
     * long as no quorum of counters is lost, and stays readable after the lease has ended. A set of resources has one
     * number, which is greater than that of every earlier grant of each of them.
     *
     * @return the fencing token, from 1 to 2^53 - 1
     * @throws LockNotAcquiredException if the lock was not acquired
     * @throws IllegalStateException    if it was acquired without {@link dev.redlock.AcquireOptions#fenced}
     */
    long fencingToken();

    /**
     * Releases the lock and waits until a quorum has answered, at most one node timeout, or two with
     * {@link dev.redlock.AcquireOptions#retain retain}. An interrupt does not end the wait and stays set. A second
     * release, or one after expiry, is no error.
     *
     * @throws IllegalStateException on an event loop of the client, whatever the state of the lease; or while it is
     *                               being acquired
     */
    ReleaseOutcome release();

    /**
     * Releases the lock without waiting. Allocates nothing, with one exception: on the event loop, the outcomes of
     * retained locks and of leases that have ended follow in the next turn, which allocates one task per turn.
     *
     * @param callback receives the outcome on the event loop, never inside this call
     * @throws IllegalStateException while the lease is being acquired, or while another release with a callback is in
     *                               progress
     */
    void release(ReleaseCallback callback);

    /** @return completed with the outcome that {@link #release()} would return */
    CompletionStage<ReleaseOutcome> releaseAsync();

    /**
     * Extends the lease and waits for the answer, at most two node timeouts. An interrupt does not end the wait and
     * stays set.
     *
     * <p>A ttl shorter than the remaining one shortens the validity at once, whatever the nodes answer. The keys on the
     * nodes may keep their longer expiry. The client deletes them when the lease is released or expires; if this
     * process dies first, others wait for the longer expiry.
     *
     * @param ttl the new time to live, from now; may be shorter than the remaining one
     * @throws IllegalArgumentException if the ttl is out of range
     * @throws IllegalStateException    on an event loop of the client, whatever the state of the lease; or while
     *                                  another extension by a caller is in progress
     */
    ExtendOutcome extend(Duration ttl);

    /**
     * Extends the lease without waiting. Allocates nothing, except one task per turn of the event loop for calls there
     * whose lease has ended. A shorter ttl shortens the validity, as in {@link #extend(Duration)}.
     *
     * @param ttlMs    the new time to live, milliseconds from now
     * @param callback receives the outcome on the event loop, never inside this call
     * @throws IllegalArgumentException if the ttl is out of range
     * @throws IllegalStateException    while another extension by a caller is in progress
     */
    void extend(long ttlMs, ExtendCallback callback);

    /**
     * Extends the lease. A shorter ttl shortens the validity, as in {@link #extend(Duration)}.
     *
     * @param ttl the new time to live, from now
     * @return completed with the outcome that {@link #extend(Duration)} would return
     */
    CompletionStage<ExtendOutcome> extendAsync(Duration ttl);

    /**
     * Changes the time for which the lock stays after an early release; see
     * {@link dev.redlock.AcquireOptions#holdAtLeast}. It does not wait. A later release of this thread honours it and
     * returns {@link ReleaseOutcome#KEPT} before that time. It has no effect on a lease that is not held. It counts for
     * {@link dev.redlock.RedlockContext#autoExtendedLeasesMax RedlockContext.autoExtendedLeasesMax}, but is not refused
     * at that limit. Allocates.
     *
     * @param holdMin time from now, longer or shorter than before; zero for none
     * @throws IllegalArgumentException if it is negative
     * @throws IllegalStateException    while the lease is being acquired
     */
    void holdAtLeast(Duration holdMin);

    /**
     * Ends the lease, sends its release, and returns: it does not wait for the replies of the nodes. The next command
     * of this client for the resource follows on the same connections, so it finds the lock free; another client may
     * find it taken for half a round trip more. A release that fails is sent again, and shows in the counters and the
     * log.
     *
     * <p>{@link #release()} waits and returns the outcome. With {@code RedlockContext.closeWaits} this method waits
     * too, except on an event loop of the client. Closing the client waits for the releases that are on the way; a
     * process that ends without that may leave a key for its ttl.
     *
     * <p>Does not throw if the lease has expired, and does nothing the second time. Cancels an acquisition in progress.
     */
    @Override
    void close();
}
