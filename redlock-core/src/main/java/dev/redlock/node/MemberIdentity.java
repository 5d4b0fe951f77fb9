package dev.redlock.node;

/**
 * A server's place in its cluster, as its handshake or a later check shows it.
 *
 * @param nodeId        its id in the cluster; null in a later check
 * @param isMaster      whether it is a master now
 * @param replicationId identifies the history of its data; a promotion changes it
 * @param wasPromoted   whether it was a replica before, so that it may lack keys of its master
 * @threading immutable
 */
record MemberIdentity(String nodeId, boolean isMaster, String replicationId, boolean wasPromoted) {

    /** The second replication id of a server that was never a replica since it started. */
    private static final String NO_REPLICATION_ID = "0".repeat(40);

    /** Reads {@code INFO replication}; null if it lacks a field. */
    static MemberIdentity of(String nodeId, String info) {
        String role = ServerReply.field(info, "role");
        String id = ServerReply.field(info, "master_replid");
        String before = ServerReply.field(info, "master_replid2");
        return role == null || id == null || before == null
                ? null
                : new MemberIdentity(nodeId, role.equals("master"), id, !before.equals(NO_REPLICATION_ID));
    }
}
