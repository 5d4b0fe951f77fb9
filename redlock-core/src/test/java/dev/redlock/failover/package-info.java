/**
 * Servers that change their roles while clients hold locks: promoted replicas, Sentinels, clusters, restarts one
 * after the other, and the change from one list of nodes to the next. The tests show that no failover gives a lock to
 * two holders, and that leases survive where the rules allow it. The base is {@code dev.redlock.testing.VirtualTest};
 * faults of Sentinels at random are in {@code dev.redlock.sim}.
 */
package dev.redlock.failover;
