package dev.redlock.loadtest.result;

import java.io.Serializable;

/**
 * The time of a series.
 *
 * @param offsetMs   its first recorded moment, from the start of the run
 * @param warmupMs   the unrecorded load before that moment
 * @threading immutable
 */
public record Span(long offsetMs, long warmupMs, long recordedMs) implements Serializable {
}
