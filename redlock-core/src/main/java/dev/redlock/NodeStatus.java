package dev.redlock;

import dev.redlock.api.NodeState;
import dev.redlock.node.send.NodeCounter;
import dev.redlock.node.NodeView;
import dev.redlock.transport.NodeAddress;

/**
 * A live view of one node over one event loop: each call reads the current value and allocates nothing.
 *
 * @threading any thread
 */
public final class NodeStatus {

    private final NodeView node;

    NodeStatus(NodeView node) {
        this.node = node;
    }

    /** @return its index in configured order; the masters of a cluster have the index of the cluster */
    public int index() {
        return node.index();
    }

    /** @return its configured address without user and password; {@code rediss://host:port} with TLS */
    public String address() {
        return node.name();
    }

    /**
     * The address of the server: that of the node itself, or of the primary that its Sentinels named last.
     *
     * @return the address without user and password; null if no Sentinel has named it yet
     */
    public String serverAddress() {
        NodeAddress server = node.address();
        return server == null ? null : server.toString();
    }

    /** @return its state */
    public NodeState state() {
        return node.state();
    }

    /**
     * The reason why it does not vote or is not connected. A node that votes has a problem if it answers with errors,
     * or later than {@link RedlockContext#nodeTimeout nodeTimeout}, if its connection could not authenticate again, or
     * if the map of its cluster cannot be used, or has slots without a master or with a new one.
     *
     * @return one sentence; null if there is none
     */
    public String problem() {
        return node.problem();
    }

    /**
     * The rest of its quarantine, as {@link #problem} has it in seconds. A fresh group may vote earlier. A node may
     * vote later if it is not connected by then, or if another quarantine starts.
     *
     * @return nanoseconds; 0 if it is in no quarantine, or in one whose end is not known
     */
    public long votesAgainInNs() {
        return node.quarantineLeftNs();
    }

    /**
     * The error with which a connected node answers acquires, extensions or releases, such as {@code OOM}: ten in a
     * row, or all of them for a second. Such a node is {@link NodeState#READY}, and its votes are failed votes.
     *
     * @return the first word of the server's latest error, "error reply" if that is no code; null while the node works
     */
    public String failingCode() {
        return node.failingCode();
    }

    /** @return nanoseconds since the first of those errors; 0 while the node works */
    public long failingNs() {
        return node.failingNs();
    }

    /**
     * Why this node wakes no waiter, or all of them, when a lock is released. Without RESP3 or the permission for
     * {@code CLIENT TRACKING}, or if it is switched off, waiters retry after the delays of their retry policy. Without
     * the permission for {@code SUBSCRIBE} or {@code PUBLISH} to the client's channels, the node wakes all at once.
     *
     * @return the reason, a phrase; null if it wakes one at a time
     */
    public String wakeUpProblem() {
        return node.wakeUpProblem();
    }

    /**
     * The TLS of the connection: protocol, cipher suite and implementation. If the files of the {@link TlsOptions} have
     * changed and cannot be used, the reason follows.
     *
     * @return one line; null without TLS, or if the node is not connected
     */
    public String tlsDescription() {
        return node.tlsDescription();
    }

    /** @return nanoseconds of the last measured round trip; 0 before the first */
    public long roundTripNs() {
        return node.roundTripNs();
    }

    /** @return acquires that it granted */
    public long grantedCount() {
        return node.count(NodeCounter.GRANTED);
    }

    /** @return acquires that it refused */
    public long refusedCount() {
        return node.count(NodeCounter.REFUSED);
    }

    /** @return error replies that it gave to lock commands */
    public long errorCount() {
        return node.count(NodeCounter.ERRORS);
    }

    /** @return connections to it that were lost */
    public long disconnectCount() {
        return node.count(NodeCounter.DISCONNECTS);
    }

    /** @return jumps of its clock */
    public long clockJumpCount() {
        return node.count(NodeCounter.CLOCK_JUMPS);
    }

    /** @return releases that are retained until the node can be reached, or can execute them */
    public long undeliveredReleaseCount() {
        return node.count(NodeCounter.UNDELIVERED);
    }

    /** @return retained releases that were discarded; their keys expire */
    public long undeliveredReleaseDroppedCount() {
        return node.count(NodeCounter.UNDELIVERED_DROPPED);
    }

    /** @return retained releases that the node has executed later */
    public long undeliveredReleaseDeliveredCount() {
        return node.count(NodeCounter.UNDELIVERED_DELIVERED);
    }

    /**
     * Retained releases that the node answered with an error that lasts, such as a missing permission. They are not
     * sent again; their keys expire.
     */
    public long undeliveredReleaseRefusedCount() {
        return node.count(NodeCounter.UNDELIVERED_REFUSED);
    }

    @Override
    public String toString() {
        return node.toString();
    }
}
