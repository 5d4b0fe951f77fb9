package dev.redlock.engine.watch;

/**
 * Why a held lease has ended without a release.
 *
 * @threading immutable
 */
public enum LossCause {
    /** The end of its validity. */
    VALIDITY_ENDED("the validity ended"),
    /** A node has proved that its key does not have the token any more. */
    KEY_GONE("a node does not hold the key any more"),
    /** The clock of a node has jumped, so its key may expire early. */
    CLOCK_JUMPED("the clock of a node jumped"),
    /** The server was a replica of its cluster for some time, so it may lack the key. */
    PROMOTED("a node was promoted again and may lack the key"),
    /**
     * Somebody has flushed a database of the node, or it has lost its keys while it was not connected. The push of a
     * flush does not name the database. Asking for a key afterwards would prove nothing: another client may have set it
     * again.
     */
    FLUSHED("a database of a node was flushed, so it may lack the key"),
    /** Another process replies at the address of the node, which may lack the key. */
    RESTARTED("a node was restarted and may lack the key"),
    /** The event loop has ended before the client was closed. */
    LOOP_ENDED("the event loop ended");

    /** No node has caused the loss. */
    public static final int NO_NODE = -1;

    private final String text;

    LossCause(String text) {
        this.text = text;
    }

    String text() {
        return text;
    }
}
