/**
 * Addresses, and the sockets and event loops of each kernel interface. Not exported.
 */
package dev.redlock.transport;
