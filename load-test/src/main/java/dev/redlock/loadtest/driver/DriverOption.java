package dev.redlock.loadtest.driver;

/**
 * What a driver can be told beyond the nodes and the ttl. A driver that does not name an option refuses it, so that
 * nobody compares two clients of which one did not do what was asked.
 *
 * @threading immutable
 */
public enum DriverOption {
    /** Which transport carries the bytes. */
    TRANSPORT,
    /** How many event loops it runs. */
    EVENT_LOOPS,
    /** What its event loop does when idle. */
    IDLE_POLICY,
    /** How locks are put to the nodes: by scripts or by commands of the nodes' own. */
    COMMANDS,
    /** How many times in a row its waiters hand a lock on among themselves. */
    HAND_OVERS,
    /** Fencing tokens. */
    FENCED,
    /** Waits by itself until a lock is free; for other drivers the rig tries again. */
    WAIT,
    /** Nodes on Unix sockets. */
    UNIX_SOCKET
}
