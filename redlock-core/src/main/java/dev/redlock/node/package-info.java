/**
 * One node: the life of its connection, and whether it may vote. Start to read with {@link dev.redlock.node.Node},
 * which decides the state. Its parts connect ({@code NodeConnector}, {@code Sentinel*}), log in, identify the server
 * ({@code Handshake}), meet it for the first time ({@code FirstContact}) and watch it ({@code NodeMonitor}, {@code
 * NodeClock}). They report to it through {@code NodeSignals}. {@link dev.redlock.node.NodeView} is what operators see.
 *
 * <p>{@code dev.redlock.node.send} carries the commands and knows nothing of this package, {@code
 * dev.redlock.node.guard} has the rules of voting and knows no connection. {@code dev.redlock.node.cluster} is above:
 * it consists of nodes, which see it as a {@link dev.redlock.node.Membership}. Not exported.
 */
package dev.redlock.node;
