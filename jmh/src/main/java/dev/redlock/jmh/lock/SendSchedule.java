package dev.redlock.jmh.lock;

/**
 * When the cycles of an open loop are meant to begin.
 *
 * @param startNs  the first, on the clock of {@link System#nanoTime}
 * @param periodNs from one to the next
 * @param total    how many there are
 * @threading immutable
 */
record SendSchedule(long startNs, double periodNs, long total) {

    long intendedNs(final long send) {
        return startNs + (long) (send * periodNs);
    }

    /** How many are due. */
    long due(final long nowNs) {
        final long sinceNs = nowNs - startNs;
        return sinceNs < 0 ? 0 : Math.min(total, (long) (sinceNs / periodNs) + 1);
    }
}
