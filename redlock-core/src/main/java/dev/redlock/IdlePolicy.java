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
    /** Look again and again, letting other threads run in between: a core is used up where nobody else wants it. */
    YIELD,
    /** Look again and again: lowest latency, a whole core. Only where a core is free for it. */
    BUSY_SPIN
}
