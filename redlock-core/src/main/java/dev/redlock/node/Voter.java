package dev.redlock.node;

import dev.redlock.node.send.NodeCounter;
import dev.redlock.node.send.SlotKey;

/**
 * A part of the quorum with one vote: a {@link Node}, which is one master, or a cluster, whose vote for a key is that
 * of the master that owns the key's slot.
 *
 * @threading event-loop-confined
 */
public abstract class Voter {

    /** Starts to connect. If it throws, it may be called again. */
    public abstract void open();

    /** The node that gets the commands of a key now. Also a node that is not connected. */
    public abstract Node nodeFor(SlotKey key);

    /** Whether the voter gives no vote for a key because the key's slot has another owner since a short time. */
    public abstract boolean isSilentFor(SlotKey key);

    /**
     * Whether a grant that arrives now counts. It may come from the former owner of the key's slot, or be older than
     * the reason for a quarantine: its key may expire early, or is not where other clients look.
     */
    public abstract boolean isGrantCounted(SlotKey key);

    /** @return whether each server has replied or failed once */
    public abstract boolean isSettled();

    /** @return whether a server pushes changes of keys that an acquire registers */
    public abstract boolean hasWakeUps();

    /** @return whether a server sends messages to waiting clients of this event loop; false for a cluster */
    public abstract boolean hasWakeChannel();

    /** Whether the voter may vote at a monotonic time: false only if it is in quarantine until then. */
    public abstract boolean mayVoteBy(long timeNs);

    /** The highest wall clock of its servers by the last samples, also of lost connections; 0 before the first one. */
    public abstract long wallUs(long nowNs);

    /** @return whether it votes now, on every key; any thread */
    public abstract boolean isVoting();

    /** @return nanoseconds of the last clock sample's round trip, the longest of its servers; 0 before the first */
    public abstract long roundTripNs();

    /** @return the visible parts of its servers; any thread */
    public abstract NodeView[] views();

    /** A recent count of all its servers, also of those that a cluster had before; any thread. */
    public abstract long count(NodeCounter counter);

    /** Frees memory that was not needed since the last call. To be called at regular intervals. */
    public abstract void trim();

    /** Sends only releases from now on. */
    public abstract void drain();

    /** Closes the connections; the outcome of each request in flight is unknown. */
    public abstract void close();

    /** As {@link #close}, if the loop has terminated and will not report the end of the connections. */
    public abstract void end();
}
