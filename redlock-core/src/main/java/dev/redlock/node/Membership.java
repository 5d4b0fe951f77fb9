package dev.redlock.node;

import dev.redlock.node.send.CommandSender;
import dev.redlock.node.send.NodeConnection;
import dev.redlock.transport.TlsChannel;

/**
 * The place of a node in its cluster: what the node asks the cluster, and reports to it. A single master has none.
 *
 * @threading event-loop-confined
 */
public interface Membership {

    /** Learns about slots from the errors of the node. */
    CommandSender.Cluster redirects();

    /** Limits the connects of all servers. */
    ConnectLimit connects();

    /** Limits the log lines about all servers. */
    LogLimit logLimit();

    /** How long the node gives no vote after a promotion. */
    long silenceNs();

    /** The node has completed its handshake, and has this id in the cluster. */
    void onHandshake(String nodeId);

    /** A connection to the node that is opened next, with TLS or null for none. */
    NodeConnection newConnection(NodeConnection.Listener listener, TlsChannel tls);
}
