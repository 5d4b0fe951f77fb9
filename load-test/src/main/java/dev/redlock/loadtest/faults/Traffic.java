package dev.redlock.loadtest.faults;

/** @threading immutable */
public enum Traffic {
    /** Everything passes at once. */
    PASS,
    /** Everything passes after a delay, in order, both ways. */
    SLOW,
    /**
     * Nothing passes and nothing is closed: half-open connections. Data sent meanwhile arrives afterwards, even if its
     * sender has given up.
     */
    STALL,
    /** Requests pass, replies are dropped; the connections are closed afterwards. */
    MUTE,
    /** Connections are closed, and new ones as soon as they are opened. */
    CUT
}
