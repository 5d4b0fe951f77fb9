package dev.redlock.loadtest.chaos;

import dev.redlock.loadtest.result.SeriesResult;
import java.util.List;

/**
 * The result of one chaos run.
 *
 * @param series    the run over time, with a mark for each fault
 * @param notes     sentences: nodes, seed, excluded faults
 * @param failures  the reasons of a failed run; empty if it passed
 * @param elapsedMs duration of the run
 * @threading immutable
 */
record ChaosResult(SeriesResult series, List<String> notes, List<String> failures, long elapsedMs) {
}
