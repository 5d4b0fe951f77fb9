package dev.redlock.loadtest.chaos;

import dev.redlock.loadtest.result.SeriesResult;
import java.util.List;

/**
 * What one chaos run has to tell.
 *
 * @param series    the run over time, with a mark for each fault
 * @param notes     sentences: nodes, seed, what was left out
 * @param failures  why it failed; empty if it did not
 * @param elapsedMs how long it took
 * @threading immutable
 */
record ChaosResult(SeriesResult series, List<String> notes, List<String> failures, long elapsedMs) {
}
