/**
 * Node addresses, and the sockets and event loops of each Netty transport. Not exported.
 */
package dev.redlock.transport;
