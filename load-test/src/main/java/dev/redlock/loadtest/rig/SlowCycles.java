package dev.redlock.loadtest.rig;

import java.util.ArrayList;
import java.util.List;

/**
 * The cycles of one measurement that took longer than a limit, with their times, so that somebody can find out why.
 *
 * @threading any thread
 */
public final class SlowCycles {
    /** A stall of a second at a rate of 100,000 per second. */
    private static final int KEPT_MAX = 100_000;

    private final long limitNs;
    private final List<Slow> kept = new ArrayList<>();
    private long count;

    /**
     * One slow cycle; times of {@link System#nanoTime}.
     *
     * @param intendedNs when it was meant to start
     * @param begunNs    when the rig started it
     * @param endNs      when its release had an outcome
     * @threading immutable
     */
    public record Slow(long intendedNs, long begunNs, long endNs) {
        public long latencyNs() {
            return endNs - intendedNs;
        }
    }

    /** @param limitNs a cycle that takes longer is slow */
    public SlowCycles(long limitNs) {
        this.limitNs = limitNs;
    }

    long limitNs() {
        return limitNs;
    }

    synchronized void add(long intendedNs, long begunNs, long endNs) {
        count++;
        if (kept.size() < KEPT_MAX) {
            kept.add(new Slow(intendedNs, begunNs, endNs));
        }
    }

    /** The first ones of the recorded time, in the order in which they ended. */
    public synchronized List<Slow> kept() {
        return List.copyOf(kept);
    }

    /** All of the recorded time. */
    public synchronized long count() {
        return count;
    }
}
