package dev.redlock.api;

/**
 * The commands that locks use. The keys are the same in each mode, so clients of all modes exclude each other. Nodes of
 * different versions can be mixed: the client probes the commands of each node when it connects.
 *
 * @threading immutable
 */
public enum CommandMode {
    /**
     * Cheaper commands where they report as much as the script: release by {@code DELEX} or {@code DELIFEQ}, extension
     * by {@code SET ... IFEQ}, and the first attempt of an acquisition by {@code SET ... NX PX}. A refused {@code SET}
     * does not report the holder's remaining ttl. Later attempts ask one node by the script, which does, and the others
     * by {@code SET}. An acquisition that ends with a refused {@code SET} asks the nodes by {@code PTTL}, which takes
     * one more round trip.
     */
    AUTO,
    /** Scripts alone: every node gets the same commands. */
    SCRIPTS,
    /**
     * The cheapest commands: every acquisition without a fencing token is a {@code SET ... NX PX}, at about half the
     * cost. {@link AcquireOutcome#shortestRemainingTtlMs} is -1 then. On nodes that have {@code SET IFEQ} and a
     * conditional delete, plain locks use no script, so the user needs no right to scripts.
     */
    NATIVE
}
