package dev.redlock.node.send;

import java.util.Arrays;

/**
 * A Bloom filter of resources: it answers that a resource was not added, or that it may have been. A false positive
 * costs one command more than needed. With 64 resources in the filter, one check in 64 is a false positive.
 *
 * @threading event-loop-confined
 */
final class ResourceFilter {

    private static final int WORDS = 64;
    private static final int WORD_SHIFT = Integer.SIZE - 6;
    private static final int SPREAD = 0x9E3779B9;

    private final long[] bits = new long[WORDS];
    private boolean isEmpty = true;

    /** Adds the resource of a plain lock. */
    void add(LockRequest command) {
        int hash = spread(command.resourceHash(0));
        bits[hash >>> WORD_SHIFT] |= 1L << hash;
        isEmpty = false;
    }

    boolean mightContain(LockRequest command) {
        if (isEmpty) {
            return false;
        }
        for (int i = command.keyCount() - 1; i >= 0; i--) {
            int hash = spread(command.resourceHash(i));
            if ((bits[hash >>> WORD_SHIFT] & 1L << hash) != 0) {
                return true;
            }
        }
        return false;
    }

    /** The six highest bits select the word, the six lowest the bit: a shift uses only those. */
    private static int spread(int resourceHash) {
        int mixed = resourceHash * SPREAD;
        return mixed ^ mixed >>> Short.SIZE;
    }

    void clear() {
        if (!isEmpty) {
            Arrays.fill(bits, 0);
            isEmpty = true;
        }
    }
}
