package dev.redlock.engine;

/**
 * Remembers one number for each of some keys, until the next use of the key. The memory is small and fixed: a key may
 * replace another one.
 *
 * @threading event-loop-confined
 */
final class RecentValues {

    private final LockKey[] keys = new LockKey[RecentStreaks.CAPACITY];
    private final long[] values = new long[RecentStreaks.CAPACITY];

    /** Remembers the value of a key. */
    void put(LockKey key, long value) {
        int slot = RecentStreaks.slotOf(key);
        keys[slot] = key;
        values[slot] = value;
    }

    /** Returns the value of a key, or another one if there is none. */
    long get(LockKey key, long absent) {
        int slot = RecentStreaks.slotOf(key);
        return keys[slot] != null && keys[slot].equals(key) ? values[slot] : absent;
    }

    /** Removes and returns the value of a key, or another one if there is none. */
    long take(LockKey key, long absent) {
        long value = get(key, absent);
        int slot = RecentStreaks.slotOf(key);
        if (key.equals(keys[slot])) {
            keys[slot] = null;
        }
        return value;
    }
}
