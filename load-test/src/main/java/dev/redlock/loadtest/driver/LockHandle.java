package dev.redlock.loadtest.driver;

/**
 * One lock, acquired and released repeatedly: acquire, wait for the outcome, release, wait for the outcome.
 *
 * @threading caller-confined between a call and its outcome; the listener may make the next call
 */
public interface LockHandle {
    /** Makes one attempt; the outcome goes to {@link LockListener#onAcquire}, possibly before this returns. */
    void acquire();

    /** Releases the lock; the outcome goes to {@link LockListener#onRelease}, possibly before this returns. */
    void release();
}
