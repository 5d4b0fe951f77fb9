package dev.redlock.engine;

import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.key.RecentValues;

/**
 * After a revocation a lock is not retained for a number of releases, which grows with each revocation that came too
 * soon.
 *
 * @threading event-loop-confined
 */
final class RetentionPauses {

    /** A revocation after fewer local grants was not worth the time that it took another client. */
    private static final int GRANTS_WORTH = 2;
    private static final long PAUSE_MAX = 1024;
    /** A client retains as many by default: a pause that another one replaces does not grow. */
    private static final int CAPACITY = 1 << 14;

    /** The left releases of a lock, and from bit 32 on all of them. Short until the client is to retain a lock. */
    private RecentValues pauses = new RecentValues(1);
    private boolean isLong;

    /** Whether a lock is not to be retained now. Allocates here, where a failure costs one attempt. */
    boolean isPausing(LockKey key) {
        if (!isLong) {
            pauses = new RecentValues(CAPACITY);
            isLong = true;
        }
        return (int) pauses.get(key, 0) != 0;
    }

    void countRelease(LockKey key) {
        long pause = pauses.get(key, 0);
        if ((int) pause > 0) {
            pauses.put(key, pause - 1);
        }
    }

    /**
     * Another client ends the retention. A lock that no caller could get has cost that client nothing, so its pause
     * does not grow. One that leaves a trace may not wait: it would find the lock retained each time that it tries.
     */
    void start(RetainedLease entry, boolean isTraced) {
        boolean wasGranted = entry.isRetained || entry.grantCount() > 0;
        long last = pauses.get(entry.key, 0) >>> Integer.SIZE;
        long next = wasGranted ? Math.min(PAUSE_MAX, 2 * last) : last;
        long pause = !isTraced && isWorth(entry) ? 1 : Math.max(1, next);
        pauses.put(entry.key, pause << Integer.SIZE | pause);
    }

    /** The client that has left a trace waits in the queue. */
    void shorten(RetainedLease entry) {
        if (isWorth(entry)) {
            start(entry, false);
        }
    }

    /** Whether its local grants were worth the time of another client that waits. */
    static boolean isWorth(RetainedLease entry) {
        return entry.grantCount() >= GRANTS_WORTH;
    }

    void forget(LockKey key) {
        pauses.take(key, 0);
    }
}
