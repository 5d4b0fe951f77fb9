package dev.redlock.node.cluster;

import dev.redlock.node.ConnectLimit;
import dev.redlock.node.LogLimit;
import dev.redlock.node.Membership;
import dev.redlock.node.Node;
import dev.redlock.node.NodeContext;
import dev.redlock.node.send.CommandSender;
import dev.redlock.node.send.FanOut;
import dev.redlock.node.send.MemberConnection;
import dev.redlock.node.send.NodeConnection;
import dev.redlock.transport.NodeAddress;
import dev.redlock.transport.TlsChannel;

/**
 * A server of a cluster and its connection.
 *
 * @threading event-loop-confined
 */
final class ClusterMember implements Membership {

    private final ClusterVoter voter;
    private final ClusterRedirects redirects;
    final Node node;
    /** Its id in the cluster; null before the first handshake of a seed. */
    String id;
    /** Its address in the first map that had it; null before. A seed may have another one, such as a name. */
    NodeAddress mapAddress;
    /** Whether the last map has it as a master with slots. */
    boolean isOwner;
    /** Its {@code cluster-node-timeout}; negative if it has not replied. */
    long nodeTimeoutMs = -1;
    /** Maps in a row that do not have it. */
    int absentCount;

    /** A server that is not connected yet. */
    ClusterMember(ClusterVoter voter, int index, NodeAddress address, NodeContext context, FanOut fanOut) {
        this.voter = voter;
        this.redirects = new ClusterRedirects(voter, this);
        this.node = new Node(index, address, context, fanOut, this);
    }

    @Override
    public CommandSender.Cluster redirects() {
        return redirects;
    }

    @Override
    public ConnectLimit connects() {
        return voter.connects;
    }

    @Override
    public LogLimit logLimit() {
        return voter.logLimit();
    }

    @Override
    public long silenceNs() {
        return voter.silenceNs();
    }

    @Override
    public void onHandshake(String nodeId) {
        voter.onHandshake(this, nodeId);
    }

    /** Here and not in {@link Node}: without a cluster the class is not loaded, so calls of its super class inline. */
    @Override
    public NodeConnection newConnection(NodeConnection.Listener listener, TlsChannel tls) {
        return new MemberConnection(node.sender(), listener, tls);
    }

    boolean isAt(NodeAddress address) {
        return node.view().address().equals(address);
    }

    /**
     * Whether it is not reachable where it was, and a map has another address for it than before, or a seed has led to
     * it for some maps.
     *
     * @param twin the seed; null if there is none
     */
    boolean hasMovedTo(NodeAddress newAddress, ClusterMember twin) {
        return mapAddress != null && !node.isConnected()
                && (!mapAddress.equals(newAddress) || twin != null && twin.absentCount >= MasterNodes.ABSENT_MAX);
    }

    @Override
    public String toString() {
        return node.view().address().toString();
    }
}
