package dev.redlock.engine.key;

import io.netty.buffer.ByteBuf;
import java.util.function.Consumer;

/**
 * Entries by their keys: a hash table whose buckets link the entries themselves, so that an entry needs no second
 * object, as one of {@code HashMap} does. The table doubles when it holds as many entries as buckets.
 *
 * @param <E> the entries
 *
 * @threading event-loop-confined
 */
public final class KeyedMap<E extends KeyedMap.Keyed> {

    private static final int CAPACITY_MIN = 16;
    private static final int SHRINK_DIVISOR = 8;

    private Keyed[] buckets = new Keyed[CAPACITY_MIN];
    private int size;

    /**
     * An entry.
     *
     * @threading event-loop-confined
     */
    public abstract static class Keyed {

        public LockKey key;
        /** The next entry in the bucket of the map. */
        Keyed nextInBucket;
    }

    public int size() {
        return size;
    }

    public int capacity() {
        return buckets.length;
    }

    /** The entry with a key; null if there is none. */
    public E get(LockKey key) {
        Keyed entry = size == 0 ? null : buckets[bucketOf(key.hashCode(), buckets.length)];
        while (entry != null && !entry.key.equals(key)) {
            entry = entry.nextInBucket;
        }
        return entryOf(entry);
    }

    /** The entry whose key has this name; null if there is none. */
    public E get(ByteBuf name, int index, int length) {
        if (size == 0) {
            return null;
        }
        Keyed entry = buckets[bucketOf(KeyText.hashOf(name, index, length), buckets.length)];
        while (entry != null && !entry.key.hasName(name, index, length)) {
            entry = entry.nextInBucket;
        }
        return entryOf(entry);
    }

    /** Passes each entry to an action, which must not add or remove entries. */
    public void forEach(Consumer<E> action) {
        for (Keyed first : buckets) {
            for (Keyed entry = first; entry != null; entry = entry.nextInBucket) {
                action.accept(entryOf(entry));
            }
        }
    }

    /** Adds a entry whose key no other entry has. */
    public void add(E entry) {
        assert get(entry.key) == null : "two entries for " + entry.key;
        if (size == buckets.length) {
            resize(2 * size);
        }
        link(entry);
        size++;
    }

    /** Removes a entry that is in the map. */
    public void remove(E entry) {
        int bucket = bucketOf(entry.key.hashCode(), buckets.length);
        Keyed previous = null;
        for (Keyed other = buckets[bucket]; other != entry; other = other.nextInBucket) {
            previous = other;
        }
        if (previous == null) {
            buckets[bucket] = entry.nextInBucket;
        } else {
            previous.nextInBucket = entry.nextInBucket;
        }
        entry.nextInBucket = null;
        size--;
    }

    /** Halves a table that is almost empty; to be called at regular intervals. */
    public void trim(int capacityMin) {
        if (buckets.length > capacityMin && size < buckets.length / SHRINK_DIVISOR) {
            resize(buckets.length / 2);
        }
    }

    private void resize(int capacity) {
        Keyed[] old = buckets;
        buckets = new Keyed[capacity];
        for (Keyed first : old) {
            Keyed entry = first;
            while (entry != null) {
                Keyed next = entry.nextInBucket;
                link(entry);
                entry = next;
            }
        }
    }

    private void link(Keyed entry) {
        int bucket = bucketOf(entry.key.hashCode(), buckets.length);
        entry.nextInBucket = buckets[bucket];
        buckets[bucket] = entry;
    }

    @SuppressWarnings("unchecked") // add() takes entries of this type only
    private E entryOf(Keyed entry) {
        return (E) entry;
    }

    /** The hash of a key is that of its bytes, whose low bits alone are a poor choice among similar names. */
    public static int bucketOf(int keyHash, int capacity) {
        int hash = keyHash * 0x9E3779B9;
        return (hash ^ hash >>> 16) & capacity - 1;
    }
}
