package dev.redlock.engine;

import java.util.BitSet;

/**
 * The slots of a semaphore that the waiters of one local queue ask for next. A hint may be wrong: then the attempt is
 * refused.
 *
 * @threading event-loop-confined
 */
final class SlotHints {

    /** Slots that follow the first one in the reply to a search. */
    static final int OTHERS_MAX = 40;

    /** The slot that the next attempt of the head asks for, because it has become free; null to choose one. */
    PermitKey.Slot slot;
    /** The slot comes from a push. */
    boolean isSlotPushed;
    /** Slots that have changed, for the waiters behind the head. */
    final BitSet pushed = new BitSet();
    /** Slots that the last search has found free. */
    final BitSet found = new BitSet();
    /** Another client competes, so a slot that nobody has named is probably not free. */
    boolean isDisputed;
    /** Attempts in progress of waiters behind the head. */
    int followerCount;

    SlotHints(boolean isDisputed) {
        this.isDisputed = isDisputed;
    }

    /** Nothing is known about the slots any more. */
    void forget() {
        slot = null;
        pushed.clear();
        found.clear();
    }

    /**
     * A search has found free slots. The attempt that follows it asks for the first one; these are the others.
     *
     * @param first  the first of them
     * @param others bit j for the slot that follows it after j others
     * @param count  the slots of the semaphore
     */
    void onFound(int first, long others, int count) {
        found.clear();
        for (long left = others; left != 0; left &= left - 1) {
            found.set((first + 1 + Long.numberOfTrailingZeros(left)) % count);
        }
    }
}
