package dev.redlock.loadtest.result;

import java.io.Serializable;

/**
 * An event during a series, such as an injected fault.
 *
 * @param offsetMs its time, from the start of the run
 * @param lengthMs its length; 0 for a moment
 * @threading immutable
 */
public record Mark(long offsetMs, long lengthMs, String text) implements Serializable {
    public Mark(long offsetMs, String text) {
        this(offsetMs, 0, text);
    }
}
