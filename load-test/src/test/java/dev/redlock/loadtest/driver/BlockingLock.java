package dev.redlock.loadtest.driver;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The blocking form of a {@link LockHandle}, over any driver.
 *
 * @threading caller-confined
 */
public final class BlockingLock {
    private final Outcomes outcomes = new Outcomes();
    private final LockHandle handle;
    private final Duration limit;

    /**
     * A lock that is not held.
     *
     * @param session  the client
     * @param resource the resource to lock
     * @param ttl      the time to live of the lock
     * @param limit    the longest wait for one outcome; an outcome later than this is a bug of the driver
     */
    public BlockingLock(LockSession session, String resource, Duration ttl, Duration limit) {
        this(session, LockSpec.of(resource, ttl), limit);
    }

    /**
     * A lock with options that is not held.
     *
     * @param session the client
     * @param spec    the resource and the options
     * @param limit   the longest wait for one outcome
     */
    public BlockingLock(LockSession session, LockSpec spec, Duration limit) {
        this.handle = session.handle(spec, outcomes);
        this.limit = limit;
    }

    /**
     * One attempt.
     *
     * @return the outcome
     * @throws InterruptedException if interrupted; the attempt continues and this object is no longer usable
     * @throws TimeoutException     if no outcome came within the limit
     */
    public AcquireOutcome.Kind acquire() throws InterruptedException, TimeoutException {
        handle.acquire();
        return await(outcomes.acquires, "acquire");
    }

    /**
     * Releases the lock.
     *
     * @return the outcome
     * @throws InterruptedException if interrupted
     * @throws TimeoutException     if no outcome came within the limit
     */
    public ReleaseOutcome release() throws InterruptedException, TimeoutException {
        handle.release();
        return await(outcomes.releases, "release");
    }

    private <T> T await(BlockingQueue<T> queue, String verb) throws InterruptedException, TimeoutException {
        T outcome = queue.poll(limit.toNanos(), TimeUnit.NANOSECONDS);
        if (outcome == null) {
            throw new TimeoutException(verb + " had no outcome within " + limit);
        }
        return outcome;
    }

    /**
     * Hands outcomes from the client's thread to the caller's.
     *
     * @threading any thread
     */
    private static final class Outcomes implements LockListener {
        private final BlockingQueue<AcquireOutcome.Kind> acquires = new ArrayBlockingQueue<>(1);
        private final BlockingQueue<ReleaseOutcome> releases = new ArrayBlockingQueue<>(1);

        @Override
        public void onAcquire(AcquireOutcome.Kind verdict, long validityNs) {
            acquires.add(verdict);
        }

        @Override
        public void onRelease(ReleaseOutcome verdict) {
            releases.add(verdict);
        }
    }
}
