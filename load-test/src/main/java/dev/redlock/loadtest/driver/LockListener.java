package dev.redlock.loadtest.driver;

/**
 * Hears how each call of a {@link LockHandle} ended; exactly one event per call.
 *
 * @threading any thread, one event at a time per handle
 */
public interface LockListener {
    /**
     * An acquire ended.
     *
     * @param verdict    how
     * @param validityNs how long from now the lock may be relied on; 0 unless acquired
     */
    void onAcquire(AcquireVerdict verdict, long validityNs);

    /**
     * A release ended.
     *
     * @param verdict how
     */
    void onRelease(ReleaseVerdict verdict);
}
