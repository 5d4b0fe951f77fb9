package dev.redlock;

/**
 * How locks are put to the nodes. The keys are the same in each mode, so clients of all modes exclude each other, and
 * nodes of different versions can be mixed: each is asked by what it has, found when it is connected to.
 *
 * @threading immutable
 */
public enum CommandMode {
    /**
     * Commands of the node's own where they say as much as the script does: release by {@code DELEX} or
     * {@code DELIFEQ}, extension by {@code SET ... IFEQ}, and the first attempt of an acquisition by
     * {@code SET ... NX PX}. Its refusal does not tell how long the holder's key will stand: attempts after it are made
     * by the script, whose refusal does, and an acquisition that ends with it asks the nodes that refused, by
     * {@code PTTL}, which takes one more round trip.
     */
    AUTO,
    /** Scripts alone: every node is asked the same. */
    SCRIPTS,
    /**
     * Whatever costs a node least: every acquisition without a fencing token is a {@code SET ... NX PX}, at about half
     * the cost. {@link AcquireOutcome#shortestRemainingTtlMs} is -1 then.
     */
    NATIVE
}
