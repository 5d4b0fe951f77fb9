package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.node.guard.RestartGuard;
import dev.redlock.node.send.CommandSender;
import dev.redlock.resp.RespValue;
import dev.redlock.time.NanoClock;

/**
 * How long a primary serves its clients after one of its replicas was promoted without its knowledge, as in a partition
 * of the network. The promoted replica must not vote before that, plus the longest ttl.
 *
 * <p>Only {@code min-replicas-to-write} bounds it, if the primary has no more replicas than that. The bound follows
 * from {@code refreshGoodSlavesCount} of {@code replication.c} and {@code serverCron} of {@code server.c}, which Redis
 * and Valkey share:
 * <ul>
 * <li>A replica counts while its last acknowledgement is at most {@code min-replicas-max-lag} seconds old, so until a
 * second more at most: both times are whole seconds.
 * <li>The server's clock for that is up to a second old with {@code hz 1}.
 * <li>The replicas are counted once a second, and when one of them disconnects.
 * </ul>
 * Scripts are refused too since Redis 7.0; before, a script may write on.
 *
 * @threading event-loop-confined
 */
public final class DeposedPrimary {

    private static final long ROUNDING_MS = 1_000;
    private static final long CLOCK_AGE_MS_MAX = 1_000;
    private static final long COUNT_PERIOD_MS = 1_000;
    private static final long LAG_SECONDS_MAX = 86_400;
    private static final String COMMAND = "min-replicas-*";
    /** Somebody may change the settings of a server that runs. */
    private static final long ASK_PERIOD_NS = 10_000 * NS_PER_MS;

    private final NodeOptions options;
    private final NanoClock clock;
    private final CommandSender sender;
    private final NodeView view;
    private final Runnable onBound;
    private ReplicationInfo shown;
    private long askNs;
    /** The server's settings; negative if none has reported them. */
    private long maxLagSeconds = -1;
    private long minReplicas = -1;
    /** The connected server has reported them. */
    private boolean isReported;
    /** For how long the servers before the connected one may serve, milliseconds; 0 if none was limited. */
    private long formerMs;

    /** Calls {@code onBound} when the server has reported another bound. */
    DeposedPrimary(NodeContext context, CommandSender sender, NodeView view, Runnable onBound) {
        this.options = context.options();
        this.clock = context.clock();
        this.askNs = clock.nanoTime();
        this.sender = sender;
        this.view = view;
        this.onBound = onBound;
    }

    /** The longest time with a {@code min-replicas-max-lag}, milliseconds. */
    public static long servedMsMax(long maxLagMs) {
        return maxLagMs + ROUNDING_MS + CLOCK_AGE_MS_MAX + COUNT_PERIOD_MS;
    }

    /** How long a promoted server gives no vote. */
    long silenceNs() {
        return RestartGuard.neededUptimeMs(options.guards().maxTtlMs() + serviceMs(), options.guards().drift())
                * NS_PER_MS;
    }

    /** For how long a client that has not noticed the promotion may get locks from the deposed primary. */
    long serviceNs() {
        return (serviceMs() + options.guards().drift().ofMs(serviceMs())) * NS_PER_MS;
    }

    private long serviceMs() {
        // If the primary is paused, a request is in its socket until the client closes the connection.
        return servedMs() + options.timeouts().unansweredTimeoutMs() + options.guards().clockSampleMs();
    }

    /** Whether no other server may serve as the primary, if this one has just started. */
    boolean isNone() {
        return shown != null && shown.isHistoryShown() && !shown.wasPromoted() && !shown.isWriteLimited();
    }

    /**
     * The deposed primary has its own settings, which the promoted server need not have. So what is known of the former
     * one counts, and the longer time of the two as soon as both are known.
     */
    private long servedMs() {
        long ownMs = ownMs();
        return isReported || ownMs == 0 || formerMs == 0 ? Math.max(ownMs, formerMs) : formerMs;
    }

    /** Without the permission for CONFIG the option counts. */
    private long ownMs() {
        if (shown == null || !shown.isWriteLimited()) {
            return 0;
        }
        return servedMsMax(isReported ? maxLagSeconds * 1_000 : options.guards().replicasMaxLagMs());
    }

    /**
     * A handshake is complete, maybe with another server, whose settings are not known yet.
     *
     * @param isSilent whether the last promotion still keeps the node from voting: its predecessor counts on
     */
    void onConnected(boolean isSilent) {
        long ownMs = ownMs();
        // Without a report, the option may be shorter than the time that an earlier connection has read.
        boolean isOwnGuessed = !isReported && ownMs > 0;
        formerMs = isSilent || isOwnGuessed ? Math.max(formerMs, ownMs) : ownMs;
        isReported = false;
        askNs = clock.nanoTime();
    }

    /** The server has shown its replicas, in the handshake or later. */
    void onInfo(ReplicationInfo info) {
        long nowNs = clock.nanoTime();
        boolean isChange = shown == null || shown.isWriteLimited() != info.isWriteLimited();
        shown = info;
        if (info.isWriteLimited() && (isChange || askNs - nowNs <= 0)
                && sender.sendValue(sender.command("CONFIG", "GET", COMMAND), this::onSettings)) {
            askNs = nowNs + ASK_PERIOD_NS;
        }
        report();
    }

    private void onSettings(RespValue reply) {
        if (reply == null || reply.isError() || reply.isNull()) {
            if (reply != null && ServerReply.failureOf(reply).isTemporary()) {
                askNs = clock.nanoTime();
            }
            return;
        }
        long lag = numberOf(reply, "min-replicas-max-lag");
        minReplicas = numberOf(reply, "min-replicas-to-write");
        if (lag >= 0 && (!isReported || lag != maxLagSeconds)) {
            maxLagSeconds = Math.min(lag, LAG_SECONDS_MAX);
            isReported = true;
            onBound.run();
        }
        report();
    }

    private static long numberOf(RespValue reply, String name) {
        RespValue value = reply.find(name);
        for (int i = 0; value == null && i + 1 < reply.elements().size(); i += 2) {
            // RESP2 has no maps.
            if (reply.elements().get(i).asText().equals(name)) {
                value = reply.elements().get(i + 1);
            }
        }
        String text = value == null || value.isNull() ? "" : value.asText();
        return text.matches("[0-9]{1,9}") ? Long.parseLong(text) : -1;
    }

    private void report() {
        view.setFailoverProblem(problem());
    }

    /** Why the time is not bounded, with the remedy; null if it is, or nobody can be promoted. */
    private String problem() {
        if (!shown.wasPromoted() && shown.replicaCount() == 0) {
            return null;
        }
        String cause = "after a failover, the former primary may grant held locks to clients that cannot see"
                + " the new one";
        String remedy = " to the number of its replicas and min-replicas-max-lag to 10 or less on all servers";
        if (!shown.isWriteLimited()) {
            return cause + ", and nothing bounds that time: min-replicas-to-write is 0; set min-replicas-to-write"
                    + remedy;
        }
        if (minReplicas >= 0 && minReplicas < shown.replicaCount()) {
            return cause + ", and nothing bounds that time: min-replicas-to-write is " + minReplicas + " with "
                    + shown.replicaCount() + " replicas; set min-replicas-to-write" + remedy;
        }
        return null;
    }
}
