package dev.redlock.node;

import java.util.Arrays;

/**
 * Says of a resource that it is not among those added, or that it may be. A wrong "may be" costs a command that could
 * have been shared; with 64 resources one in 64 questions gets one.
 *
 * @threading event-loop-confined
 */
final class ResourceFilter {

    private static final int WORDS = 64;
    private static final int WORD_SHIFT = Integer.SIZE - 6;
    private static final int SPREAD = 0x9E3779B9;

    private final long[] bits = new long[WORDS];
    private boolean isEmpty = true;

    void add(final LockRequest request) {
        final int hash = spread(request);
        bits[hash >>> WORD_SHIFT] |= 1L << hash;
        isEmpty = false;
    }

    boolean mightContain(final LockRequest request) {
        if (isEmpty) {
            return false;
        }
        final int hash = spread(request);
        return (bits[hash >>> WORD_SHIFT] & 1L << hash) != 0;
    }

    /** The six highest bits choose the word; the six lowest, which a shift looks at, the bit. */
    private static int spread(final LockRequest request) {
        final int mixed = request.resourceHash() * SPREAD;
        return mixed ^ mixed >>> Short.SIZE;
    }

    void clear() {
        if (!isEmpty) {
            Arrays.fill(bits, 0);
            isEmpty = true;
        }
    }
}
