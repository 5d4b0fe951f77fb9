package dev.redlock.node;

import dev.redlock.quorum.Drift;

/**
 * The wall clock of one node, as the samples show it.
 *
 * @threading event-loop-confined
 */
final class NodeClock {

    /** A clock beyond this is wrong; the limit keeps sums from wrapping. */
    private static final long WALL_US_MAX = 1L << 60;

    private final ClockWatch watch;
    private final boolean isWatched;
    /** The node's clock minus the local one at the last sample. */
    private long offsetUs;
    private boolean isKnown;

    NodeClock(Drift drift, boolean isWatched) {
        this.watch = new ClockWatch(drift);
        this.isWatched = isWatched;
    }

    /**
     * Adds a sample.
     *
     * @param sentNs     monotonic time at which {@code TIME} was sent
     * @param receivedNs monotonic time at which the reply was read
     * @param wallUs     the reply, microseconds since the epoch
     * @return true if the clock is watched and has jumped
     */
    boolean onSample(long sentNs, long receivedNs, long wallUs) {
        offsetUs = Math.min(wallUs, WALL_US_MAX) - receivedNs / 1_000;
        isKnown = true;
        return isWatched && watch.onSample(sentNs, receivedNs, wallUs * 1_000);
    }

    /** The node's wall clock, microseconds since the epoch; 0 before the first sample. */
    long wallUs(long nowNs) {
        return isKnown ? offsetUs + nowNs / 1_000 : 0;
    }
}
