/**
 * Nodes: tests of the classes of this package, and the life of a connection as a client sees it, in virtual time:
 * connecting, handshake, several addresses of one host, delays of reconnects, and the problem that a node reports.
 * Which nodes vote is in {@code dev.redlock.node.guard}, failovers are in {@code dev.redlock.failover}, TLS is in
 * {@code dev.redlock.tls}.
 */
package dev.redlock.node;
