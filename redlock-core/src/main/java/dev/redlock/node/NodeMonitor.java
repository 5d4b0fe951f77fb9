package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.node.send.CommandSender;
import dev.redlock.node.send.NodeConnection;
import dev.redlock.resp.RespValue;
import dev.redlock.time.DeadlineTimer;

/**
 * Watches a connection after its handshake: it finds requests without a reply, lost rights and the end of
 * errors, samples the node's clock, and reads the role of a single master, which may become a replica.
 *
 * @threading event-loop-confined
 */
final class NodeMonitor {

    private static final long PERIOD_NS = 250 * NS_PER_MS;
    /** With the clock watch off, {@code TIME} still measures the round trip and finds dead connections. */
    private static final long UNWATCHED_SAMPLE_MS = 1_000;
    private static final long SAMPLE_RETRY_NS = 20 * NS_PER_MS;
    private static final long ROLE_PERIOD_NS = 1_000 * NS_PER_MS;

    private final NodeContext context;
    private final CommandSender sender;
    private final NodeSignals listener;
    private final RightsWatch rights;
    private final WriteWatch writes;
    private final long unansweredTimeoutNs;
    private final long samplePeriodNs;
    private final DeadlineTimer timer = new DeadlineTimer(this::onTimer);
    /** Null while there is nothing to watch. */
    private NodeConnection connection;
    private boolean isSampleSent;
    private long sampleDueNs;
    private long sampleSentNs;
    private boolean isRoleAsked;
    private long roleDueNs;

    NodeMonitor(NodeContext context, CommandSender sender, NodeSignals listener) {
        int clockSampleMs = context.options().guards().clockSampleMs();
        this.context = context;
        this.sender = sender;
        this.listener = listener;
        this.rights = new RightsWatch(sender, context, listener::onRejected);
        this.writes = new WriteWatch(sender, context);
        this.unansweredTimeoutNs = context.options().timeouts().unansweredTimeoutMs() * NS_PER_MS;
        this.samplePeriodNs = (clockSampleMs > 0 ? clockSampleMs : UNWATCHED_SAMPLE_MS) * NS_PER_MS;
    }

    void start(NodeConnection watched) {
        long nowNs = nowNs();
        connection = watched;
        sampleDueNs = nowNs;
        sampleSentNs = nowNs - SAMPLE_RETRY_NS;
        isSampleSent = false;
        // The handshake has read it.
        roleDueNs = nowNs + ROLE_PERIOD_NS;
        isRoleAsked = false;
        watched.isUnanswered(nowNs, 0);
        context.timers().start(timer, nowNs);
    }

    void stop() {
        connection = null;
        context.timers().stop(timer);
    }

    /** Sends the next sample now, but not at a high rate: two clocks that jump all the time may ask for it. */
    void sampleSoon() {
        if (connection != null) {
            long nowNs = nowNs();
            long spacedNs = sampleSentNs + SAMPLE_RETRY_NS;
            sampleDueNs = spacedNs - nowNs > 0 ? spacedNs : nowNs;
            context.timers().start(timer, sampleDueNs);
        }
    }

    private long nowNs() {
        return context.clock().nanoTime();
    }

    private void onTimer(long nowNs) {
        // Started first: the next call must come even if this one throws.
        context.timers().start(timer, nowNs + PERIOD_NS);
        if (connection.isUnanswered(nowNs, unansweredTimeoutNs)) {
            listener.onUnanswered();
            return;
        }
        if (sampleDueNs - nowNs <= 0 && !isSampleSent) {
            sampleClock(nowNs);
        }
        if (roleDueNs - nowNs <= 0 && !isRoleAsked && !sender.isOfCluster()) {
            readRole(nowNs);
        }
        startTimer(nowNs);
        sender.onTick(nowNs);
        rights.onTick(nowNs);
        writes.onTick(nowNs);
        listener.onTick(nowNs);
    }

    /** A sample is sent when it is due, not in the next period: validity allows for the time between two samples. */
    private void startTimer(long nowNs) {
        long periodEndNs = nowNs + PERIOD_NS;
        boolean isSampleNext = !isSampleSent && sampleDueNs - periodEndNs < 0;
        if (isSampleNext && sampleDueNs - nowNs <= 0) {
            // There was no memory for the sample: retry soon, but not in a busy loop.
            context.timers().start(timer, nowNs + SAMPLE_RETRY_NS);
        } else {
            context.timers().start(timer, isSampleNext ? sampleDueNs : periodEndNs);
        }
    }

    /** The sample remains due if there is no memory for it. */
    private void sampleClock(long nowNs) {
        sampleSentNs = nowNs();
        if (sender.sendValue(sender.timeCommand(), this::onTime)) {
            isSampleSent = true;
            sampleDueNs = nowNs + samplePeriodNs;
        }
    }

    /** A cluster reads the role and the replication id of its servers itself. */
    private void readRole(long nowNs) {
        NodeConnection asked = connection;
        if (sender.sendValue(sender.command("INFO", "replication"), reply -> onReplication(reply, asked))) {
            isRoleAsked = true;
            roleDueNs = nowNs + ROLE_PERIOD_NS;
        }
    }

    /** An error proves nothing: a server that answers commands of locks with it is found by these. */
    private void onReplication(RespValue reply, NodeConnection asked) {
        if (reply == null || connection != asked) {
            return;
        }
        isRoleAsked = false;
        ReplicationInfo shown = reply.isError() ? null : ReplicationInfo.of(reply.asText());
        if (shown != null && shown.role() != null) {
            listener.onRole(shown);
        }
    }

    private void onTime(RespValue reply) {
        if (reply == null || connection == null) {
            // The connection was lost; the next one starts with a sample.
            return;
        }
        long receivedNs = nowNs();
        isSampleSent = false;
        startTimer(receivedNs);
        listener.onTime(sampleSentNs, receivedNs, reply);
    }
}
