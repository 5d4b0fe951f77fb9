package dev.redlock.jmh.lock;

import org.HdrHistogram.Histogram;

/**
 * The latencies of one thread, in nanoseconds.
 *
 * @param acquires from the start of a cycle to the majority's grant
 * @param cycles   from the start of a cycle to the majority's reply to the release
 * @param lates    from the intended time to the start, in an open loop
 * @threading caller-confined
 */
record CycleTimes(Histogram acquires, Histogram cycles, Histogram lates) {

    /** Histograms have room for ten seconds, so that they do not grow later; longer latencies count as ten seconds. */
    private static final long HIGHEST_NS = 10_000_000_000L;

    static CycleTimes empty() {
        return new CycleTimes(histogram(), histogram(), histogram());
    }

    private static Histogram histogram() {
        return new Histogram(1_000, HIGHEST_NS, 3);
    }

    static void record(Histogram histogram, long ns) {
        histogram.recordValue(Math.min(HIGHEST_NS, Math.max(0, ns)));
    }

    void reset() {
        acquires.reset();
        cycles.reset();
        lates.reset();
    }

    void add(CycleTimes other) {
        acquires.add(other.acquires);
        cycles.add(other.cycles);
        lates.add(other.lates);
    }
}
