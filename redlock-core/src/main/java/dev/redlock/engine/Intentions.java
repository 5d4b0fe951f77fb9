package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.node.LockKind;
import dev.redlock.quorum.Token;

/**
 * Gives a waiter a name that it leaves on nodes, so that others let it pass: its intention.
 *
 * <p><b>Writers.</b> A refused attempt leaves an intention on each node that has readers, which refuses new readers
 * until it expires with the ttl of the writer. The writer asks all nodes again before that, and removes its intention
 * when it stops to wait. With the intention on a majority of nodes no new reader gets the lock, so the writer waits for
 * the present readers only. A writer that another writer refuses leaves no intention, and a grant ends the intentions
 * of all writers: readers compete with the next writer.
 *
 * <p><b>Sets.</b> A refused attempt leaves an intention on the resources of the set, on the doorkeeper alone, where
 * other sets that wait or give way respect it. A grant there ends it. A waiter that stops, or gets its lock from the
 * other nodes, removes it. Otherwise it expires after a third of a second. Then the set pauses: its attempts neither
 * leave an intention nor respect one: a set whose last resource stays in use would keep the others idle.
 *
 * @threading event-loop-confined
 */
final class Intentions {

    /** The scripts leave an intention of a set for that long, so none ends before the period in which it was left. */
    private static final long SET_PERIOD_NS = 300 * NS_PER_MS;

    private final LoopServices services;
    private final ClaimPool claims;
    private final ReleaseOperation releases;

    Intentions(LoopServices services, ClaimPool claims, ReleaseOperation releases) {
        this.services = services;
        this.claims = claims;
        this.releases = releases;
    }

    /** Gives the claim of a contended attempt that waits the name of its intention. */
    void prepare(PendingAcquire pending, Claim claim, long nowNs) {
        boolean isWaiting = switch (claim.key.kind()) {
            // Without a wait budget the only attempt is uncontended.
            case WRITE -> pending.plan != PendingAcquire.Plan.UNCONTENDED;
            case SET -> claim.isWakeUpWanted;
            case PLAIN, READ, PERMIT -> false;
        };
        if (!isWaiting) {
            return;
        }
        if (!pending.isIntending) {
            pending.intention = pending.intention == null ? new Token(services.tokenLabel) : pending.intention;
            services.tokens.next(pending.intention, nowNs);
            pending.intendedNs = claim.key.kind() == LockKind.SET ? nowNs : nowNs - ttlNs(pending);
            pending.isIntending = true;
        }
        if (claim.key.kind() == LockKind.SET) {
            // What the last refusal has said.
            pending.queue.awaited = null;
        }
        pending.isIntentionSent = claim.key.kind() != LockKind.SET || isPeriodOfSet(nowNs - pending.intendedNs);
        claim.intention = pending.isIntentionSent ? pending.intention : null;
    }

    /**
     * A set that waits for a resource in use for long must not keep others from its other resources all the time. So it
     * pauses after the first period, and after each later one twice as long as before.
     */
    private static boolean isPeriodOfSet(long waitedNs) {
        return Long.bitCount(waitedNs / SET_PERIOD_NS + 2) == 1;
    }

    /** Returns whether a set has its intention on the doorkeeper, as far as is known. */
    boolean isLeft(PendingAcquire pending, long nowNs) {
        return isOfSet(pending) && isPeriodOfSet(nowNs - pending.intendedNs);
    }

    /** Returns whether the next refusal leaves the intention of the oldest set. */
    boolean isDue(PendingAcquire pending, long nowNs) {
        return !isOfSet(pending) || isPeriodOfSet(nowNs - pending.intendedNs);
    }

    private static long ttlNs(PendingAcquire pending) {
        return pending.lease.spec.ttlMs * NS_PER_MS;
    }

    /** Returns whether the doorkeeper must see the next grant of a set, or others would give way to its intention. */
    static boolean isOfSet(PendingAcquire pending) {
        return pending.intendedNode >= 0;
    }

    /** A node has granted an attempt: that ends the intention of a set there. */
    void onGrant(Claim claim, int nodeIndex) {
        if (claim.phase == Claim.Phase.ACQUIRING && claim.pending.intendedNode == nodeIndex
                && claim.pending.isIntentionSent) {
            claim.pending.intendedNode = -1;
        }
    }

    private static boolean isOfWriter(PendingAcquire pending) {
        return pending.isIntending && pending.lease.key.kind() == LockKind.WRITE;
    }

    /** Returns whether an attempt of a writer has to ask all nodes at once, and notes that it does. */
    boolean isEveryNodeAsked(PendingAcquire pending, Claim claim, long nowNs) {
        if (claim.intention == null || !isOfWriter(pending) || renewalNs(pending) - nowNs > 0) {
            return false;
        }
        pending.intendedNs = nowNs;
        return true;
    }

    /** Returns whether a waiting writer has to renew its intention before a time. */
    boolean isRenewedBefore(PendingAcquire pending, long atNs) {
        return isOfWriter(pending) && renewalNs(pending) - atNs < 0;
    }

    /** Returns when a waiting writer renews its intention. */
    long renewalNs(PendingAcquire pending) {
        return pending.intendedNs + ttlNs(pending) / 2;
    }

    /** Removes the intention of an acquisition that has ended. */
    void withdraw(PendingAcquire pending) {
        if (isOfWriter(pending)) {
            long all = services.all;
            // A node that cannot be reached gets the removal later.
            remove(pending, pending.lease.key, all, all);
        } else if (isOfSet(pending)) {
            remove(pending, ((SetKey) pending.lease.key).intentionKey(), 1L << pending.intendedNode, 0);
        }
        pending.isIntending = false;
        pending.intendedNode = -1;
    }

    private void remove(PendingAcquire pending, LockKey key, long mask, long retainedMask) {
        Claim claim = claims.take();
        claim.key = key;
        claim.token.set(pending.intention);
        claim.ttlMs = pending.lease.spec.ttlMs;
        claim.ttlMsMax = pending.lease.spec.ttlMs;
        claim.askedMask = mask;
        claim.possibleHolderMask = retainedMask;
        releases.abandon(claim);
    }
}
