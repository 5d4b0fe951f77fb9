package dev.redlock.loadtest.driver;

/**
 * The options of a driver beyond the nodes and the ttl. A driver rejects an option that it does not name, so that a
 * comparison never includes a client that ignored an option.
 *
 * @threading immutable
 */
public enum DriverOption {
    TRANSPORT, EVENT_LOOPS, IDLE_POLICY,
    /** The commands that it sends: scripts or native ones. */
    COMMANDS,
    /** The number of handoffs in a row between its own waiters. */
    HANDOFFS, THRIFTY, FENCED,
    /** Waits in the client until a lock is free; for other drivers the rig retries. */
    WAIT,
    /** Renews held leases in the client. */
    RENEWAL, UNIX_SOCKET, TLS, CLUSTERS,
    /** Asks Sentinels for the primary; others lock on the one that they named at the start. */
    SENTINELS
}
