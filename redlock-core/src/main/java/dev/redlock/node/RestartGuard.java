package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.RestartGuardMode;
import dev.redlock.quorum.Drift;

/**
 * Keeps a node that may have lost its keys in a restart from voting until every lock it may have granted before has
 * expired. A process that has been up for maxTtl + 1 s + drift cannot have lost a key that still counts.
 *
 * <p>The node reports its uptime in whole seconds, as the difference of two rounded clocks; the added second covers
 * that. Both are wall clocks, so a step of the clock makes the uptime wrong: a machine that boots with a slow clock and
 * sets it later turns a new process into an old one. At first contact there is nothing to hold against it. Where the
 * process before is known, though, its successor cannot be older than the time since that one last answered, so a
 * greater uptime is not believed; and what is too short is not counted from the uptime but from the first contact, on
 * the local monotonic clock.
 *
 * @threading event-loop-confined
 */
public final class RestartGuard {

    private static final long ROUNDING_MS = 1000;

    private final RestartGuardMode mode;
    private final Drift drift;
    private final long neededUptimeMs;
    private String trustedRunId;
    /** The process that introduced itself last, and when it did so first. */
    private String metRunId;
    private long metNs;
    private long answeredNs;
    private boolean isSuccessor;
    /** When the process before last answered. */
    private long previousProcessLastReplyNs;

    RestartGuard(final RestartGuardMode mode, final long maxTtlMs, final Drift drift) {
        this.mode = mode;
        this.drift = drift;
        this.neededUptimeMs = maxTtlMs + drift.ofMs(maxTtlMs) + ROUNDING_MS;
    }

    /**
     * How long a node that has just introduced itself must not vote.
     *
     * @param runId         the identity of its process
     * @param uptimeSeconds how long that process says that it has been up, whole seconds
     * @param nowNs         monotonic time
     * @return milliseconds, 0 if it may vote now
     */
    long quarantineMs(final String runId, final long uptimeSeconds, final long nowNs) {
        meet(runId, nowNs);
        if (mode == RestartGuardMode.OFF || runId.equals(trustedRunId)) {
            return 0;
        }
        if (mode == RestartGuardMode.AFTER_FIRST_CONTACT && trustedRunId == null) {
            trustedRunId = runId;
            return 0;
        }
        final long uptimeMs = Math.max(0, Math.min(uptimeSeconds, Long.MAX_VALUE / 1000)) * 1000;
        if (!isSuccessor) {
            return Math.max(0, neededUptimeMs - uptimeMs);
        }
        return uptimeMs >= neededUptimeMs && isPossible(uptimeMs, nowNs)
                ? 0
                : Math.max(0, neededUptimeMs - (nowNs - metNs) / NS_PER_MS);
    }

    private void meet(final String runId, final long nowNs) {
        if (!runId.equals(metRunId)) {
            isSuccessor = metRunId != null;
            previousProcessLastReplyNs = answeredNs;
            metRunId = runId;
            metNs = nowNs;
        }
        answeredNs = nowNs;
    }

    private boolean isPossible(final long uptimeMs, final long nowNs) {
        final long apartMs = (nowNs - previousProcessLastReplyNs) / NS_PER_MS;
        return uptimeMs <= apartMs + drift.ofMs(apartMs) + ROUNDING_MS;
    }

    /**
     * The process that introduced itself last is alive.
     *
     * @param nowNs monotonic time at which it answered
     */
    void onAnswer(final long nowNs) {
        answeredNs = nowNs;
    }

    /** The node has sat out its quarantine. */
    void onServed(final String runId) {
        trustedRunId = runId;
    }
}
