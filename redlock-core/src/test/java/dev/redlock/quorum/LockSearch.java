package dev.redlock.quorum;

import java.util.Arrays;

/**
 * Visits every state that a model of some clients and three nodes can reach. A state is an array of small numbers: a
 * head, then a part of equal form for each node. Nodes are interchangeable, so states that differ only in their order
 * are one state. A model may name two clients that are interchangeable too.
 */
abstract class LockSearch {

    static final int NODES = 3;
    static final int QUORUM = 2;

    private final int[] headBits;
    private final int[] nodeBits;
    private final int headSum;
    private final int nodeSum;
    private final PackedStates visited = new PackedStates();
    private long[] open = new long[1 << 16];
    private int openLength;
    private String violation;

    /**
     * A search over states of one form.
     *
     * @param headBits bits of each number of the head
     * @param nodeBits bits of each number of a node; with those of the head, at most 63
     */
    LockSearch(int[] headBits, int[] nodeBits) {
        this.headBits = headBits.clone();
        this.nodeBits = nodeBits.clone();
        this.headSum = Arrays.stream(headBits).sum();
        this.nodeSum = Arrays.stream(nodeBits).sum();
        assert headSum + nodeSum < Long.SIZE && 2 * nodeSum <= Long.SIZE : "a state fits into two longs";
    }

    /** Runs until every state is visited or a violation is found; returns the violation or null. */
    final String run() {
        visit(new byte[headBits.length + NODES * nodeBits.length]);
        byte[] state = new byte[headBits.length + NODES * nodeBits.length];
        while (violation == null && openLength > 0) {
            openLength -= 2;
            unpack(open[openLength], open[openLength + 1], state);
            expand(state);
        }
        return violation;
    }

    final long stateCount() {
        return visited.size();
    }

    /** The place of the first number of a node. */
    final int node(int i) {
        return headBits.length + i * nodeBits.length;
    }

    /** Visits each state that follows a state by one event. */
    abstract void expand(byte[] state);

    /** Returns what is wrong with a state; null if nothing is. */
    abstract String violationOf(byte[] state);

    /** Changes a state into the one that stands for it. */
    void reduce(byte[] state) {
        // Each state stands for itself.
    }

    /** Returns a state with two interchangeable clients exchanged; null if there are none. */
    byte[] exchanged(byte[] state) {
        return null;
    }

    /** Ends the search with a violation that an event shows. */
    final void violate(String text, byte[] state) {
        violation = text + ": " + Arrays.toString(state);
    }

    /** Adds a state to the open ones unless it was visited. The state may be changed. */
    final void visit(byte[] state) {
        String wrong = violationOf(state);
        if (wrong != null) {
            violate(wrong, state);
        }
        reduce(state);
        byte[] other = exchanged(state);
        byte[] least = other != null && isLess(other, state) ? other : state;
        long first = first(least);
        long second = second(least);
        if (visited.add(first, second)) {
            if (openLength == open.length) {
                open = Arrays.copyOf(open, 2 * openLength);
            }
            open[openLength++] = first;
            open[openLength++] = second;
        }
    }

    private boolean isLess(byte[] one, byte[] other) {
        long difference = first(one) - first(other);
        return difference < 0 || difference == 0 && second(one) - second(other) < 0;
    }

    private long first(byte[] state) {
        long least = Math.min(part(state, 0), Math.min(part(state, 1), part(state, 2)));
        return 1L << 63 | packed(state, 0, headBits) << nodeSum | least;
    }

    private long second(byte[] state) {
        long a = part(state, 0);
        long b = part(state, 1);
        long c = part(state, 2);
        long greatest = Math.max(a, Math.max(b, c));
        long middle = Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
        return middle << nodeSum | greatest;
    }

    private long part(byte[] state, int i) {
        return packed(state, node(i), nodeBits);
    }

    private static long packed(byte[] state, int start, int[] bits) {
        long packed = 0;
        for (int i = 0; i < bits.length; i++) {
            packed = packed << bits[i] | state[start + i];
        }
        return packed;
    }

    private void unpack(long first, long second, byte[] state) {
        long mask = (1L << nodeSum) - 1;
        unpack(first >>> nodeSum & (1L << headSum) - 1, state, 0, headBits);
        unpack(first & mask, state, node(0), nodeBits);
        unpack(second >>> nodeSum & mask, state, node(1), nodeBits);
        unpack(second & mask, state, node(2), nodeBits);
    }

    private static void unpack(long packed, byte[] state, int start, int[] bits) {
        long left = packed;
        for (int i = bits.length - 1; i >= 0; i--) {
            state[start + i] = (byte) (left & (1 << bits[i]) - 1);
            left >>>= bits[i];
        }
    }
}
