/**
 * Waiting for a lock that another caller or client holds: the wait budget, pushes of the nodes that wake waiters,
 * timers for lost pushes, the queue that orders clients, local handoffs and the fairness between clients. A test that
 * fails here shows a waiter that sleeps although the lock is free, or one that never gets its turn. Waiters for
 * permits and for sets are in {@code dev.redlock.semaphore} and {@code dev.redlock.set}. The base is {@code
 * dev.redlock.testing.VirtualTest}.
 */
package dev.redlock.waiting;
