package dev.redlock.jmh.lock;

/**
 * One lock that is taken and given back again and again.
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
    /** The round of votes that is under way; answers to earlier ones decide nothing any more. */
    int epoch;
    boolean isReleasing;
    int goodCount;
    int badCount;
    long startNs;

    BareSlot(final int index, final BareCommand acquire, final BareCommand release) {
        this.index = index;
        this.acquire = acquire;
        this.release = release;
    }
}
