package dev.redlock.api;

/**
 * The life of a lease.
 *
 * <table>
 * <caption>Transitions</caption>
 * <tr><th>from</th><th>event</th><th>to</th></tr>
 * <tr><td>IDLE, and every final state of a reusable lease</td><td>acquire</td><td>ACQUIRING</td></tr>
 * <tr><td>ACQUIRING</td><td>a quorum granted in time</td><td>HELD</td></tr>
 * <tr><td>ACQUIRING</td><td>any other outcome</td><td>NOT_ACQUIRED</td></tr>
 * <tr><td>HELD</td><td>an extension succeeded, or failed without loss</td><td>HELD</td></tr>
 * <tr><td>HELD</td><td>release, close, or the client closes</td><td>RELEASING</td></tr>
 * <tr><td>HELD</td><td>the validity ended</td><td>EXPIRED</td></tr>
 * <tr><td>HELD</td><td>an extension or the clock watch left fewer than a quorum of holders</td><td>LOST</td></tr>
 * <tr><td>HELD</td><td>the event loop was shut down before the client was closed</td><td>LOST</td></tr>
 * <tr><td>RELEASING</td><td>the release was decided, whatever its outcome</td><td>RELEASED</td></tr>
 * <tr><td>NOT_ACQUIRED, RELEASED, EXPIRED, LOST</td><td>release, close, extend</td><td>no change</td></tr>
 * </table>
 *
 * @threading immutable
 */
public enum LeaseState {
    /** A reusable lease that was never used. */
    IDLE,
    /** The acquisition is in progress. */
    ACQUIRING,
    /** The acquisition ended without the lock. */
    NOT_ACQUIRED,
    /** The lock is held while validity remains. */
    HELD,
    /** The release is in progress. */
    RELEASING,
    /** Released. */
    RELEASED,
    /** The validity ended before a release; the client has released the keys. */
    EXPIRED,
    /**
     * A quorum was lost before the validity ended; the client has released the keys. Or the event loop was shut down:
     * then the keys expire.
     */
    LOST;

    /** @return true if the lease has ended, unless it is used again */
    public boolean isFinal() {
        return this == NOT_ACQUIRED || this == RELEASED || this == EXPIRED || this == LOST;
    }
}
