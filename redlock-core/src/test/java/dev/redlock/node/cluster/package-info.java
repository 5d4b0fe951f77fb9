/** Tests of a cluster's own classes. Its life in virtual time is in {@code dev.redlock.failover}. */
package dev.redlock.node.cluster;
