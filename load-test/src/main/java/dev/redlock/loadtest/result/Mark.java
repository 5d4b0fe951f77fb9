package dev.redlock.loadtest.result;

/**
 * Something that happened while a series ran, such as an injected fault.
 *
 * @param offsetMs when, from the start of the run
 * @param lengthMs how long it went on; 0 for a moment
 * @param text     what
 * @threading immutable
 */
public record Mark(long offsetMs, long lengthMs, String text) {
    /**
     * A moment.
     *
     * @param offsetMs when, from the start of the run
     * @param text     what
     */
    public Mark(long offsetMs, String text) {
        this(offsetMs, 0, text);
    }
}
