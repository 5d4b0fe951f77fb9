package dev.redlock.loadtest;

import dev.redlock.loadtest.result.SeriesResult;

/**
 * What a driver's process answers: one line of JSON.
 *
 * @param series what it measured; null after a warm-up
 * @param error  why it could not, in a sentence; null if it could
 * @threading immutable
 */
record DriverReply(SeriesResult series, String error) {
}
