package dev.redlock;

import dev.redlock.node.Node;

/**
 * A live view of one node over one event loop: each call reads the current value and allocates nothing.
 *
 * @threading any thread
 */
public final class NodeStatus {

    private final Node node;

    NodeStatus(final Node node) {
        this.node = node;
    }

    /** @return its place in configured order */
    public int index() {
        return node.index();
    }

    /** @return its address without user and password */
    public String address() {
        return node.address().toString();
    }

    /** @return its state */
    public NodeState state() {
        return node.state();
    }

    /** @return what is wrong with it, one sentence for people; null if nothing is */
    public String problem() {
        return node.problem();
    }

    /**
     * The error with which the node answers acquires, extensions or releases although it is connected, such as
     * {@code OOM}: ten in a row, or all of them for a second. Such a node is {@link NodeState#READY} and its votes are
     * failed votes.
     *
     * @return the first word of the server's latest errors, "error reply" if that is no code; null while the node works
     */
    public String failingCode() {
        return node.failingCode();
    }

    /** @return nanoseconds since the first of those errors; 0 while the node works */
    public long failingNs() {
        return node.failingNs();
    }

    /** @return nanoseconds of the last measured round trip; 0 before the first */
    public long roundTripNs() {
        return node.roundTripNs();
    }

    /** @return acquires that it granted */
    public long grantedCount() {
        return node.statistics().grantedCount();
    }

    /** @return acquires that it refused */
    public long refusedCount() {
        return node.statistics().refusedCount();
    }

    /** @return error replies that it gave to lock commands */
    public long errorCount() {
        return node.statistics().errorCount();
    }

    /** @return connections to it that were lost */
    public long disconnectCount() {
        return node.statistics().disconnectCount();
    }

    /** @return jumps of its clock */
    public long clockJumpCount() {
        return node.statistics().clockJumpCount();
    }

    /** @return releases that it is owed */
    public long undeliveredReleaseCount() {
        return node.statistics().undeliveredReleaseCount();
    }

    /** @return releases that it was owed and that were dropped; their keys end with their ttl */
    public long undeliveredReleaseDroppedCount() {
        return node.statistics().undeliveredReleaseDroppedCount();
    }

    /** @return releases that it was owed and that it has answered */
    public long undeliveredReleaseDeliveredCount() {
        return node.statistics().undeliveredReleaseDeliveredCount();
    }

    /**
     * Releases that it was owed and that it has answered with an error: they are not tried again, so their keys end
     * with their ttl.
     *
     * @return how many
     */
    public long undeliveredReleaseRefusedCount() {
        return node.statistics().undeliveredReleaseRefusedCount();
    }

    @Override
    public String toString() {
        return node.toString();
    }
}
