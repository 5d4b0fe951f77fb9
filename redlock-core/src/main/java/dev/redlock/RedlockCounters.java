package dev.redlock;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RetentionEnd;
import dev.redlock.engine.ClientLoops;
import dev.redlock.engine.watch.ConductorCounters;
import java.util.Objects;

/**
 * The counters of a client since it was connected, and its held locks and running acquisitions, summed over its event
 * loops. Each call reads the current value and allocates nothing; two calls are not one snapshot.
 *
 * @threading any thread
 */
public final class RedlockCounters {

    private final ClientLoops loops;

    RedlockCounters(ClientLoops loops) {
        this.loops = loops;
    }

    /**
     * @return locks that the client holds now: leases, locks that {@link AcquireOptions#holdAtLeast} keeps, and
     *         retained locks
     */
    public long heldCount() {
        return loops.count(ConductorCounters.HELD);
    }

    /** @return acquisitions that have not ended: they await another holder, or the votes of the nodes */
    public long waitingCount() {
        return loops.count(ConductorCounters.WAITING);
    }

    /**
     * Acquisitions that ended in one way.
     *
     * @throws NullPointerException if it is null
     */
    public long outcomeCount(AcquireOutcome.Kind kind) {
        Objects.requireNonNull(kind, "kind of outcome is null: name the one to count");
        return loops.count(ConductorCounters.OUTCOME_FIRST + kind.ordinal());
    }

    /** @return acquisitions that ended with the lock */
    public long acquiredCount() {
        return outcomeCount(AcquireOutcome.Kind.ACQUIRED);
    }

    /** @return attempts that failed because another holder had the lock */
    public long contendedAttemptCount() {
        return loops.count(ConductorCounters.ATTEMPT_CONTENDED);
    }

    /** @return attempts that failed because too few nodes voted */
    public long noQuorumAttemptCount() {
        return loops.count(ConductorCounters.ATTEMPT_NO_QUORUM);
    }

    /** @return attempts that reached a quorum with too little validity left */
    public long tooSlowAttemptCount() {
        return loops.count(ConductorCounters.ATTEMPT_TOO_SLOW);
    }

    /**
     * Attempts that asked more nodes because the first ones were late, failed, or did not agree. Without
     * {@link RedlockContext#thriftyQuorums RedlockContext.thriftyQuorums} only contended attempts ask some nodes first.
     */
    public long hedgedAttemptCount() {
        return loops.count(ConductorCounters.HEDGED);
    }

    /**
     * Commands of locks, one for each node that one was meant for. With N nodes, a lock without contention takes 2 N,
     * with {@link RedlockContext#thriftyQuorums RedlockContext.thriftyQuorums} about 2 (N/2 + 1).
     */
    public long commandCount() {
        return loops.count(ConductorCounters.COMMANDS);
    }

    /** @return attempts that were rolled back */
    public long rolledBackCount() {
        return loops.count(ConductorCounters.ROLLED_BACK);
    }

    /**
     * Releases that ended in one way.
     *
     * @throws NullPointerException if it is null
     */
    public long releaseCount(ReleaseOutcome outcome) {
        Objects.requireNonNull(outcome, "release outcome is null: name the one to count");
        return loops.count(ConductorCounters.RELEASE_FIRST + outcome.ordinal());
    }

    /** @return extensions that succeeded, automatic ones and those of callers */
    public long extendedCount() {
        return loops.count(ConductorCounters.EXTENDED);
    }

    /** @return fenced attempts that took a second round trip because the nodes' counters differed */
    public long raisedCount() {
        return loops.count(ConductorCounters.RAISED);
    }

    /** @return locks that the client {@linkplain AcquireOptions#retain retains} now, also those with a local holder */
    public long retainedCount() {
        return loops.count(ConductorCounters.RETAINED);
    }

    /**
     * Acquisitions that got a retained lock, without the nodes. Other counters do not contain them. It visits each
     * retained lock.
     */
    public long localGrantCount() {
        return loops.localGrantCount();
    }

    /** @return locks that the client retains no longer, for one reason */
    public long retentionEndCount(RetentionEnd cause) {
        return loops.count(ConductorCounters.RETENTION_END_FIRST + cause.ordinal());
    }

    /** @return retained locks without a local holder that the client has released because another client asked */
    public long revocationCount() {
        return loops.count(ConductorCounters.REVOCATIONS);
    }

    /** @return the time that these releases took together, each from the push of a node to the answers, in ns */
    public long revocationNs() {
        return loops.count(ConductorCounters.REVOCATION_NS);
    }

    /** @return leases that lost their quorum */
    public long lostCount() {
        return loops.count(ConductorCounters.LOST);
    }

    /** @return leases whose validity ended before they were released */
    public long expiredCount() {
        return loops.count(ConductorCounters.EXPIRED);
    }

    /**
     * Times at which the clock of this machine had stood still, as in a suspend or a migration. Each event loop finds
     * it on its own; this is the highest of their counts.
     */
    public long clockStandstillCount() {
        return loops.highestCount(ConductorCounters.STOOD_STILL);
    }

    /** @return pushes of nodes that woke a waiting acquisition */
    public long wokenCount() {
        return loops.count(ConductorCounters.WOKEN);
    }

    /** @return pushes of nodes that woke no acquisition */
    public long spuriousPushCount() {
        return loops.count(ConductorCounters.SPURIOUS_PUSH);
    }

    /** @return attempts of waiting acquisitions that no push woke in time */
    public long backstopCount() {
        return loops.count(ConductorCounters.BACKSTOP);
    }

    @Override
    public String toString() {
        return "RedlockCounters{acquired=" + acquiredCount() + ", contended=" + contendedAttemptCount() + ", noQuorum="
                + noQuorumAttemptCount() + ", tooSlow=" + tooSlowAttemptCount() + ", rolledBack=" + rolledBackCount()
                + ", extended=" + extendedCount() + ", lost=" + lostCount() + ", expired=" + expiredCount() + "}";
    }
}
