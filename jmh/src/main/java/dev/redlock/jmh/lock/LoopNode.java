package dev.redlock.jmh.lock;

import java.util.Arrays;

/**
 * A node inside an event loop: what a server keeps of the locks that this loop asks for, at next to no cost. A lock is
 * known by the number that its name ends with ({@link CycleOptions#resource}), so that looking it up is one access to
 * an array. Nothing expires: runs in which a ttl could end are not what it is for.
 *
 * @threading event-loop-confined
 */
final class LoopNode {

    private static final int LONGS_PER_LOCK = 3;
    /** Set in the third word of a token that is held, which has 32 bits of its own. */
    private static final long HELD = 1L << 32;

    private long[] tokens = new long[LONGS_PER_LOCK * 1024];
    private int heldCount;

    /** Takes a lock if nobody holds it. */
    boolean acquire(final int lock, final long high, final long middle, final int low) {
        final int at = lock * LONGS_PER_LOCK;
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

    /** Gives a lock back if that token holds it. */
    boolean release(final int lock, final long high, final long middle, final int low) {
        final int at = lock * LONGS_PER_LOCK;
        if (at >= tokens.length || tokens[at] != high || tokens[at + 1] != middle
                || tokens[at + 2] != (HELD | Integer.toUnsignedLong(low))) {
            return false;
        }
        tokens[at + 2] = 0;
        heldCount--;
        return true;
    }

    /** Locks that are held now. */
    int heldCount() {
        return heldCount;
    }
}
