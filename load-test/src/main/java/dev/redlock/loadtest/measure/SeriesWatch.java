package dev.redlock.loadtest.measure;

import dev.redlock.loadtest.result.Interval;
import dev.redlock.loadtest.result.Sample;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.rig.Usage;
import java.util.List;

/**
 * Observes a series while it is measured.
 *
 * @threading caller-confined to the thread that runs the rig
 */
interface SeriesWatch {
    /** Observes nothing. */
    SeriesWatch NONE = new SeriesWatch() {
    };

    /**
     * Time has passed; called several times a second.
     *
     * @param offsetMs    since the start of the run
     * @param isMeasuring whether the warm-up is over
     */
    default void onProgress(long offsetMs, boolean isMeasuring) {
        // Nothing to observe.
    }

    /** An interval of an operation is over. */
    default void onInterval(String operation, Interval interval) {
        // Nothing to observe.
    }

    /** @return readings taken so far */
    default List<Sample> samples() {
        return List.of();
    }

    /**
     * Completes the result of the series.
     *
     * @param usage  the resources used in the recorded time; null if not measured
     * @return the result with the figures of the watch
     */
    default SeriesResult complete(SeriesResult series, Usage usage) {
        return series;
    }

    /** @return why the series does not count, beside the failures of the rig */
    default List<String> failures() {
        return List.of();
    }
}
