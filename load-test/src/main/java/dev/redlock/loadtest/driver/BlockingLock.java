package dev.redlock.loadtest.driver;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;

/**
 * The blocking form of a {@link LockHandle}, over any driver: the caller parks until the outcome.
 *
 * @threading caller-confined
 */
public final class BlockingLock {
    private final Outcomes outcomes = new Outcomes();
    private final LockHandle handle;
    private final Duration limit;
    private final boolean isDirect;

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
        this(session, spec, limit, false);
    }

    private BlockingLock(LockSession session, LockSpec spec, Duration limit, boolean isDirect) {
        this.handle = session.handle(spec, outcomes);
        this.limit = limit;
        this.isDirect = isDirect;
    }

    /**
     * A lock as an application uses it: if the client blocks, the calling thread makes the calls, and the limit does
     * not end them.
     *
     * @param session the client
     * @param spec    the resource and the options
     * @param limit   the longest wait for one outcome of a client that does not block
     * @return the lock, which is not held
     */
    public static BlockingLock onCallingThread(LockSession session, LockSpec spec, Duration limit) {
        return new BlockingLock(session, spec, limit, true);
    }

    /**
     * One attempt.
     *
     * @return the outcome
     * @throws InterruptedException if interrupted; the attempt continues and this object is no longer usable
     * @throws TimeoutException     if no outcome came within the limit
     */
    public AcquireOutcome.Kind acquire() throws InterruptedException, TimeoutException {
        outcomes.begin();
        if (isDirect && handle instanceof BlockingHandle blocking) {
            blocking.acquireNow();
        } else {
            handle.acquire();
        }
        outcomes.await(limit, "acquire");
        return outcomes.acquired;
    }

    /**
     * Releases the lock.
     *
     * @return the outcome
     * @throws InterruptedException if interrupted
     * @throws TimeoutException     if no outcome came within the limit
     */
    public ReleaseOutcome release() throws InterruptedException, TimeoutException {
        outcomes.begin();
        if (isDirect && handle instanceof BlockingHandle blocking) {
            blocking.releaseNow();
        } else {
            handle.release();
        }
        outcomes.await(limit, "release");
        return outcomes.released;
    }

    /**
     * Hands outcomes from the client's thread to the caller's.
     *
     * @threading any thread
     */
    private static final class Outcomes implements LockListener {
        private AcquireOutcome.Kind acquired;
        private ReleaseOutcome released;
        private volatile Thread waiter;

        void begin() {
            waiter = Thread.currentThread();
        }

        void await(Duration limit, String verb) throws InterruptedException, TimeoutException {
            long deadlineNs = System.nanoTime() + limit.toNanos();
            while (waiter != null) {
                long remainingNs = deadlineNs - System.nanoTime();
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                if (remainingNs <= 0) {
                    throw new TimeoutException(
                            verb + " had no outcome within " + TimeUnit.NANOSECONDS.toMillis(limit.toNanos()) + " ms");
                }
                LockSupport.parkNanos(this, remainingNs);
            }
        }

        @Override
        public void onAcquire(AcquireOutcome.Kind verdict, long validityNs) {
            acquired = verdict;
            end();
        }

        @Override
        public void onRelease(ReleaseOutcome verdict) {
            released = verdict;
            end();
        }

        private void end() {
            Thread parked = waiter;
            if (parked == null) {
                throw new IllegalStateException("a call has two outcomes");
            }
            waiter = null;
            LockSupport.unpark(parked);
        }
    }
}
