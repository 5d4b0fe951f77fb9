package dev.redlock.node;

/**
 * A server's place in its cluster, as its handshake or a later check shows it.
 *
 * @param nodeId      its id in the cluster; null in a later check
 * @param replication its role and its history
 * @threading immutable
 */
record MemberIdentity(String nodeId, ReplicationInfo replication) {
}
