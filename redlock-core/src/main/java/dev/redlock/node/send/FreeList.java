package dev.redlock.node.send;

import java.util.Arrays;

/**
 * A pool of free objects, last in, first out. It counts the objects that were not taken since the last {@link #trim},
 * which frees an eighth of them. So a pool that an outage has filled shrinks in about half a minute, and a pool in use
 * keeps the objects that the use needs. A minimum is always kept.
 *
 * @param <T> the type of the objects
 * @threading event-loop-confined
 */
public final class FreeList<T> {

    private static final int CAPACITY_MIN = 16;
    private static final int DECAY_DIVISOR = 8;

    private final int keptCount;
    private Object[] items = new Object[CAPACITY_MIN];
    private int length;
    private int lengthMin;

    /** An empty pool that keeps at least so many objects. */
    public FreeList(int keptCount) {
        this.keptCount = keptCount;
    }

    /** @return objects in the pool */
    public int length() {
        return length;
    }

    /** @return the length of the array */
    int capacity() {
        return items.length;
    }

    /** Takes an object; null if the pool is empty. */
    @SuppressWarnings("unchecked") // only push stores into it
    public T poll() {
        if (length == 0) {
            return null;
        }
        length--;
        if (length < lengthMin) {
            lengthMin = length;
        }
        T item = (T) items[length];
        items[length] = null;
        return item;
    }

    /** Returns an object that is not in the pool. */
    public void push(T item) {
        if (length == items.length) {
            items = Arrays.copyOf(items, length * 2);
        }
        items[length] = item;
        length++;
    }

    /** Frees some of the objects that were not needed since the last call. To be called at regular intervals. */
    public void trim() {
        int unneeded = Math.min(lengthMin, length - keptCount);
        if (unneeded > 0) {
            int rest = length - (unneeded + DECAY_DIVISOR - 1) / DECAY_DIVISOR;
            Arrays.fill(items, rest, length, null);
            length = rest;
        }
        lengthMin = length;
        if (items.length > CAPACITY_MIN && items.length / 4 > Math.max(length, keptCount)) {
            items = Arrays.copyOf(items, items.length / 2);
        }
    }
}
