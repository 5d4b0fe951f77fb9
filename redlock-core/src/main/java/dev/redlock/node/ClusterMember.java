package dev.redlock.node;

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
final class ClusterMember {

    final ClusterVoter voter;
    final ClusterRedirects redirects;
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

    /** Here and not in {@link Node}: without a cluster the class is not loaded, so calls of its super class inline. */
    NodeConnection newConnection(NodeConnection.Listener listener, TlsChannel tls) {
        return new MemberConnection(node.sender, listener, tls);
    }

    boolean isAt(NodeAddress address) {
        return node.view().address().equals(address);
    }

    /** Whether it is not reachable where it was, and a map has another address for it than before. */
    boolean hasMovedTo(NodeAddress newAddress) {
        return mapAddress != null && !mapAddress.equals(newAddress) && !node.isConnected();
    }

    @Override
    public String toString() {
        return node.view().address().toString();
    }
}
