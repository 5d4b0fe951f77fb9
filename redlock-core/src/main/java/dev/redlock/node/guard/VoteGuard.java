package dev.redlock.node.guard;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.time.DeadlineTimer;
import dev.redlock.time.Durations;
import dev.redlock.time.NanoClock;
import dev.redlock.time.TimerWheel;

/**
 * Decides whether a connected node may vote. It may not
 * <ul>
 * <li>during a quarantine, which {@link RestartGuard} or a jump of the node's clock has started;
 * <li>while its clock cannot be read although clocks are watched;
 * <li>while it is a replica of a cluster, and for a time after its promotion was found.
 * </ul>
 *
 * <p>A quarantine continues while the node is not connected. {@code FirstContact} may end that of the restart guard.
 *
 * @threading event-loop-confined
 */
public final class VoteGuard {

    private final NanoClock clock;
    private final TimerWheel timers;
    private final RestartGuard restartGuard;
    private final long maxTtlMs;
    private final DeadlineTimer restartTimer;
    private final DeadlineTimer jumpTimer;
    private final DeadlineTimer promotionTimer;
    private String replicationId;
    /** When the last promotion was found. */
    private long promotedNs;
    private boolean isReplica;
    /** When the process was started by its uptime, monotonic time. */
    private long startedNs;
    /** The comparison of {@link OwnClockWatch} with the last jump, and the end of the quarantine before that jump. */
    private int comparison;
    private long earlierJumpEndNs;
    /** How long the clock of this machine stood still, while that is why the node does not vote; else 0. */
    private long stoodStillNs;
    /** Why the clock cannot be read; null if it can. */
    private String clockProblem;

    public VoteGuard(NanoClock clock, TimerWheel timers, RestartGuard restartGuard, long maxTtlMs,
            Runnable onQuarantineEnd) {
        this.clock = clock;
        this.timers = timers;
        this.restartGuard = restartGuard;
        this.maxTtlMs = maxTtlMs;
        this.restartTimer = new DeadlineTimer(nowNs -> onQuarantineEnd.run());
        this.jumpTimer = new DeadlineTimer(nowNs -> onQuarantineEnd.run());
        this.promotionTimer = new DeadlineTimer(nowNs -> onQuarantineEnd.run());
    }

    /** The reason why the node may not vote now; null if it may. */
    public Quarantine objection() {
        if (isReplica) {
            return Quarantine.untilEvent("the server is a replica of its cluster");
        }
        long restartNs = leftNs(restartTimer);
        long jumpNs = leftNs(jumpTimer);
        long promotionNs = leftNs(promotionTimer);
        long longestNs = Math.max(promotionNs, Math.max(restartNs, jumpNs));
        if (longestNs <= 0) {
            return clockProblem == null ? null : Quarantine.untilEvent(clockProblem);
        }
        if (longestNs > Math.max(restartNs, jumpNs)) {
            return Quarantine.until(promotionTimer.deadlineNs(),
                    "the server was promoted from a replica, or shows no history, and may lack locks of its master");
        }
        return jumpNs > restartNs
                ? Quarantine.until(jumpTimer.deadlineNs(), jumpReason())
                : Quarantine.ofRestart(restartTimer.deadlineNs(), startedNs);
    }

    private String jumpReason() {
        return stoodStillNs == 0
                ? "clock watch: the node's clock has jumped, keys may have expired early"
                : "clock watch: this machine's clock stood still for " + Durations.textOf(stoodStillNs);
    }

    /** The monotonic time at which the last quarantine ends; the present time if there is none. */
    public long quarantineEndNs(long nowNs) {
        long guardNs = Math.max(leftNs(restartTimer), leftNs(jumpTimer));
        return nowNs + Math.max(0, Math.max(guardNs, leftNs(promotionTimer)));
    }

    /** Whether the restart guard keeps the node from voting. */
    public boolean isRestartQuarantined() {
        return leftNs(restartTimer) > 0;
    }

    /** Whether the server was promoted and may lack locks of its predecessor. */
    public boolean isPromotionQuarantined() {
        return leftNs(promotionTimer) > 0;
    }

    /** Whether the server may lack locks, because of a restart or a promotion. */
    public boolean mayLackLocks() {
        return isRestartQuarantined() || isPromotionQuarantined();
    }

    /** When this client found the last promotion, monotonic time. */
    public long promotedNs() {
        return promotedNs;
    }

    /** Whether the clock could be read the last time, or is not watched. */
    public boolean isClockReadable() {
        return clockProblem == null;
    }

    public RestartGuard restartGuard() {
        return restartGuard;
    }

    /**
     * A handshake is complete.
     *
     * @return true if the process may lack the keys of the one before
     */
    public boolean onHandshake(String runId, long uptimeSeconds) {
        boolean isRestarted = restartGuard.mayLackKeys(runId);
        clockProblem = null;
        startedNs = nowNs() - RestartGuard.millisOf(uptimeSeconds) * NS_PER_MS;
        long guardNs = restartGuard.quarantineMs(runId, uptimeSeconds, nowNs()) * NS_PER_MS;
        if (guardNs > leftNs(restartTimer)) {
            timers.start(restartTimer, nowNs() + guardNs);
        }
        return isRestarted;
    }

    /**
     * A server of a cluster has shown its place. A promotion that the client has not seen before may have lost locks.
     *
     * @param history   identifies the history of its data
     * @param silenceNs how long a promoted server must not vote
     * @return true if this changes whether it may vote
     */
    public boolean onRole(boolean isMaster, boolean wasPromoted, String history, long silenceNs) {
        boolean isNewPromotion = wasPromoted && !history.equals(replicationId);
        boolean isRoleChange = isReplica == isMaster;
        replicationId = history;
        isReplica = !isMaster;
        if (isNewPromotion) {
            onPromotion(silenceNs);
        }
        return isNewPromotion || isRoleChange;
    }

    /** The server was promoted, as the mark of another reign shows. */
    public void onPromotion(long silenceNs) {
        promotedNs = nowNs();
        if (!isPromotionQuarantined() || promotedNs + silenceNs - promotionTimer.deadlineNs() > 0) {
            timers.start(promotionTimer, promotedNs + silenceNs);
        }
    }

    /** A promoted server must not vote for longer than was known when the promotion was found. */
    public void onSilence(long silenceNs) {
        if (isPromotionQuarantined() && promotedNs + silenceNs - promotionTimer.deadlineNs() > 0) {
            timers.start(promotionTimer, promotedNs + silenceNs);
        }
    }

    /** Names the history of the server's data as last seen; null before, or if it has no name. */
    public String replicationId() {
        return replicationId;
    }

    /** The process may vote, whatever its uptime and its history. */
    public void admit(String runId) {
        restartGuard.trust(runId);
        timers.stop(restartTimer);
        timers.stop(promotionTimer);
    }

    /** The process that completed the handshake is alive. */
    public void onReply(long nowNs) {
        restartGuard.onReply(nowNs);
    }

    /** A process was connected at the end of its quarantine. */
    public void onQuarantineServed(String runId) {
        if (!isRestartQuarantined()) {
            restartGuard.trust(runId);
        }
    }

    /** The clock has jumped, in a comparison of {@link OwnClockWatch}. */
    public void onClockJump(int inComparison) {
        if (inComparison != comparison) {
            comparison = inComparison;
            earlierJumpEndNs = nowNs() + leftNs(jumpTimer);
        }
        stoodStillNs = 0;
        timers.start(jumpTimer, nowNs() + maxTtlMs * NS_PER_MS);
    }

    /** It was the clock of this machine: the quarantine of the last jump ends soon, and that of an earlier one not. */
    public void onStoodStill(long endNs, long forNs) {
        boolean isEarlierLonger = earlierJumpEndNs - endNs > 0;
        stoodStillNs = isEarlierLonger ? 0 : forNs;
        timers.start(jumpTimer, isEarlierLonger ? earlierJumpEndNs : endNs);
    }

    public void onClockUnreadable(String reason) {
        clockProblem = reason;
    }

    /** The clock was read; true if it could not be read before. */
    public boolean onClockReadable() {
        boolean isChange = clockProblem != null;
        clockProblem = null;
        return isChange;
    }

    public void stop() {
        timers.stop(restartTimer);
        timers.stop(jumpTimer);
        timers.stop(promotionTimer);
    }

    private long leftNs(DeadlineTimer timer) {
        return timer.isStarted() ? timer.deadlineNs() - nowNs() : 0;
    }

    private long nowNs() {
        return clock.nanoTime();
    }
}
