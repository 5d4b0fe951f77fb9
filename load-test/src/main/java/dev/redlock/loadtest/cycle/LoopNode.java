package dev.redlock.loadtest.cycle;

import java.util.Arrays;

/**
 * A node inside an event loop: it stores the locks of this loop at almost no cost. The number at the end of a lock's
 * name ({@link CycleOptions#resource}) is its array index, so a lookup is one array access. Nothing expires: it is for
 * runs shorter than any ttl.
 *
 * @threading event-loop-confined
 */
final class LoopNode {

    private static final int LONGS_PER_LOCK = 3;
    /** Marks a held token in its third word, which uses only 32 bits. */
    private static final long HELD = 1L << 32;

    private long[] tokens = new long[LONGS_PER_LOCK * 1024];
    private int heldCount;

    /** Acquires a lock if it is free. */
    boolean acquire(int lock, long high, long middle, int low) {
        int at = lock * LONGS_PER_LOCK;
        if (at >= tokens.length) {
            tokens = Arrays.copyOf(tokens, 2 * at);
        }
        if (tokens[at + 2] != 0) {
            return false;
        }
        tokens[at] = high;
        tokens[at + 1] = middle;
        tokens[at + 2] = HELD | Integer.toUnsignedLong(low);
        heldCount++;
        return true;
    }

    /** Releases a lock if that token holds it. */
    boolean release(int lock, long high, long middle, int low) {
        int at = lock * LONGS_PER_LOCK;
        if (at >= tokens.length || tokens[at] != high || tokens[at + 1] != middle
                || tokens[at + 2] != (HELD | Integer.toUnsignedLong(low))) {
            return false;
        }
        tokens[at + 2] = 0;
        heldCount--;
        return true;
    }

    /** The number of held locks. */
    int heldCount() {
        return heldCount;
    }
}
