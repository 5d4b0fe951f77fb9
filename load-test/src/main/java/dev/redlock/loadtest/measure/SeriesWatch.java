package dev.redlock.loadtest.measure;

import dev.redlock.loadtest.result.Interval;
import dev.redlock.loadtest.result.Sample;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.rig.SlowCycles;
import dev.redlock.loadtest.rig.Usage;
import java.util.List;

/**
 * Observes a series while it is measured.
 *
 * @threading caller-confined to the thread that runs the rig
 */
public interface SeriesWatch {
    SeriesWatch NONE = new SeriesWatch() {
    };

    /** Time has passed since the start of the run; called several times a second. */
    default void onProgress(long offsetMs, boolean isMeasuring) {
        // Nothing to observe.
    }

    /** Collects the slow cycles of the series; null for none. */
    default SlowCycles slowCycles() {
        return null;
    }

    default void onInterval(String operation, Interval interval) {
        // Nothing to observe.
    }

    default List<Sample> samples() {
        return List.of();
    }

    /** Adds the figures of the watch; usage is null if not measured. */
    default SeriesResult complete(SeriesResult series, Usage usage) {
        return series;
    }

    /** @return why the series does not count, beside the failures of the rig */
    default List<String> failures() {
        return List.of();
    }
}
