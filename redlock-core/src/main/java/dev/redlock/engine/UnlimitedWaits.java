package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.telemetry.Log;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Logs why acquisitions without a time limit do not get their locks, because no caller gets an outcome while they wait:
 * each reason once that lasts from one look to the next, with a few of the acquisitions. Two reasons are not logged:
 * <ul>
 * <li>A client, this one or another, has the lock. A key that never expires is none of a client.
 * <li>Too few nodes vote, which {@link QuorumWatch} logs for the whole client.
 * </ul>
 *
 * @threading event-loop-confined
 */
final class UnlimitedWaits {

    private static final long PERIOD_NS = 10_000 * NS_PER_MS;
    private static final int LINES_MAX = 16;

    private final AcquireScheduler scheduler;
    private final QuorumWatch quorumWatch;
    private long lookedNs;
    /** Of the acquisitions that had a reason to log at a look. */
    private Map<LeaseHandle, Reasons> known = new HashMap<>();

    /**
     * The reasons of one acquisition.
     *
     * @threading event-loop-confined
     */
    private static final class Reasons {

        /** Of the handle, which may wait for another lock later. */
        private final short use;
        /** At the last look; null for none. */
        private AcquireOutcome.Kind seen;
        private final Set<AcquireOutcome.Kind> logged = EnumSet.noneOf(AcquireOutcome.Kind.class);

        Reasons(short use) {
            this.use = use;
        }

        /** Returns whether a reason, null for none, was that of the look before, and is not logged yet. */
        boolean isNew(AcquireOutcome.Kind reason) {
            boolean hasLasted = reason != null && reason == seen;
            seen = reason;
            return hasLasted && logged.add(reason);
        }
    }

    UnlimitedWaits(AcquireScheduler scheduler, QuorumWatch quorumWatch, long nowNs) {
        this.scheduler = scheduler;
        this.quorumWatch = quorumWatch;
        this.lookedNs = nowNs;
    }

    /** Called about once a second. */
    void lookIfDue(long nowNs) {
        if (nowNs - lookedNs < PERIOD_NS) {
            return;
        }
        lookedNs = nowNs;
        Map<LeaseHandle, Reasons> before = known;
        known = new HashMap<>();
        List<String> lines = null;
        int moreCount = 0;
        for (PendingAcquire pending = scheduler.firstActive; pending != null; pending = pending.nextActive) {
            if (isWatched(pending) && isToBeLogged(pending, before.get(pending.lease))) {
                lines = lines == null ? new ArrayList<>() : lines;
                if (lines.size() < LINES_MAX) {
                    lines.add(lineOf(pending.lease));
                } else {
                    moreCount++;
                }
            }
        }
        if (lines != null) {
            // A handler of the log may start and end acquisitions.
            lines.forEach(line -> Log.log(System.Logger.Level.WARNING, "{0}", line));
            if (moreCount > 0) {
                Log.log(System.Logger.Level.WARNING,
                        "{0} more acquisitions without a time limit cannot get their locks",
                        moreCount);
            }
        }
    }

    /** Those behind the head of a queue wait for the same reason. */
    private static boolean isWatched(PendingAcquire pending) {
        return pending.lease.waitNs >= LockEngine.UNLIMITED_WAIT_NS && pending.state != PendingAcquire.State.QUEUED;
    }

    private boolean isToBeLogged(PendingAcquire pending, Reasons before) {
        LeaseHandle lease = pending.lease;
        AcquireOutcome.Kind reason = isNormal(pending) ? null : lease.lastReason;
        boolean isKnown = before != null && before.use == lease.useCount();
        if (!isKnown && reason == null) {
            return false;
        }
        Reasons reasons = isKnown ? before : new Reasons(lease.useCount());
        known.put(lease, reasons);
        return reasons.isNew(reason);
    }

    private boolean isNormal(PendingAcquire pending) {
        if (pending.queue != null && pending.queue.isHeldLocally()) {
            // Its own last reason may be of long ago: it makes no attempt until the end of the lease.
            return true;
        }
        LeaseHandle lease = pending.lease;
        return switch (lease.lastReason) {
            case CANCELLED -> true;
            case CONTENDED -> lease.shortestRemainingTtlMs != Long.MAX_VALUE;
            case NO_QUORUM -> !quorumWatch.nodes.areQuorum();
            default -> false;
        };
    }

    private static String lineOf(LeaseHandle lease) {
        boolean isOverload = lease.lastReason == AcquireOutcome.Kind.OVERLOADED;
        return "an acquisition without a time limit of \"" + lease.key + "\" cannot get the lock and tries again: "
                + ResultText.waitText(lease) + (isOverload ? " (inFlightMax)" : "");
    }
}
