/**
 * Faults that no protocol allows: hostile servers, callbacks that re-enter at random, exceptions in the middle of a
 * request, and a machine without memory, threads or files. After each fault every call has one outcome, and the
 * client works again. {@code HostileServersTest} has one hostile server over real sockets; the others use {@code
 * dev.redlock.testing.VirtualTest}.
 */
package dev.redlock.hostile;
