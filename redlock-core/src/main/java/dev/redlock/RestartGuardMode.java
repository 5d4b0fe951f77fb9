package dev.redlock;

/**
 * The rule for nodes that may have lost their keys in a restart.
 *
 * @threading immutable
 */
public enum RestartGuardMode {
    /**
     * The default, and safe: a node votes only when its process has been up for longer than the longest ttl, so that
     * every lock it may have lost has expired. A node that was just started stays in quarantine for that long.
     */
    UPTIME,
    /**
     * A node votes at once when this client meets it for the first time, and is guarded by its uptime from then on. Use
     * it only for nodes that are known to be new when the client starts: a client that starts just after a node lost
     * its keys cannot notice.
     */
    AFTER_FIRST_CONTACT,
    /** No guard. For nodes that lose nothing ({@code appendfsync always}), and for tests. */
    OFF
}
