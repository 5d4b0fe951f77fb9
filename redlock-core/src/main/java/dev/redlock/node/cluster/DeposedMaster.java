package dev.redlock.node.cluster;

/**
 * How long the master of a cluster serves its clients after the rest of the cluster cannot reach it any more. Its
 * replica may have been promoted meanwhile, by hand ({@code CLUSTER FAILOVER FORCE} or {@code TAKEOVER}) at once.
 *
 * <p>The bound follows from {@code clusterCron} and {@code clusterUpdateState} of {@code cluster_legacy.c}
 * ({@code cluster.c} before Redis 7.2), which Redis and Valkey share:
 * <ul>
 * <li>A master serves until it regards so many masters as failing that the others are no majority.
 * <li>It pings a peer when its last pong is older than half the node timeout. The gossip of other masters may have set
 * the time of that pong up to 500 ms ahead.
 * <li>The peer is failing when the ping has had no reply for the whole node timeout. A new connection does not change
 * the time of the ping.
 * <li>Both are checked by a cron job that runs every 100 ms, and once a second with {@code hz 1}.
 * </ul>
 *
 * <p>The bound does not hold for a master that the majority can reach, that is the only one of its cluster, or whose
 * hidden setting {@code cluster-ping-interval} is longer than half the node timeout.
 *
 * @threading immutable
 */
public final class DeposedMaster {

    private static final long PONG_AHEAD_MS_MAX = 500;
    private static final long CRON_MS_MAX = 1_000;

    private DeposedMaster() {
    }

    /**
     * The longest time that it serves.
     *
     * @param nodeTimeoutMs its {@code cluster-node-timeout}
     */
    public static long servedMsMax(long nodeTimeoutMs) {
        return PONG_AHEAD_MS_MAX + nodeTimeoutMs / 2 + CRON_MS_MAX + nodeTimeoutMs + CRON_MS_MAX;
    }
}
