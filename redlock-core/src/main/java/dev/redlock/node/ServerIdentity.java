package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

/**
 * The server behind a node's address, identified by its {@code run_id}. A server has one vote, even if several
 * addresses lead to it.
 *
 * <p>The node whose address showed an identity first owns it. The node keeps the identity while it is not connected,
 * until every lock that the server may have granted has expired. If it returns later, it takes the identity back.
 *
 * @threading event-loop-confined
 */
final class ServerIdentity {

    private final Node node;
    private final NodeContext context;
    private final long keptNs;
    private String runId;
    /** When the node's address showed this identity first. */
    private long sinceNs;
    private long disconnectedNs;
    /** The node that owned the identity at the last handshake; null if this node may have it. */
    private Node owner;

    ServerIdentity(Node node, NodeContext context) {
        NodeOptions options = context.options();
        this.node = node;
        this.context = context;
        this.keptNs = RestartGuard.neededUptimeMs(options.maxTtlMs(), options.drift()) * NS_PER_MS;
    }

    /** The problem of a node whose address leads to the server of another node. */
    static String problemOf(Node owner) {
        return "the address leads to the same server as node " + owner.view().index() + " (" + owner.view().address()
                + "): a server has one vote, so configure each server once";
    }

    String runId() {
        return runId;
    }

    /**
     * Finds the other node that owns an identity. A node that was rejected as a duplicate may not change to a new
     * identity while the owner is not connected: that may be a copy again.
     *
     * @return the owner; null if this node may have the identity
     */
    Node findOwner(String newRunId) {
        for (Node peer : context.peers()) {
            if (isOther(peer) && newRunId.equals(peer.identity().runId) && peer.identity().isKept()
                    && !isOlderThan(peer.identity())) {
                owner = peer;
                return owner;
            }
        }
        if (owner != null && (owner.isConnected() || !owner.identity().isKept())) {
            owner = null;
        }
        return owner;
    }

    /** The node has the identity from now on. */
    void adopt(String newRunId, long nowNs) {
        if (!newRunId.equals(runId)) {
            runId = newRunId;
            sinceNs = nowNs;
        }
    }

    void onDisconnected(long nowNs) {
        disconnectedNs = nowNs;
    }

    /** Another node owns this identity. */
    void yieldTo(Node newOwner) {
        owner = newOwner;
    }

    /** Whether another connected node had this identity while its owner was not connected. */
    boolean isHeldBy(Node peer) {
        return isOther(peer) && peer.isConnected() && runId.equals(peer.identity().runId);
    }

    private boolean isOther(Node peer) {
        return peer != node;
    }

    private boolean isKept() {
        return node.isConnected() || runId != null && context.clock().nanoTime() - disconnectedNs < keptNs;
    }

    private boolean isOlderThan(ServerIdentity other) {
        return other.runId.equals(runId) && sinceNs - other.sinceNs < 0;
    }
}
