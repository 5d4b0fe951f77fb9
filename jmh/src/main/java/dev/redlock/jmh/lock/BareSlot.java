package dev.redlock.jmh.lock;

/**
 * One lock, acquired and released repeatedly.
 *
 * @threading event-loop-confined
 */
final class BareSlot {

    final int index;
    final BareCommand acquire;
    final BareCommand release;
    /** The cycle's token. */
    long high;
    long middle;
    int low;
    /** The current round of votes; replies of earlier rounds are ignored. */
    int epoch;
    boolean isReleasing;
    int goodCount;
    int badCount;
    long startNs;

    BareSlot(int index, BareCommand acquire, BareCommand release) {
        this.index = index;
        this.acquire = acquire;
        this.release = release;
    }
}
