package dev.redlock.node.cluster;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.node.NodeOptions;
import dev.redlock.node.guard.RestartGuard;
import dev.redlock.node.send.CommandSender;
import dev.redlock.resp.RespValue;
import java.lang.System.Logger.Level;
import java.util.List;

/**
 * The {@code cluster-node-timeout} of a cluster: the longest of its servers, because each has its own setting, and that
 * of a deposed master counts.
 *
 * @threading event-loop-confined
 */
final class ClusterNodeTimeout {

    private static final long NODE_TIMEOUT_MS_MAX = 86_400_000;
    /** The least value of the option. The client asks for the map more than once in this time. */
    private static final long NODE_TIMEOUT_MS_MIN = 100;

    private final NodeOptions options;
    private final List<ClusterMember> members;
    private final Runnable onLonger;
    private long timeoutMs;

    /**
     * The timeout of servers, which are borrowed and may change.
     *
     * @param onLonger runs when the timeout is longer than before, in {@link #update}
     */
    ClusterNodeTimeout(NodeOptions options, List<ClusterMember> members, Runnable onLonger) {
        this.options = options;
        this.members = members;
        this.onLonger = onLonger;
    }

    long timeoutMs() {
        return timeoutMs;
    }

    void ask(ClusterMember member) {
        CommandSender sender = member.node.sender();
        if (member.node.isConnected()) {
            sender.sendValue(sender.command("CONFIG", "GET", "cluster-node-timeout"),
                    reply -> onNodeTimeout(member, reply));
        }
    }

    /** Without the permission for CONFIG the configured time counts. */
    private void onNodeTimeout(ClusterMember member, RespValue reply) {
        if (reply == null || reply.isError() || reply.isNull()) {
            return;
        }
        RespValue value = reply.find("cluster-node-timeout");
        if (value == null && reply.elements().size() == 2) {
            value = reply.elements().get(1);
        }
        String text = value == null || value.isNull() ? "" : value.asText();
        if (!text.matches("[0-9]{1,18}")) {
            return;
        }
        long shownMs = Math.min(Long.parseLong(text), NODE_TIMEOUT_MS_MAX);
        if (shownMs < NODE_TIMEOUT_MS_MIN) {
            member.node
                    .view()
                    .log(Level.WARNING, "cluster-node-timeout is " + shownMs + " ms, with which no"
                            + " cluster works: the client uses RedlockContext.clusterNodeTimeout;"
                            + " set it to 100 ms or more");
        } else if (shownMs != member.nodeTimeoutMs) {
            member.nodeTimeoutMs = shownMs;
            update();
        }
    }

    void update() {
        long before = timeoutMs;
        timeoutMs = members.stream()
                .mapToLong(member -> member.nodeTimeoutMs)
                .filter(known -> known >= 0)
                .max()
                .orElse(options.clusters().nodeTimeoutMs());
        if (timeoutMs > before) {
            onLonger.run();
        }
    }

    /** How long a slot with a new owner, and a promoted server, give no vote. */
    long silenceNs() {
        // If the master is paused, a request is in its socket until the client closes the connection.
        long servedMs = DeposedMaster.servedMsMax(timeoutMs) + options.timeouts().unansweredTimeoutMs()
                + options.guards().clockSampleMs();
        return RestartGuard.neededUptimeMs(options.guards().maxTtlMs() + servedMs, options.guards().drift())
                * NS_PER_MS;
    }
}
