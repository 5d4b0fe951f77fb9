/**
 * One node: connections, handshake, and commands to all nodes at once. Start to read with {@code Node}, then
 * {@code FanOut}, {@code CommandSender} and {@code NodeConnection}. Only clusters have {@code ClusterVoter},
 * {@code ClusterRoutes} and {@code MemberConnection}. Not exported.
 */
package dev.redlock.node;
