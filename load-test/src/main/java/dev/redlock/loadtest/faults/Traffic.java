package dev.redlock.loadtest.faults;

/**
 * What a proxy does with the bytes that reach it.
 *
 * @threading immutable
 */
public enum Traffic {
    /** Everything passes at once. */
    PASS,
    /** Everything passes after a delay, in order, both ways. */
    SLOW,
    /**
     * Nothing passes and nothing is closed: half-open connections. What was sent meanwhile arrives afterwards, even if
     * its sender has given up.
     */
    STALL,
    /** Requests pass, replies are thrown away; the connections are closed afterwards. */
    MUTE,
    /** Connections are closed, and new ones as soon as they are opened. */
    CUT
}
