package dev.redlock.loadtest;

import dev.redlock.loadtest.result.Interval;
import dev.redlock.loadtest.result.Sample;
import java.util.List;

/**
 * Looks on while a series is measured.
 *
 * @threading caller-confined to the thread that runs the rig
 */
interface SeriesWatch {
    /** Looks away. */
    SeriesWatch NONE = new SeriesWatch() {
    };

    /**
     * Time has passed; called several times a second.
     *
     * @param offsetMs    since the start of the run
     * @param isMeasuring whether the warm-up is over
     */
    default void onProgress(long offsetMs, boolean isMeasuring) {
        // Nobody looks.
    }

    /**
     * An interval of an operation is over.
     *
     * @param operation which
     * @param interval  its figures
     */
    default void onInterval(String operation, Interval interval) {
        // Nobody looks.
    }

    /** @return readings taken so far */
    default List<Sample> samples() {
        return List.of();
    }

    /** @return why the series does not count, beside what the rig says */
    default List<String> failures() {
        return List.of();
    }
}
