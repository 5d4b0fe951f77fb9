package dev.redlock.loadtest.driver;

/** @threading immutable */
public enum ApiForm {
    /** Reused objects and a callback: allocates nothing. */
    CALLBACK,
    /** A thread waits for each lock. */
    BLOCKING,
    /** A future for each call. */
    STAGE,
    /** {@link #CALLBACK} with leases that watch their keys. */
    WATCHED,
    /** {@link #BLOCKING} with locks that the client retains: its thread gets most of them without the nodes. */
    RETAINED
}
