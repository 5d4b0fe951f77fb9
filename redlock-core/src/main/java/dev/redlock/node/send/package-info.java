/**
 * What leaves and what comes back: the commands of locks on their way to all nodes, and the replies on their way to the
 * requests.
 *
 * <ul>
 * <li>A {@link dev.redlock.node.send.FanOut} serves all nodes of an event loop. It writes a command once, and each node
 * gets a slice of the same buffer, in one write per turn. {@code CommandVariants} has everything that is not the same
 * bytes for each node. Releases and extensions of one turn leave as one script call ({@code CommandBatches}).
 * <li>A {@link dev.redlock.node.send.CommandSender} serves one node for as long as the client lives. {@code
 * CommandRetries} sends a command again that the server has not executed, {@link
 * dev.redlock.node.send.ReleaseRedelivery} a release that found no connection.
 * <li>A {@link dev.redlock.node.send.NodeConnection} records each request in its {@code RequestRing}, and {@code
 * ReplyReader} assigns the replies in that order. So each request gets exactly one outcome.
 * </ul>
 *
 * <p>Two ways lead in: the engine sends a {@link dev.redlock.node.send.LockRequest}, and {@code dev.redlock.node} gives
 * a sender its connections and opens its gate. The ways out are interfaces of this package: the outcomes of a request,
 * the listeners of a sender and of a connection, and {@link dev.redlock.node.send.CommandSender.Cluster}, which names
 * the server that a redirected command is for.
 *
 * <p>The cut is here because bytes have no history. The package above decides why a node is connected and whether it
 * may vote; this one only sees the gate. It does know the slots of a cluster, because they decide how a batch is split
 * and which connection its bytes are copied to ({@code SlotRoutes}). The owner of a slot is decided above, too.
 *
 * <p>Not exported: public types are for the other packages of the module.
 */
package dev.redlock.node.send;
