/**
 * Real servers of consensus services, for comparison: {@link dev.redlock.loadtest.consensus.ConsensusServers} starts a
 * group of etcd or ZooKeeper servers on this machine.
 */
package dev.redlock.loadtest.consensus;
