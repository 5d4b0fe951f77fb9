package dev.redlock.node;

import java.util.Arrays;

/**
 * A pool of free objects, the last one in being the first one out. It remembers how many were never taken since the
 * last {@link #trim}, and gives up an eighth of those each time. So a pool that an outage has filled shrinks within
 * half a minute or so, while one that is in use keeps what the use needs. A number of objects is always kept.
 *
 * @param <T> what is pooled
 * @threading event-loop-confined
 */
public final class FreeList<T> {

    private static final int CAPACITY_MIN = 16;
    private static final int DECAY_DIVISOR = 8;

    private final int keptCount;
    private Object[] items = new Object[CAPACITY_MIN];
    private int length;
    private int lengthMin;

    /**
     * An empty pool.
     *
     * @param keptCount as many objects are kept, needed or not
     */
    public FreeList(final int keptCount) {
        this.keptCount = keptCount;
    }

    /** @return objects in the pool */
    public int length() {
        return length;
    }

    /** @return objects that there is room for */
    int capacity() {
        return items.length;
    }

    /**
     * Takes an object.
     *
     * @return null if the pool is empty
     */
    @SuppressWarnings("unchecked") // only push stores into it
    public T poll() {
        if (length == 0) {
            return null;
        }
        length--;
        if (length < lengthMin) {
            lengthMin = length;
        }
        final T item = (T) items[length];
        items[length] = null;
        return item;
    }

    /**
     * Gives an object back.
     *
     * @param item not in the pool
     */
    public void push(final T item) {
        if (length == items.length) {
            items = Arrays.copyOf(items, length * 2);
        }
        items[length] = item;
        length++;
    }

    /** Gives up some of what was not needed since the last call; to be called at regular times. */
    public void trim() {
        final int unneeded = Math.min(lengthMin, length - keptCount);
        if (unneeded > 0) {
            final int rest = length - (unneeded + DECAY_DIVISOR - 1) / DECAY_DIVISOR;
            Arrays.fill(items, rest, length, null);
            length = rest;
        }
        lengthMin = length;
        if (items.length > CAPACITY_MIN && items.length / 4 > Math.max(length, keptCount)) {
            items = Arrays.copyOf(items, items.length / 2);
        }
    }
}
