package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.api.NodeState;
import dev.redlock.node.Log;
import dev.redlock.node.NodeView;
import dev.redlock.node.Voter;
import dev.redlock.time.DeadlineTimer;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Logs when too few nodes vote for a quorum, and when enough vote again: once for each outage of the client.
 * <ul>
 * <li>At the start: when each node has replied or failed once, at the latest after the connect timeout.
 * <li>Later: after a second, so that a reconnect logs nothing.
 * <li>Within a minute after an outage: after ten seconds, so that unstable nodes do not fill the log.
 * </ul>
 *
 * @threading event-loop-confined, except {@link #isAvailable}
 */
final class QuorumWatch {

    static final long LOSS_NS = 1_000 * NS_PER_MS;
    static final long RELAPSE_NS = 60_000 * NS_PER_MS;
    static final long RELAPSE_LOSS_NS = 10_000 * NS_PER_MS;
    private static final int NODES_MAX = 9;

    private final LoopServices services;
    private final DeadlineTimer timer = new DeadlineTimer(this::onTimer);
    /** Event loops of the client that have found a loss, which the first of them logs. */
    private AtomicInteger loopsWithLoss = new AtomicInteger();
    private boolean isAvailable;
    private boolean isReported;
    private boolean hasRecovered;
    private long lostNs;
    private long recoveredNs;

    QuorumWatch(LoopServices services) {
        this.services = services;
    }

    /** The event loops of one client log a loss once. Before the start. */
    void shareWith(QuorumWatch other) {
        loopsWithLoss = other.loopsWithLoss;
    }

    /** Whether a quorum of the nodes votes now. Any thread. */
    boolean isAvailable() {
        long mask = 0;
        for (int i = 0; i < services.voters.length; i++) {
            mask |= services.voters[i].isVoting() ? 1L << i : 0;
        }
        return services.majority.isReachedBy(mask);
    }

    /** The client starts to connect. */
    void start() {
        lostNs = services.clock.nanoTime();
        services.timers.start(timer,
                lostNs + services.config.nodes().options().timeouts().connectTimeoutMs() * NS_PER_MS);
    }

    /** Each node has replied or failed once. */
    void onSettled() {
        if (!isAvailable) {
            onTimer(services.clock.nanoTime());
        }
    }

    /** A node may vote now, or may not vote any more. */
    void onChange() {
        boolean wasAvailable = isAvailable;
        isAvailable = isAvailable();
        if (wasAvailable && !isAvailable) {
            lostNs = services.clock.nanoTime();
            boolean isRelapse = hasRecovered && lostNs - recoveredNs < RELAPSE_NS;
            services.timers.start(timer, lostNs + (isRelapse ? RELAPSE_LOSS_NS : LOSS_NS));
        } else if (!wasAvailable && isAvailable) {
            services.timers.stop(timer);
            reportRecovery();
        }
    }

    private void reportRecovery() {
        if (isReported) {
            isReported = false;
            hasRecovered = true;
            recoveredNs = services.clock.nanoTime();
            if (loopsWithLoss.decrementAndGet() == 0) {
                log("a quorum votes again, after " + (recoveredNs - lostNs) / NS_PER_MS + " ms");
            }
        }
    }

    private void onTimer(long nowNs) {
        services.timers.stop(timer);
        if (!isReported && !services.isClosing) {
            isReported = true;
            if (loopsWithLoss.getAndIncrement() == 0) {
                log("no quorum votes for " + (nowNs - lostNs) / NS_PER_MS + " ms, so no lock can be acquired;"
                        + " votes needed: " + services.majority + silentNodes());
            }
        }
    }

    private String silentNodes() {
        StringBuilder text = new StringBuilder();
        int count = 0;
        boolean isQuarantined = false;
        for (Voter voter : services.voters) {
            for (NodeView view : voter.views()) {
                isQuarantined |= view.state() == NodeState.QUARANTINED && view.problem() != null;
                if (!view.isVoting() && count++ < NODES_MAX) {
                    text.append("; ").append(view);
                }
            }
        }
        text.append(count > NODES_MAX ? "; and " + (count - NODES_MAX) + " more" : "");
        return isQuarantined
                ? text + "; a node in quarantine may have lost locks: wait, or see RedlockContext.restartGuard, which"
                        + " is " + services.config.nodes().options().guards().mode()
                : text.toString();
    }

    /** The nodes are changing their states, and a log handler may re-enter the client. */
    private void log(String line) {
        Log.later(services::executeUnlessEnding, System.Logger.Level.WARNING, "{0}", line);
    }
}
