package dev.redlock.engine.key;

/**
 * Remembers one number for each of some keys, until the next use of the key. The memory is small and fixed: a key may
 * replace another one.
 *
 * @threading event-loop-confined
 */
public final class RecentValues {

    private static final int CAPACITY = 256;

    private final LockKey[] keys;
    private final long[] values;

    public RecentValues() {
        this(CAPACITY);
    }

    /** With another number of buckets, a power of two. */
    public RecentValues(int capacity) {
        keys = new LockKey[capacity];
        values = new long[capacity];
    }

    /** Remembers the value of a key. */
    public void put(LockKey key, long value) {
        int bucket = KeyedMap.bucketOf(key.hashCode(), keys.length);
        keys[bucket] = key;
        values[bucket] = value;
    }

    /** Returns the value of a key, or another one if there is none. */
    public long get(LockKey key, long absent) {
        int bucket = KeyedMap.bucketOf(key.hashCode(), keys.length);
        return keys[bucket] != null && keys[bucket].equals(key) ? values[bucket] : absent;
    }

    /** Removes and returns the value of a key, or another one if there is none. */
    public long take(LockKey key, long absent) {
        long value = get(key, absent);
        int bucket = KeyedMap.bucketOf(key.hashCode(), keys.length);
        if (key.equals(keys[bucket])) {
            keys[bucket] = null;
        }
        return value;
    }
}
