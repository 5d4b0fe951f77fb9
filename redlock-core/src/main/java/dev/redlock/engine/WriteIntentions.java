package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.node.LockKind;
import dev.redlock.quorum.Quorum;
import dev.redlock.quorum.Token;

/**
 * Keeps new readers away while a writer waits. A refused attempt of the writer leaves an intention on each node that
 * has readers, which refuses new readers until it expires with the ttl of the writer. The writer asks all nodes again
 * before that, and removes its intention when it stops to wait. With the intention on a majority of nodes no new reader
 * gets the lock, so the writer waits for the present readers only.
 *
 * <p>A writer that another writer refuses leaves no intention, and a grant ends the intentions of all writers: readers
 * compete with the next writer.
 *
 * @threading event-loop-confined
 */
final class WriteIntentions {

    private final Conductor conductor;

    WriteIntentions(Conductor conductor) {
        this.conductor = conductor;
    }

    /** Gives the claim of a contended attempt of a writer that waits the name of its intention. */
    void prepare(PendingAcquire pending, Claim claim, long nowNs) {
        boolean isWaitingWriter = claim.key.kind() == LockKind.WRITE && pending.lease.waitNs > 0
                && pending.plan != PendingAcquire.Plan.UNCONTENDED;
        if (!isWaitingWriter) {
            return;
        }
        if (!pending.isIntending) {
            pending.intention = pending.intention == null ? new Token(conductor.tokenLabel()) : pending.intention;
            conductor.tokens().next(pending.intention, nowNs);
            pending.intendedNs = nowNs - ttlNs(pending);
            pending.isIntending = true;
        }
        claim.intention = pending.intention;
    }

    private static long ttlNs(PendingAcquire pending) {
        return pending.lease.ttlMs * NS_PER_MS;
    }

    /** Returns whether an attempt of a writer has to ask all nodes at once, and notes that it does. */
    boolean isEveryNodeAsked(PendingAcquire pending, Claim claim, long nowNs) {
        if (claim.intention == null || renewalNs(pending) - nowNs > 0) {
            return false;
        }
        pending.intendedNs = nowNs;
        return true;
    }

    /** Returns when a waiting writer renews its intention. */
    long renewalNs(PendingAcquire pending) {
        return pending.intendedNs + ttlNs(pending) / 2;
    }

    /** Removes the intention of a writer that does not wait any longer. */
    void withdraw(PendingAcquire pending) {
        if (!pending.isIntending) {
            return;
        }
        pending.isIntending = false;
        Claim claim = conductor.claims().take();
        claim.key = pending.lease.key;
        claim.token.set(pending.intention);
        claim.ttlMs = pending.lease.ttlMs;
        claim.ttlMsMax = pending.lease.ttlMs;
        claim.askedMask = Quorum.allOf(conductor.nodeCount());
        // A node that cannot be reached gets the removal later.
        claim.possibleHolderMask = claim.askedMask;
        conductor.releaseOperation().abandon(claim);
    }
}
