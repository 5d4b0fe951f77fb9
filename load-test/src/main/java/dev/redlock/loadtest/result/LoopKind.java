package dev.redlock.loadtest.result;

/**
 * Who decides when the next cycle begins.
 *
 * @threading immutable
 */
public enum LoopKind {
    /** The end of the one before it: says throughput; a slow answer also delays the questions behind it. */
    CLOSED,
    /**
     * A clock: cycles begin at a fixed rate whatever the client does, and their latency counts from the intended time,
     * so that a stall shows in every cycle that it held up.
     */
    OPEN
}
