package dev.redlock.engine.watch;

/**
 * The kinds of event in the flight recorder. The fields of an event that are not named here are unused.
 *
 * @threading immutable
 */
enum FlightEvent {
    /** An attempt starts. Number; value: the asked nodes as a mask; subject: the key. */
    ATTEMPT,
    /** The coordinator has not refused, so the attempt asks more nodes. Number; value: their mask. */
    ASKED_OTHERS,
    /** A node votes. Number, node. */
    GRANTED,
    /** A node votes. Number, node. */
    REFUSED,
    /** A node votes. Number, node; detail: the failure. */
    FAILED,
    /** A node votes. Number, node; detail: the failure. */
    UNKNOWN,
    /** The node timeout has passed. Number; value: the silent nodes as a mask. */
    SILENT,
    /** An attempt has the lock. Number; value: the validity, nanoseconds; subject: the key. */
    ACQUIRED,
    /** An attempt fails. Number; detail: the reason; subject: the key. */
    ATTEMPT_FAILED,
    /** An acquisition ends without the lock. Detail: the outcome; value: its duration; subject: the key. */
    NOT_ACQUIRED,
    /** The release of a lease starts. Number; subject: the key. */
    RELEASE,
    /** A node had another token, or none. Number, node. */
    NOT_DELETED,
    /** A node has not confirmed a release. Number, node. */
    RELEASE_UNANSWERED,
    /** The release has an outcome. Number; detail: the outcome. */
    RELEASED,
    /** An extension starts. Number; value: the ttl, milliseconds; subject: the key. */
    EXTENSION,
    /** An extension has an outcome. Number; detail: the outcome; subject: the key. */
    EXTENSION_ENDED,
    /** A node is no holder of the lease any more. Number, node; detail: the cause; subject: the key. */
    HOLDER_DROPPED,
    /** A lease ends without a release. Number; detail: the state; value: its time held; subject: the key. */
    LEASE_ENDED,
    /** A node has another state. Node; detail: the new state; value: the old state; subject: the problem, or null. */
    NODE_STATE,
    /** A push wakes a waiter. Node; subject: the key. */
    WOKEN,
    /** A push wakes nobody. Node; subject: the key, or null. */
    SPURIOUS_PUSH,
    /** A waiter tries again without a push. Subject: the key. */
    BACKSTOP,
    /** A lock is retained no longer. Number; detail: the cause; value: the local grants; subject: the key. */
    RETENTION_ENDED;

    private static final FlightEvent[] VALUES = values();

    static FlightEvent of(int ordinal) {
        return VALUES[ordinal];
    }
}
