package dev.redlock.api;

/**
 * The behaviour of the client's own event loop without work.
 *
 * @threading immutable
 */
public enum IdlePolicy {
    /**
     * Sleeps in the selector: no CPU when idle, and a wake-up by the kernel in each round. The default, because a loop
     * that polls between one lock and the next never sleeps and exhausts the CPU quota of a container.
     */
    BLOCK,
    /**
     * Polls for 50 us after the last work and yields to other threads in between, then sleeps as {@link #BLOCK} does.
     * It saves the wake-up where one answer or call soon follows another, and uses no CPU when idle.
     */
    BACK_OFF,
    /** Polls and yields to other threads in between: uses a whole core that no other thread wants. */
    YIELD,
    /** Polls without a pause: the lowest latency for a whole core. Use it only if a core is free. */
    BUSY_SPIN
}
