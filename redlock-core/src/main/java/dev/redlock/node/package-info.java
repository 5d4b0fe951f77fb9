/**
 * The life of one node: its connection, its handshake, the guards that decide whether it votes, and the commands that
 * are sent to all nodes at once. Not exported.
 */
package dev.redlock.node;
