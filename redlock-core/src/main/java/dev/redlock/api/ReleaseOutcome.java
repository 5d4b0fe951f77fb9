package dev.redlock.api;

/**
 * The outcome of a release.
 *
 * @threading immutable
 */
public enum ReleaseOutcome {
    /** A quorum of nodes deleted the lock: it was held until now and is free. */
    RELEASED,
    /** The lock was not held any more: its validity had ended, or a quorum no longer had the token. */
    EXPIRED,
    /** The lock stays until {@link dev.redlock.AcquireOptions#holdAtLeast} has passed; then the client releases it. */
    KEPT,
    /**
     * The client keeps the lock for its next acquisition, as {@link dev.redlock.AcquireOptions#retain} asks. Other
     * clients get it as soon as they ask for it.
     */
    RETAINED,
    /**
     * Too few nodes answered. Remaining keys are deleted when the nodes come back, or expire. Also if another thread
     * has released and reused the lease before a blocking release returned.
     */
    UNKNOWN
}
