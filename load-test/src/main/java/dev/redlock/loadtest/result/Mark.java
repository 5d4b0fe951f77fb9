package dev.redlock.loadtest.result;

/**
 * Something that happened while a series ran, such as an injected fault.
 *
 * @param offsetMs when, from the start of the run
 * @param text     what
 * @threading immutable
 */
public record Mark(long offsetMs, String text) {
}
