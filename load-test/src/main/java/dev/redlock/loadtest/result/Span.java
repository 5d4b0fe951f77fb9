package dev.redlock.loadtest.result;

/**
 * When a series was measured.
 *
 * @param offsetMs   its first recorded moment, from the start of the run
 * @param warmupMs   unrecorded load just before that
 * @param recordedMs how long it was recorded
 * @threading immutable
 */
public record Span(long offsetMs, long warmupMs, long recordedMs) {
}
