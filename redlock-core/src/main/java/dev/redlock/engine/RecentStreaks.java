package dev.redlock.engine;

/**
 * Remembers the streaks of locks that this client has released without a local waiter. A caller that comes back at once
 * continues its streak: its acquire follows the release on each connection, so it would always win against the waiters
 * of other clients, which the release has to wake first.
 *
 * <p>The memory is small and fixed. A streak that another one replaces starts anew, which is harmless.
 *
 * @threading event-loop-confined
 */
final class RecentStreaks {

    static final int CAPACITY = 256;

    private final LockKey[] keys = new LockKey[CAPACITY];
    private final HandoffStreak[] streaks = new HandoffStreak[CAPACITY];
    private final long[] endNs = new long[CAPACITY];
    private long takenEndNs;

    RecentStreaks() {
        for (int slot = 0; slot < CAPACITY; slot++) {
            streaks[slot] = new HandoffStreak();
        }
    }

    /** Remembers a streak, whose lease ends now. */
    void put(LockKey key, HandoffStreak streak, long nowNs) {
        int slot = slotOf(key);
        keys[slot] = key;
        streaks[slot].continueFrom(streak);
        endNs[slot] = nowNs;
    }

    /** Removes and returns the streak of a key, borrowed until the next call; null if there is none. */
    HandoffStreak take(LockKey key) {
        int slot = slotOf(key);
        if (keys[slot] == null || !keys[slot].equals(key)) {
            return null;
        }
        keys[slot] = null;
        takenEndNs = endNs[slot];
        return streaks[slot];
    }

    /** When the lease of the last taken streak ended. */
    long takenEndNs() {
        return takenEndNs;
    }

    /** Returns the slot of a key in a table with {@link #CAPACITY} slots. */
    static int slotOf(LockKey key) {
        int hash = key.hashCode() * 0x9E3779B9;
        return (hash ^ hash >>> 16) & CAPACITY - 1;
    }
}
