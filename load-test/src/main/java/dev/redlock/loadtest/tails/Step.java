package dev.redlock.loadtest.tails;

import dev.redlock.loadtest.rig.SlowCycles.Slow;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.HdrHistogram.Histogram;

/**
 * Slow cycles that overlap in time: one stall, seen by all cycles that it has delayed.
 *
 * @param worst the slowest of them, whose time is examined
 * @param count their number
 * @threading immutable
 */
record Step(Slow worst, int count) {
    private static final double MEDIAN = 50;

    /** By how much the slowest cycle took longer than the median of all cycles of its rate. */
    long delayNs(Histogram cycles) {
        return worst.latencyNs() - cycles.getValueAtPercentile(MEDIAN);
    }

    /** Joins overlapping cycles, in order of time. */
    static List<Step> of(List<Slow> cycles) {
        List<Slow> sorted = new ArrayList<>(cycles);
        sorted.sort(Comparator.comparingLong(Slow::intendedNs));
        List<Step> steps = new ArrayList<>();
        Slow worst = null;
        long endNs = 0;
        int count = 0;
        for (Slow one : sorted) {
            if (worst != null && one.intendedNs() - endNs > 0) {
                steps.add(new Step(worst, count));
                worst = null;
            }
            boolean isFirst = worst == null;
            count = isFirst ? 1 : count + 1;
            endNs = isFirst || one.endNs() - endNs > 0 ? one.endNs() : endNs;
            worst = isFirst || one.latencyNs() > worst.latencyNs() ? one : worst;
        }
        if (worst != null) {
            steps.add(new Step(worst, count));
        }
        return steps;
    }
}
