package dev.redlock.loadtest.driver;

/**
 * The options of a driver beyond the nodes and the ttl. A driver rejects an option that it does not name, so that a
 * comparison never includes a client that ignored an option.
 *
 * @threading immutable
 */
public enum DriverOption {
    /** The network transport. */
    TRANSPORT,
    /** The number of event loops. */
    EVENT_LOOPS,
    /** The behaviour of an idle event loop. */
    IDLE_POLICY,
    /** The commands that it sends: scripts or native ones. */
    COMMANDS,
    /** The number of handoffs in a row between its own waiters. */
    HANDOFFS,
    /** Thrifty quorums. */
    THRIFTY,
    /** Fencing tokens. */
    FENCED,
    /** Waits in the client until a lock is free; for other drivers the rig retries. */
    WAIT,
    /** Renews held leases in the client. */
    RENEWAL,
    /** Nodes on Unix sockets. */
    UNIX_SOCKET,
    /** Nodes with TLS. */
    TLS,
    /** Clusters as nodes. */
    CLUSTERS
}
