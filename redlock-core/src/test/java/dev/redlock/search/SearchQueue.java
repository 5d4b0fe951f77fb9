package dev.redlock.search;

import java.util.Arrays;

/** Distinct states of two longs each in the order of their visits, with the place of the state before. */
final class SearchQueue {

    private static final int CHUNK_BITS = 16;
    private static final int CHUNK = 1 << CHUNK_BITS;

    private long[][] pairs = new long[16][];
    private int[][] parents = new int[16][];
    private int size;
    /** An open table of places, plus one. */
    private int[] table = new int[1 << 16];

    int size() {
        return size;
    }

    long first(int place) {
        return pairs[place >> CHUNK_BITS][2 * (place & CHUNK - 1)];
    }

    long second(int place) {
        return pairs[place >> CHUNK_BITS][2 * (place & CHUNK - 1) + 1];
    }

    int parent(int place) {
        return parents[place >> CHUNK_BITS][place & CHUNK - 1];
    }

    /** The place of a state; -1 if it was not visited. */
    int positionOf(long first, long second) {
        return table[find(first, second)] - 1;
    }

    /** Adds a state; false if it was there. */
    boolean add(long first, long second, int parent) {
        int slot = find(first, second);
        if (table[slot] != 0) {
            return false;
        }
        int chunk = size >> CHUNK_BITS;
        if (chunk == pairs.length) {
            pairs = Arrays.copyOf(pairs, 2 * chunk);
            parents = Arrays.copyOf(parents, 2 * chunk);
        }
        if (pairs[chunk] == null) {
            pairs[chunk] = new long[2 * CHUNK];
            parents[chunk] = new int[CHUNK];
        }
        pairs[chunk][2 * (size & CHUNK - 1)] = first;
        pairs[chunk][2 * (size & CHUNK - 1) + 1] = second;
        parents[chunk][size & CHUNK - 1] = parent;
        table[slot] = ++size;
        if (size > table.length - (table.length >>> 2)) {
            grow();
        }
        return true;
    }

    private void grow() {
        table = new int[Math.multiplyExact(table.length, 2)];
        for (int place = 0; place < size; place++) {
            table[find(first(place), second(place))] = place + 1;
        }
    }

    /** The slot of a state in the table, or the free one for it. */
    private int find(long first, long second) {
        int mask = table.length - 1;
        int slot = (int) mixed(first, second) & mask;
        while (table[slot] != 0 && !isAt(table[slot] - 1, first, second)) {
            slot = slot + 1 & mask;
        }
        return slot;
    }

    private boolean isAt(int place, long first, long second) {
        long[] chunk = pairs[place >> CHUNK_BITS];
        int at = 2 * (place & CHUNK - 1);
        return chunk[at] == first && chunk[at + 1] == second;
    }

    /** The finishing step of SplittableRandom. */
    private static long mixed(long first, long second) {
        long z = first * 0x9E3779B97F4A7C15L + second;
        z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
        z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
        return z ^ z >>> 31;
    }
}
