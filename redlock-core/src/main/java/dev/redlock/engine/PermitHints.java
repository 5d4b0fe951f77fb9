package dev.redlock.engine;

import dev.redlock.engine.key.PermitKey;
import java.util.BitSet;

/**
 * The permits of a semaphore that the waiters of one local queue ask for next. A hint may be wrong: then the attempt is
 * refused.
 *
 * @threading event-loop-confined
 */
final class PermitHints {

    /** Permits that follow the first one in the reply to a search. */
    static final int OTHERS_MAX = 40;

    /** The permit that the next attempt of the head asks for, because it has become free; null to choose one. */
    PermitKey.Permit permit;
    /** The permit comes from a push. */
    boolean isPermitPushed;
    /** Permits that have changed, for the waiters behind the head. */
    final BitSet pushed = new BitSet();
    /** Permits that the last search has found free. */
    final BitSet found = new BitSet();
    /** Another client competes, so a permit that nobody has named is probably not free. */
    boolean isDisputed;
    /** Attempts in progress of waiters behind the head. */
    int followerCount;

    PermitHints(boolean isDisputed) {
        this.isDisputed = isDisputed;
    }

    /** Nothing is known about the permits any more. */
    void forget() {
        permit = null;
        pushed.clear();
        found.clear();
    }

    /**
     * A search has found free permits. The attempt that follows it asks for the first one; these are the others.
     *
     * @param others bit j for the permit that follows it after j others
     */
    void onFound(int first, long others, int count) {
        found.clear();
        for (long left = others; left != 0; left &= left - 1) {
            found.set((first + 1 + Long.numberOfTrailingZeros(left)) % count);
        }
    }
}
