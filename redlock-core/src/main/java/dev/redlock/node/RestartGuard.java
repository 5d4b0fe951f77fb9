package dev.redlock.node;

import dev.redlock.quorum.Drift;

/**
 * Keeps a node that may have lost its keys in a restart from voting until every lock it may have granted before has
 * expired. A process that has been up for maxTtl + 1 s + drift cannot have lost a key that still counts.
 *
 * <p>The node reports its uptime in whole seconds, rounded down; the added second covers that.
 *
 * @threading event-loop-confined
 */
public final class RestartGuard {

    /**
     * How restarts are guarded against.
     *
     * @threading immutable
     */
    public enum Mode {
        /** Every node has to be up long enough, at first contact too. */
        UPTIME,
        /** A node is trusted at first contact; from then on a new process has to be up long enough. */
        AFTER_FIRST_CONTACT,
        /** Nodes are trusted always: they do not lose keys in a restart. */
        OFF
    }

    private static final long ROUNDING_MS = 1000;

    private final Mode mode;
    private final long neededUptimeMs;
    private String trustedRunId;

    RestartGuard(final Mode mode, final long maxTtlMs, final Drift drift) {
        this.mode = mode;
        this.neededUptimeMs = maxTtlMs + drift.ofMs(maxTtlMs) + ROUNDING_MS;
    }

    /**
     * How long a node that has just introduced itself must not vote.
     *
     * @param runId         the identity of its process
     * @param uptimeSeconds how long that process has been up, whole seconds
     * @return milliseconds, 0 if it may vote now
     */
    long quarantineMs(final String runId, final long uptimeSeconds) {
        if (mode == Mode.OFF || runId.equals(trustedRunId)) {
            return 0;
        }
        if (mode == Mode.AFTER_FIRST_CONTACT && trustedRunId == null) {
            trustedRunId = runId;
            return 0;
        }
        return Math.max(0, neededUptimeMs - Math.max(0, uptimeSeconds) * 1000);
    }

    /** The node has sat out its quarantine. */
    void onServed(final String runId) {
        trustedRunId = runId;
    }
}
