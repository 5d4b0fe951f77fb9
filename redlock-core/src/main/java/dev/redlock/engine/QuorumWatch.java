package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.node.NodeOptions;
import dev.redlock.time.DeadlineTimer;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Logs when too few nodes vote for a quorum, and when enough vote again: once for each outage of the client.
 * <ul>
 * <li>At the start: when each node has replied or failed once, or after the timeouts of a connect and a handshake if
 * too few nodes are connected by then.
 * <li>Later: after a second, so that a reconnect logs nothing.
 * <li>Within a minute after an outage: after ten seconds, so that unstable nodes do not fill the log.
 * </ul>
 *
 * <p>{@link DegradedWatch} does the same for the loss of single nodes.
 *
 * @threading event-loop-confined, except {@link #nodes}
 */
final class QuorumWatch {

    static final long LOSS_NS = 1_000 * NS_PER_MS;
    static final long RELAPSE_NS = 60_000 * NS_PER_MS;
    static final long RELAPSE_LOSS_NS = 10_000 * NS_PER_MS;

    final VotingNodes nodes;
    private final LoopServices services;
    private final DegradedWatch degraded;
    private final DeadlineTimer timer = new DeadlineTimer(this::onTimer);
    /** Started until the nodes had their time for a first reply. */
    private final DeadlineTimer firstContact = new DeadlineTimer(this::onFirstContactTimer);
    /** Event loops of the client that have found a loss, which the first of them logs. */
    private AtomicInteger loopsWithLoss = new AtomicInteger();
    private boolean isAvailable;
    private boolean isReported;
    private boolean hasRecovered;
    private long lostNs;
    private long recoveredNs;

    QuorumWatch(LoopServices services) {
        this.services = services;
        this.nodes = new VotingNodes(services);
        this.degraded = new DegradedWatch(nodes);
    }

    /** The event loops of one client log a loss once. Before the start. */
    void shareWith(QuorumWatch other) {
        loopsWithLoss = other.loopsWithLoss;
        degraded.shareWith(other.degraded);
    }

    /** The client starts to connect. */
    void start() {
        lostNs = services.clock.nanoTime();
        NodeOptions.Timeouts timeouts = services.config.nodes().options().timeouts();
        services.timers.start(firstContact,
                lostNs + (timeouts.connectTimeoutMs() + timeouts.handshakeTimeoutMs()) * NS_PER_MS);
    }

    /** Each node has replied or failed once. */
    void onSettled() {
        if (firstContact.isStarted()) {
            services.timers.stop(firstContact);
            onFirstContactOver(services.clock.nanoTime());
        }
    }

    /** A busy machine delays the first replies beyond any fixed time, and a silent node ends its handshake itself. */
    private void onFirstContactTimer(long nowNs) {
        if (!isAvailable && nodes.mayBeQuorumSoon()) {
            services.timers.start(firstContact,
                    nowNs + services.config.nodes().options().timeouts().handshakeTimeoutMs() * NS_PER_MS);
        } else {
            onFirstContactOver(nowNs);
        }
    }

    private void onFirstContactOver(long nowNs) {
        degraded.start();
        if (!isAvailable && !timer.isStarted()) {
            onTimer(nowNs);
        }
    }

    /** A node may vote now, or may not vote any more. A client that closes logs neither. */
    void onChange() {
        if (services.isClosing) {
            return;
        }
        boolean wasAvailable = isAvailable;
        isAvailable = nodes.areQuorum();
        if (wasAvailable && !isAvailable) {
            lostNs = services.clock.nanoTime();
            boolean isRelapse = hasRecovered && lostNs - recoveredNs < RELAPSE_NS;
            services.timers.start(timer, lostNs + (isRelapse ? RELAPSE_LOSS_NS : LOSS_NS));
        } else if (!wasAvailable && isAvailable) {
            services.timers.stop(timer);
            reportRecovery();
        }
        degraded.onChange();
    }

    private void reportRecovery() {
        if (isReported) {
            isReported = false;
            hasRecovered = true;
            recoveredNs = services.clock.nanoTime();
            if (loopsWithLoss.decrementAndGet() == 0) {
                nodes.log(System.Logger.Level.WARNING,
                        "a quorum votes again, after " + (recoveredNs - lostNs) / NS_PER_MS + " ms");
            }
        }
    }

    private void onTimer(long nowNs) {
        if (!isReported && !services.isClosing) {
            isReported = true;
            if (loopsWithLoss.getAndIncrement() == 0) {
                nodes.log(System.Logger.Level.WARNING, "no quorum votes for " + (nowNs - lostNs) / NS_PER_MS
                        + " ms, so no lock can be acquired; votes needed: " + services.majority
                        + nodes.describe(services.all));
            }
        }
    }
}
