package dev.redlock.telemetry;

import dev.redlock.time.NanoClock;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.IntStream;

/**
 * Counts the acquisitions of one group of a client, by outcome and duration, for each event loop.
 *
 * @threading any thread; those of one event loop are added by its thread
 */
public final class GroupRecorder {

    private final String name;
    private final List<AcquireTimesRecorder> loops;
    private final AcquireTimesReader times;
    /** The callers' own threads add. */
    private final LongAdder localGrants = new LongAdder();

    GroupRecorder(String name, int loopCount, int outcomeCount, NanoClock clock) {
        this.name = name;
        this.loops = IntStream.range(0, loopCount).mapToObj(i -> new AcquireTimesRecorder(outcomeCount)).toList();
        this.times = new AcquireTimesReader(loops, outcomeCount, clock);
    }

    /** Adds an acquisition of an event loop. */
    void add(int loopIndex, int outcome, long durationNs) {
        loops.get(loopIndex).add(outcome, durationNs);
    }

    /** Adds an acquisition that has got a retained lock, on any thread. */
    void addLocalGrant() {
        localGrants.increment();
    }

    /** The name of the group. */
    public String name() {
        return name;
    }

    /** Reads the acquisitions of all event loops; its percentiles start with the group. */
    public AcquireTimesReader times() {
        return times;
    }

    /** The acquisitions that have got a retained lock. */
    public long localGrantCount() {
        return localGrants.sum();
    }
}
