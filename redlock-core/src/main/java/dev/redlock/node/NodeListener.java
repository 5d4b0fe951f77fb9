package dev.redlock.node;

import dev.redlock.api.NodeState;
import io.netty.buffer.ByteBuf;

/**
 * Gets the events of a node that belong to no single request. Each call names the node.
 *
 * @threading event-loop-confined
 */
public interface NodeListener {

    /** The node has another state. */
    void onStateChange(NodeView node, NodeState before, NodeState state);

    /** The node answers a kind of command with errors from now on, or no longer. */
    void onHealthChange(NodeView node);

    /** A connected node stays in quarantine for longer than its first commands take. */
    void onQuarantined(NodeView node);

    /**
     * The node's clock has jumped, so keys may have expired early: the node's votes no longer count.
     *
     * @param aheadNsMax by how much a key from before ends earlier at most; 0 if the clock has gone back
     * @param comparison the number of the present comparison of all nodes
     */
    void onClockJump(NodeView node, long aheadNsMax, int comparison);

    /** All nodes have jumped alike, so it was the clock of this machine that stood still. */
    void onStoodStill(long stoodStillNs);

    /**
     * The server was a replica for some time and is a master again, so it may lack locks that it granted before: its
     * votes no longer count.
     */
    void onPromotion(NodeView node);

    /** The client has learned the masters of a cluster. */
    void onSlotMap(int voterIndex);

    /**
     * A key that a refused acquire has registered has changed: it may be deleted, expired, or renewed. A node sends
     * this once for each registration, after the refusal.
     *
     * @param key    holds the name of the key; borrowed for this call
     * @param length bytes of the name
     */
    void onInvalidated(NodeView node, ByteBuf key, int index, int length);

    /**
     * The event loop has another place among the clients that wait for a lock. A node sends this after the loop has
     * entered its queue, sometimes more than once.
     *
     * @param word   {@code h}: first place, the lock is held; {@code d}: second place; {@code H} and {@code D}: the
     *               same, and the lock is free
     * @param key    holds the key of the lock; borrowed for this call
     * @param length bytes of the key
     */
    default void onMessage(NodeView node, byte word, ByteBuf key, int index, int length) {
        // No waiting client enters a queue yet.
    }

    /**
     * A release that could not be sent in time has deleted a key, or one of its keys. The node does not push this: the
     * client's own connection has changed the key.
     *
     * @param key    holds the name of the key; borrowed for this call
     * @param length bytes of the name
     */
    void onDeliveredLate(NodeView node, ByteBuf key, int index, int length);

    /** The node has lost its keys and all registrations: its earlier votes no longer count. */
    void onFlushed(NodeView node);

    /**
     * Another process replies at the address of a node that is guarded against restarts, so it may lack the keys of the
     * one before: its earlier votes no longer count.
     */
    void onRestarted(NodeView node);

    /**
     * The node gives no vote, because it may lack locks, but renews leases from now on. It is the only voter, and no
     * other client gets a lock from it or from its predecessor.
     */
    void onReclaimable(NodeView node);

    /**
     * The node lacks no lock that is still valid, as far as its votes count: other clients may get locks from it, if
     * this client does not. Called before each time that it votes.
     */
    void onSilenceOver(NodeView node);

    /**
     * The node has a problem, or has recovered from one. Called at most once a minute for the same line.
     *
     * @param level WARNING if a person has to act, else INFO
     * @param line  what happened; holds no secret
     */
    void onLogLine(NodeView node, System.Logger.Level level, String line);
}
