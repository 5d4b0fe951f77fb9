package dev.redlock.quorum;

/** A set of states of two longs each, the first of which is never 0: an open table of 16 bytes a permit. */
final class PackedStates {

    private static final int INITIAL_PERMITS_BITS = 16;

    private long[] firsts;
    private long[] seconds;
    private int mask;
    private int size;

    PackedStates() {
        allocate(1 << INITIAL_PERMITS_BITS);
    }

    private void allocate(int permits) {
        firsts = new long[permits];
        seconds = new long[permits];
        mask = permits - 1;
    }

    long size() {
        return size;
    }

    /** Adds a state; false if it was there. */
    boolean add(long first, long second) {
        if (!put(first, second)) {
            return false;
        }
        if (++size > mask - (mask >>> 2)) {
            grow();
        }
        return true;
    }

    private boolean put(long first, long second) {
        int permit = (int) mixed(first, second) & mask;
        while (firsts[permit] != 0) {
            if (firsts[permit] == first && seconds[permit] == second) {
                return false;
            }
            permit = permit + 1 & mask;
        }
        firsts[permit] = first;
        seconds[permit] = second;
        return true;
    }

    private void grow() {
        long[] oldFirsts = firsts;
        long[] oldSeconds = seconds;
        allocate(Math.multiplyExact(oldFirsts.length, 2));
        for (int i = 0; i < oldFirsts.length; i++) {
            if (oldFirsts[i] != 0) {
                put(oldFirsts[i], oldSeconds[i]);
            }
        }
    }

    /** The finishing step of SplittableRandom. */
    private static long mixed(long first, long second) {
        long z = first * 0x9E3779B97F4A7C15L + second;
        z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
        z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
        return z ^ z >>> 31;
    }
}
