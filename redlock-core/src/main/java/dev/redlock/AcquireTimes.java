package dev.redlock;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.telemetry.AcquireTimesReader;
import java.util.Objects;

/**
 * The durations of the acquisitions of a client, or of one group of them, by outcome, over all its event loops. A
 * duration starts when the call arrives on its event loop and ends with the outcome; waiting is included. A call that a
 * limit rejects counts with 0.
 *
 * <p>Counts and totals start with the first call of {@link Redlock#acquireTimes Redlock.acquireTimes}, those of a
 * {@link LockGroup} with its first acquisition. Percentiles cover the last one to two minutes. Each call reads the
 * current values; two calls are not one snapshot. Durations fall into buckets, each at most 3 % wide, or 1.024 us.
 *
 * <p>A read delays no event loop. This object refers to no client: it keeps its values after the client was closed, and
 * does not keep the client in memory.
 *
 * @threading any thread
 */
public final class AcquireTimes {

    private final AcquireTimesReader reader;

    AcquireTimes(AcquireTimesReader reader) {
        this.reader = reader;
    }

    /**
     * Acquisitions that ended in one way.
     *
     * @throws NullPointerException if it is null
     */
    public long count(AcquireOutcome.Kind kind) {
        return reader.count(indexOf(kind));
    }

    /**
     * Acquisitions that ended in one way within a limit, such as a bucket of a histogram. A duration counts if its
     * bucket ends at or below the limit, so one of up to 3 % less than the limit may be left out.
     *
     * @param limitNs nanoseconds; the count is 0 below 1.024 us
     * @throws NullPointerException if the kind is null
     */
    public long countUpTo(AcquireOutcome.Kind kind, long limitNs) {
        return reader.countUpTo(indexOf(kind), limitNs);
    }

    /**
     * The durations of the acquisitions that ended in one way, summed.
     *
     * @return nanoseconds
     * @throws NullPointerException if it is null
     */
    public long totalNs(AcquireOutcome.Kind kind) {
        return reader.sumNs(indexOf(kind));
    }

    /**
     * The time within which a share of the recent acquisitions of one kind ended: those of the last minute, and of up
     * to one minute before. Without a call for longer, it reaches back to the last call but one. Calls wait for each
     * other. Allocates up to 56 KiB once a minute.
     *
     * @param share above 0, at most 1; 0.99 for the 99th percentile
     * @return nanoseconds, rounded up to the end of a bucket; NaN without such acquisitions
     * @throws IllegalArgumentException if the share is out of range
     * @throws NullPointerException     if the kind is null
     */
    public double percentileNs(AcquireOutcome.Kind kind, double share) {
        int outcome = indexOf(kind);
        if (!(share > 0 && share <= 1)) {
            throw new IllegalArgumentException("share " + share + " is out of range: give one above 0 and up to 1, such"
                    + " as 0.99");
        }
        return reader.percentileNs(outcome, share);
    }

    private static int indexOf(AcquireOutcome.Kind kind) {
        return Objects.requireNonNull(kind, "kind of outcome is null: name the one to measure").ordinal();
    }

    @Override
    public String toString() {
        return "AcquireTimes{acquired=" + count(AcquireOutcome.Kind.ACQUIRED) + ", totalNs="
                + totalNs(AcquireOutcome.Kind.ACQUIRED) + "}";
    }
}
