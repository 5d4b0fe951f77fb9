package dev.redlock;

/**
 * How a node is treated that may have lost its keys in a restart.
 *
 * @threading immutable
 */
public enum RestartGuardMode {
    /**
     * The default, and safe: a node votes only when its process has been up for longer than the longest ttl, so that
     * every lock it may have forgotten has expired. A node that was started just now does not vote for that long.
     */
    UPTIME,
    /**
     * A node is trusted when this client meets it for the first time, and guarded by uptime from then on. For nodes
     * that are known to be fresh when the client starts, and only then: a client that starts just after a node lost its
     * keys is fooled.
     */
    AFTER_FIRST_CONTACT,
    /** Restarts are not guarded against. For nodes that lose nothing ({@code appendfsync always}), and for tests. */
    OFF
}
