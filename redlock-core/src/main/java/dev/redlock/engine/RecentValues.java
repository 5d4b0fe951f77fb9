package dev.redlock.engine;

/**
 * Remembers one number for each of some keys, until the next use of the key. The memory is small and fixed: a key may
 * replace another one.
 *
 * @threading event-loop-confined
 */
final class RecentValues {

    private static final int CAPACITY = 256;

    private final LockKey[] keys;
    private final long[] values;

    RecentValues() {
        this(CAPACITY);
    }

    /** With another number of places, a power of two. */
    RecentValues(int capacity) {
        keys = new LockKey[capacity];
        values = new long[capacity];
    }

    /** Remembers the value of a key. */
    void put(LockKey key, long value) {
        int place = KeyedMap.bucketOf(key.hashCode(), keys.length);
        keys[place] = key;
        values[place] = value;
    }

    /** Returns the value of a key, or another one if there is none. */
    long get(LockKey key, long absent) {
        int place = KeyedMap.bucketOf(key.hashCode(), keys.length);
        return keys[place] != null && keys[place].equals(key) ? values[place] : absent;
    }

    /** Removes and returns the value of a key, or another one if there is none. */
    long take(LockKey key, long absent) {
        long value = get(key, absent);
        int place = KeyedMap.bucketOf(key.hashCode(), keys.length);
        if (key.equals(keys[place])) {
            keys[place] = null;
        }
        return value;
    }
}
