package dev.redlock.loadtest.result;

/**
 * The rule for the start of the next cycle.
 *
 * @threading immutable
 */
public enum LoopKind {
    /** The end of the cycle before it. Shows throughput; a slow reply also delays the requests behind it. */
    CLOSED,
    /**
     * A clock: cycles start at a fixed rate regardless of the client, and their latency counts from the intended time,
     * so that a stall shows in every cycle that it delays.
     */
    OPEN
}
