package dev.redlock.api;

/**
 * The life of a node as the client sees it.
 *
 * <pre>
 * WAITING -> CONNECTING -> HANDSHAKING -> READY
 *    ^           |              |    \-> QUARANTINED -> READY
 *    +-----------+--------------+----- from each of these when the connection fails
 * READY | QUARANTINED -> DRAINING when the client closes; any -> CLOSED at its end
 * </pre>
 *
 * @threading immutable
 */
public enum NodeState {
    /** Not connected; the next try is scheduled. */
    WAITING,
    /** The name is looked up and the connection is being opened. */
    CONNECTING,
    /** Connected; the client gets the credentials, reads who the node is and loads the scripts. */
    HANDSHAKING,
    /**
     * Connected, but its votes do not count yet: it gets releases only. Each new connection is in this state until the
     * releases that the node has missed are sent, so that they precede any command whose reply is a vote.
     */
    QUARANTINED,
    /** Connected and voting. */
    READY,
    /** The client is closing: only releases are sent. */
    DRAINING,
    /** The client has closed the node. */
    CLOSED;

    /** @return true if commands can be written */
    public boolean isConnected() {
        return this == READY || this == QUARANTINED || this == DRAINING;
    }
}
