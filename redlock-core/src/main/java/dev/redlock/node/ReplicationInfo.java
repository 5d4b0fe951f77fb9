package dev.redlock.node;

import java.util.regex.Pattern;

/**
 * What {@code INFO replication} shows of a server.
 *
 * @param role           {@code master} or {@code slave}; null if it is not shown
 * @param id             {@code master_replid}, which identifies the history of its data; a promotion changes it; null
 *                       if the server has none
 * @param wasPromoted    whether it was a replica before, so that it may lack keys of its master
 * @param isHistoryShown whether it would show that; a server with one constant id does not
 * @param replicaCount   connected replicas
 * @param isWriteLimited whether it refuses writes without replicas: {@code min-replicas-to-write} is set
 * @threading immutable
 */
public record ReplicationInfo(String role, String id, boolean wasPromoted, boolean isHistoryShown, int replicaCount,
        boolean isWriteLimited) {

    /** The second replication id of a server that was never a replica since it started. */
    private static final String NO_ID = "0".repeat(40);
    private static final Pattern COUNT = Pattern.compile("[0-9]{1,9}");

    /** Reads a reply. */
    public static ReplicationInfo of(String info) {
        String id = ServerReply.field(info, "master_replid");
        String before = ServerReply.field(info, "master_replid2");
        boolean isHistoryShown = id != null && before != null && !before.equals(id);
        return new ReplicationInfo(ServerReply.field(info, "role"), id,
                isHistoryShown && !before.equals(NO_ID), isHistoryShown,
                countOf(ServerReply.field(info, "connected_slaves")),
                ServerReply.field(info, "min_slaves_good_slaves") != null);
    }

    /** Whether it is a master now. */
    boolean isMaster() {
        return "master".equals(role);
    }

    private static int countOf(String text) {
        return text != null && COUNT.matcher(text).matches() ? Integer.parseInt(text) : 0;
    }

    /** Names the time of one process as the master of one history. */
    String reignOf(String runId) {
        return id == null ? runId : runId + ":" + id;
    }
}
