package dev.redlock.node.guard;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.api.RestartGuardMode;
import dev.redlock.quorum.Drift;

/**
 * Finds nodes that may have lost their keys in a restart. Such a node does not vote until every lock that it may have
 * granted before has expired. A process with an uptime of maxTtl + 1 s + drift has no such lock.
 *
 * <p>The node reports its uptime in whole seconds, as the difference of two rounded clocks; the added second covers
 * that. Both are wall clocks, so a step of the clock makes the uptime wrong. For example, a machine boots with a slow
 * clock and corrects it later; then a new process appears to be old.
 * <ul>
 * <li>At first contact the client has to trust the uptime.
 * <li>If the client knows the previous process, the new one cannot be older than the time since the previous process
 * last replied. A greater uptime is ignored.
 * <li>A quarantine after a known process is counted from first contact with the new process, on the local monotonic
 * clock.
 * </ul>
 *
 * @threading event-loop-confined
 */
public final class RestartGuard {

    private static final long ROUNDING_MS = 1000;
    /** Two clients that read the uptime of one process at the same time differ by less. */
    private static final long YOUNG_MARGIN_MS = 2000;

    private final RestartGuardMode mode;
    private final Drift drift;
    private final long neededUptimeMs;
    private String trustedRunId;
    /** The process of the last handshake, and the time of its first handshake. */
    private String lastRunId;
    private long firstContactNs;
    private long lastReplyNs;
    private boolean hasPredecessor;
    /** No handshake with the first process is complete. */
    private boolean isFirstUnproven;
    /** The process of the handshake that is in progress, or of the last one. */
    private String seenRunId;
    /** When the previous process last replied. */
    private long previousProcessLastReplyNs;

    public RestartGuard(RestartGuardMode mode, long maxTtlMs, Drift drift) {
        this.mode = mode;
        this.drift = drift;
        this.neededUptimeMs = neededUptimeMs(maxTtlMs, drift);
    }

    /** After this time every lock that a server granted before has expired, milliseconds. */
    public static long neededUptimeMs(long maxTtlMs, Drift drift) {
        return maxTtlMs + drift.ofMs(maxTtlMs) + ROUNDING_MS;
    }

    /**
     * The time for which a node must not vote after its handshake.
     *
     * @param runId         the identity of the process
     * @param uptimeSeconds the uptime that the process reports, whole seconds
     * @param nowNs         monotonic time
     * @return milliseconds, 0 if it may vote now
     */
    long quarantineMs(String runId, long uptimeSeconds, long nowNs) {
        recordProcess(runId, nowNs);
        isFirstUnproven = false;
        if (mode == RestartGuardMode.OFF || runId.equals(trustedRunId)) {
            return 0;
        }
        long uptimeMs = millisOf(uptimeSeconds);
        if (!hasPredecessor) {
            return Math.max(0, neededUptimeMs - uptimeMs);
        }
        return uptimeMs >= neededUptimeMs && isPossibleUptime(uptimeMs, nowNs)
                ? 0
                : Math.max(0, neededUptimeMs - (nowNs - firstContactNs) / NS_PER_MS);
    }

    /** Remembers the first process also if its handshake is not completed. */
    public void onProcess(String runId, long nowNs) {
        seenRunId = runId;
        if (lastRunId == null) {
            recordProcess(runId, nowNs);
            isFirstUnproven = true;
        }
    }

    /** The process is a replica. If it is the first one, it is no predecessor of the master that is found later. */
    public void onReplica() {
        if (isFirstUnproven && seenRunId.equals(lastRunId)) {
            isFirstUnproven = false;
            lastRunId = null;
        }
    }

    static long millisOf(long uptimeSeconds) {
        return Math.max(0, Math.min(uptimeSeconds, Long.MAX_VALUE / 1000)) * 1000;
    }

    private void recordProcess(String runId, long nowNs) {
        if (!runId.equals(lastRunId)) {
            hasPredecessor = lastRunId != null;
            previousProcessLastReplyNs = lastReplyNs;
            lastRunId = runId;
            firstContactNs = nowNs;
        }
        lastReplyNs = nowNs;
    }

    private boolean isPossibleUptime(long uptimeMs, long nowNs) {
        long sinceReplyMs = (nowNs - previousProcessLastReplyNs) / NS_PER_MS;
        return uptimeMs <= sinceReplyMs + drift.ofMs(sinceReplyMs) + ROUNDING_MS;
    }

    /**
     * The process of the last handshake is alive.
     *
     * @param nowNs monotonic time of its reply
     */
    void onReply(long nowNs) {
        lastReplyNs = nowNs;
    }

    /** Whether a process replaces one whose keys it may not have. */
    boolean mayLackKeys(String runId) {
        return mode != RestartGuardMode.OFF && lastRunId != null && !runId.equals(lastRunId);
    }

    /** When the process of the last handshake was first seen, monotonic time. */
    public long firstContactNs() {
        return firstContactNs;
    }

    /** Whether the process of the last handshake replaced one that this client knew. */
    public boolean isSuccessor() {
        return hasPredecessor;
    }

    /** Whether no client with this configuration takes a process with this uptime for an old one. */
    public boolean isYoung(long uptimeSeconds) {
        return millisOf(uptimeSeconds) < neededUptimeMs - YOUNG_MARGIN_MS;
    }

    /** A process was connected at the end of its quarantine, or has a mark: it votes until it restarts. */
    void trust(String runId) {
        trustedRunId = runId;
    }
}
