package dev.redlock;

/**
 * What the client's own event loop does when there is nothing to do.
 *
 * @threading immutable
 */
public enum IdlePolicy {
    /**
     * Sleep in the selector until something comes: no CPU when idle, a wake-up of the kernel on each round. The
     * default.
     */
    BLOCK,
    /**
     * Look again and again for 50 us after there was something to do, letting other threads run in between, then sleep
     * as {@link #BLOCK} does: no wake-up where one answer or call follows soon on another, and no CPU when idle.
     */
    BACK_OFF,
    /** Look again and again, letting other threads run in between: a core is used up where nobody else wants it. */
    YIELD,
    /** Look again and again: lowest latency, a whole core. Only where a core is free for it. */
    BUSY_SPIN
}
