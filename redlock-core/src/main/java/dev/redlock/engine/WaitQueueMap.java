package dev.redlock.engine;

/**
 * The wait queues by their keys: a hash table whose buckets link the queues themselves, so that an entry needs no
 * object of its own. The table doubles when it holds as many queues as buckets.
 *
 * @threading event-loop-confined
 */
final class WaitQueueMap {

    private static final int CAPACITY_MIN = 16;
    private static final int SHRINK_DIVISOR = 8;

    private WaitQueue[] buckets = new WaitQueue[CAPACITY_MIN];
    private int size;

    int size() {
        return size;
    }

    int capacity() {
        return buckets.length;
    }

    /** The queue with a key; null if there is none. */
    WaitQueue get(LockKey key) {
        WaitQueue queue = size == 0 ? null : buckets[bucketOf(key, buckets.length)];
        while (queue != null && !queue.key.equals(key)) {
            queue = queue.nextInBucket;
        }
        return queue;
    }

    /** Adds a queue whose key no other queue has. */
    void add(WaitQueue queue) {
        assert get(queue.key) == null : "two queues for " + queue.key;
        if (size == buckets.length) {
            resize(2 * size);
        }
        link(queue);
        size++;
    }

    /** Removes a queue that is in the map. */
    void remove(WaitQueue queue) {
        int bucket = bucketOf(queue.key, buckets.length);
        WaitQueue previous = null;
        for (WaitQueue other = buckets[bucket]; other != queue; other = other.nextInBucket) {
            previous = other;
        }
        if (previous == null) {
            buckets[bucket] = queue.nextInBucket;
        } else {
            previous.nextInBucket = queue.nextInBucket;
        }
        queue.nextInBucket = null;
        size--;
    }

    /**
     * Halves a table that is almost empty; to be called at regular intervals.
     *
     * @param capacityMin a table of this capacity remains
     */
    void trim(int capacityMin) {
        if (buckets.length > capacityMin && size < buckets.length / SHRINK_DIVISOR) {
            resize(buckets.length / 2);
        }
    }

    private void resize(int capacity) {
        WaitQueue[] old = buckets;
        buckets = new WaitQueue[capacity];
        for (WaitQueue first : old) {
            WaitQueue queue = first;
            while (queue != null) {
                WaitQueue next = queue.nextInBucket;
                link(queue);
                queue = next;
            }
        }
    }

    private void link(WaitQueue queue) {
        int bucket = bucketOf(queue.key, buckets.length);
        queue.nextInBucket = buckets[bucket];
        buckets[bucket] = queue;
    }

    /** The hash of a key is that of its bytes, whose low bits alone are a poor choice among similar names. */
    private static int bucketOf(LockKey key, int capacity) {
        int hash = key.hashCode() * 0x9E3779B9;
        return (hash ^ hash >>> 16) & capacity - 1;
    }
}
