package dev.redlock.telemetry;

import dev.redlock.time.NanoClock;
import java.util.List;

/**
 * Sums the {@link AcquireTimesRecorder} of all event loops of a client. Counts and sums are those since the recording
 * started. Percentiles are those of the last one to two minutes: the reader keeps copies of two earlier states and
 * subtracts the older one. Without a read for longer than that, they reach back to the last read but one.
 *
 * @threading any thread
 */
public final class AcquireTimesReader {

    private static final long PERIOD_NS = 60_000_000_000L;

    private final List<AcquireTimesRecorder> loops;
    private final int outcomeCount;
    private final NanoClock clock;
    /** The buckets of each outcome; null for one that had no acquisition. */
    private long[][] older;
    private long[][] newer;
    private long newerNs;

    /**
     * A reader whose percentiles start now.
     *
     * @param loops        the recorders of the event loops
     * @param outcomeCount that of each recorder
     */
    public AcquireTimesReader(List<AcquireTimesRecorder> loops, int outcomeCount, NanoClock clock) {
        this.loops = List.copyOf(loops);
        this.outcomeCount = outcomeCount;
        this.newer = copy();
        this.older = newer;
        this.clock = clock;
        this.newerNs = clock.nanoTime();
    }

    /**
     * The number of acquisitions with an outcome up to a duration. Those of its bucket are left out, unless it is the
     * end of the bucket.
     */
    public long countUpTo(int outcome, long durationNs) {
        long count = 0;
        for (int bucket = 0; bucket < AcquireTimesRecorder.BUCKET_COUNT
                && AcquireTimesRecorder.endNs(bucket) <= durationNs; bucket++) {
            count += count(outcome, bucket);
        }
        return count;
    }

    /** The number of acquisitions with an outcome. */
    public long count(int outcome) {
        return countUpTo(outcome, Long.MAX_VALUE);
    }

    /** The durations of the acquisitions with an outcome, summed. */
    public long sumNs(int outcome) {
        long sumNs = 0;
        for (AcquireTimesRecorder times : loops) {
            sumNs += times.sumNs(outcome);
        }
        return sumNs;
    }

    /**
     * A duration that a share of the recent acquisitions did not exceed.
     *
     * @param share   above 0, at most 1
     * @return the end of its bucket, nanoseconds; NaN without acquisitions
     */
    public synchronized double percentileNs(int outcome, double share) {
        long nowNs = clock.nanoTime();
        if (nowNs - newerNs >= PERIOD_NS) {
            older = newer;
            newer = copy();
            newerNs = nowNs;
        }
        long[] before = older[outcome];
        long count = 0;
        for (int bucket = 0; bucket < AcquireTimesRecorder.BUCKET_COUNT; bucket++) {
            count += recentCount(outcome, bucket, before);
        }
        if (count == 0) {
            return Double.NaN;
        }
        long left = Math.max(1, (long) Math.ceil(count * share));
        int bucket = -1;
        // The loops may have added some meanwhile, so this ends.
        while (left > 0) {
            bucket++;
            left -= recentCount(outcome, bucket, before);
        }
        return AcquireTimesRecorder.endNs(bucket);
    }

    private long recentCount(int outcome, int bucket, long[] before) {
        return count(outcome, bucket) - (before == null ? 0 : before[bucket]);
    }

    private long[][] copy() {
        long[][] copy = new long[outcomeCount][];
        for (int outcome = 0; outcome < outcomeCount; outcome++) {
            copy[outcome] = hasAny(outcome) ? buckets(outcome) : null;
        }
        return copy;
    }

    private long[] buckets(int outcome) {
        long[] counts = new long[AcquireTimesRecorder.BUCKET_COUNT];
        for (int bucket = 0; bucket < counts.length; bucket++) {
            counts[bucket] = count(outcome, bucket);
        }
        return counts;
    }

    private boolean hasAny(int outcome) {
        for (AcquireTimesRecorder times : loops) {
            if (times.hasAny(outcome)) {
                return true;
            }
        }
        return false;
    }

    private long count(int outcome, int bucket) {
        long count = 0;
        for (AcquireTimesRecorder times : loops) {
            count += times.count(outcome, bucket);
        }
        return count;
    }
}
