package dev.redlock.time;

import java.util.Arrays;

/**
 * The places of the timers of one wheel: blocks of {@link #BLOCK} references, which the spokes take and return.
 *
 * <p>Spokes keep numbers of blocks, and timers keep numbers of places. So a timer that moves costs one store of a
 * reference, beside others that moved just before. Lists of linked timers take a store in each neighbor, all over the
 * heap. A collector that tracks references between regions, as G1, then follows each store: with 100,000 leases its
 * threads needed 2 % of a processor, in slices of a millisecond or more that delayed the event loop.
 *
 * <p>A block whose timers were all removed can be taken again at once. So there are at most as many blocks as timers,
 * and in practice far fewer. They are kept for later timers.
 *
 * @threading event-loop-confined
 */
final class TimerPlaces {

    static final int NONE = -1;
    private static final int BLOCK_SHIFT = 5;
    private static final int BLOCK = 1 << BLOCK_SHIFT;
    private static final int BLOCKS_AT_START = 64;

    private DeadlineTimer[][] timers = new DeadlineTimer[BLOCKS_AT_START][];
    /** Places of each block that were given to timers, with those of removed timers. */
    private int[] used = new int[BLOCKS_AT_START];
    private int[] timerCount = new int[BLOCKS_AT_START];
    /** The spoke of each block. */
    private int[] owner = new int[BLOCKS_AT_START];
    private int[] previous = new int[BLOCKS_AT_START];
    /** The block after each block, in its spoke or in the list of free blocks. */
    private int[] next = new int[BLOCKS_AT_START];
    private int free = NONE;
    private int blockCount;

    /** All blocks, in use and free. */
    int blockCount() {
        return blockCount;
    }

    /** Makes sure that the next {@link #takeBlock} cannot fail. If this throws for lack of memory, nothing changes. */
    void reserveBlock() {
        if (free == NONE) {
            addBlock();
        }
    }

    private void addBlock() {
        DeadlineTimer[] block = new DeadlineTimer[BLOCK];
        if (blockCount == timers.length) {
            int length = 2 * blockCount;
            used = Arrays.copyOf(used, length);
            timerCount = Arrays.copyOf(timerCount, length);
            owner = Arrays.copyOf(owner, length);
            previous = Arrays.copyOf(previous, length);
            next = Arrays.copyOf(next, length);
            // Last, because an allocation may fail: the others may be longer, but not shorter.
            timers = Arrays.copyOf(timers, length);
        }
        timers[blockCount] = block;
        next[blockCount] = NONE;
        free = blockCount++;
    }

    /**
     * Takes the reserved block.
     *
     * @param after the last block of the spoke so far; {@link #NONE} if it has none
     */
    int takeBlock(int spoke, int after) {
        int block = free;
        free = next[block];
        used[block] = 0;
        timerCount[block] = 0;
        owner[block] = spoke;
        next[block] = NONE;
        previous[block] = after;
        if (after != NONE) {
            next[after] = block;
        }
        return block;
    }

    /** Takes a block out of its spoke, and keeps it for another one. */
    void unlinkBlock(int block) {
        if (previous[block] != NONE) {
            next[previous[block]] = next[block];
        }
        if (next[block] != NONE) {
            previous[next[block]] = previous[block];
        }
        next[block] = free;
        free = block;
    }

    /** Puts the blocks from {@code first} behind {@code last}, which is the last one of another spoke, or NONE. */
    void move(int first, int last, int spoke) {
        previous[first] = last;
        if (last != NONE) {
            next[last] = first;
        }
        for (int block = first; block != NONE; block = next[block]) {
            owner[block] = spoke;
        }
    }

    boolean isFull(int block) {
        return used[block] == BLOCK;
    }

    int used(int block) {
        return used[block];
    }

    int next(int block) {
        return next[block];
    }

    int previous(int block) {
        return previous[block];
    }

    boolean hasTimers(int block) {
        return timerCount[block] > 0;
    }

    static int blockOf(DeadlineTimer timer) {
        return timer.place >> BLOCK_SHIFT;
    }

    /** The spoke of a timer that has a place. */
    int spokeOf(DeadlineTimer timer) {
        return owner[blockOf(timer)];
    }

    /** Puts a timer into the next place of a block that is not full. */
    void add(int block, DeadlineTimer timer) {
        int index = used[block]++;
        timerCount[block]++;
        timers[block][index] = timer;
        timer.place = block << BLOCK_SHIFT | index;
    }

    /** The timer of a place, or null if it has been removed. */
    DeadlineTimer get(int block, int index) {
        return timers[block][index];
    }

    /** Empties the place of a timer. */
    void remove(DeadlineTimer timer) {
        int block = blockOf(timer);
        timers[block][timer.place & BLOCK - 1] = null;
        timerCount[block]--;
        timer.place = NONE;
    }
}
