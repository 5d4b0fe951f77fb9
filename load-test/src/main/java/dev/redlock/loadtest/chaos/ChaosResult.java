package dev.redlock.loadtest.chaos;

import dev.redlock.loadtest.result.SeriesResult;
import java.util.List;

/**
 * The result of one chaos run.
 *
 * @param notes     sentences: nodes, seed, excluded faults
 * @threading immutable
 */
record ChaosResult(SeriesResult series, List<String> notes, List<String> failures, long elapsedMs) {
}
