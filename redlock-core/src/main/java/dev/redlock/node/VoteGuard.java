package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.time.DeadlineTimer;

/**
 * Decides whether a connected node may vote. It may not
 * <ul>
 * <li>during a quarantine, which {@link RestartGuard} or a jump of the node's clock has started;
 * <li>while its clock cannot be read although clocks are watched.
 * </ul>
 *
 * <p>A quarantine continues while the node is not connected.
 *
 * @threading event-loop-confined
 */
final class VoteGuard {

    private final NodeContext context;
    private final NodeOptions options;
    private final RestartGuard restartGuard;
    private final DeadlineTimer quarantineTimer;
    private String quarantineReason;
    /** Why the clock cannot be read; null if it can. */
    private String clockProblem;

    VoteGuard(NodeContext context, Runnable onQuarantineEnd) {
        this.context = context;
        this.options = context.options();
        this.restartGuard = new RestartGuard(options.guardMode(), options.maxTtlMs(), options.drift());
        this.quarantineTimer = new DeadlineTimer(nowNs -> onQuarantineEnd.run());
    }

    /** The reason why the node may not vote now; null if it may. */
    String objection() {
        long leftNs = quarantineLeftNs();
        return leftNs > 0
                ? "in quarantine for " + (leftNs / NS_PER_MS + 1) + " ms: " + quarantineReason
                : clockProblem;
    }

    /** A handshake is complete. */
    void onHandshake(String runId, long uptimeSeconds) {
        clockProblem = null;
        long guardNs = restartGuard.quarantineMs(runId, uptimeSeconds, nowNs()) * NS_PER_MS;
        if (guardNs > quarantineLeftNs()) {
            startQuarantine(guardNs, "restart guard: the server has been up for " + uptimeSeconds
                    + " s; it votes when all locks that a restart may have lost have expired");
        }
    }

    /** The process that completed the handshake is alive. */
    void onReply(long nowNs) {
        restartGuard.onReply(nowNs);
    }

    /** A process was connected at the end of its quarantine. */
    void onQuarantineServed(String runId) {
        restartGuard.onQuarantineServed(runId);
    }

    void onClockJump() {
        startQuarantine(Math.max(options.maxTtlMs() * NS_PER_MS, quarantineLeftNs()),
                "clock watch: the node's clock has jumped, keys may have expired early");
    }

    void onClockUnreadable(String reason) {
        clockProblem = reason;
    }

    /** The clock was read; true if it could not be read before. */
    boolean onClockReadable() {
        boolean isChange = clockProblem != null;
        clockProblem = null;
        return isChange;
    }

    void stop() {
        context.timers().stop(quarantineTimer);
    }

    private void startQuarantine(long durationNs, String reason) {
        context.timers().start(quarantineTimer, nowNs() + durationNs);
        quarantineReason = reason;
    }

    private long quarantineLeftNs() {
        return quarantineTimer.isStarted() ? quarantineTimer.deadlineNs() - nowNs() : 0;
    }

    private long nowNs() {
        return context.clock().nanoTime();
    }
}
