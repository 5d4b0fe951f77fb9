package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.key.SetKey;
import dev.redlock.node.send.LockKind;
import dev.redlock.telemetry.Log;
import dev.redlock.quorum.Token;

/**
 * Gives a waiter a name that it leaves on nodes, so that others let it pass: its reservation.
 *
 * <p><b>Writers.</b> A refused attempt leaves a reservation on each node that has readers, which refuses new readers
 * until it expires with the ttl of the writer. The writer asks all nodes again before that, and removes its reservation
 * when it stops to wait. With the reservation on a majority of nodes no new reader gets the lock, so the writer waits
 * for the present readers only. A writer that another writer refuses leaves no reservation, and a grant ends the
 * reservations of all writers: readers compete with the next writer.
 *
 * <p><b>Sets.</b> A refused attempt leaves a reservation on the resources of the set, on the coordinator alone, where
 * other sets that wait or give way respect it. A grant there ends it. A waiter that stops, or gets its lock from the
 * other nodes, removes it. Otherwise it expires after a third of a second. Then the set pauses: its attempts neither
 * leave a reservation nor respect one: a set whose last resource stays in use would keep the others idle.
 *
 * @threading event-loop-confined
 */
final class Reservations {

    /** The scripts leave a reservation of a set for that long, so none ends before the period in which it was left. */
    private static final long SET_PERIOD_NS = 300 * NS_PER_MS;

    private final LoopServices services;
    private final ClaimPool claims;
    private final ReleaseOperation releases;

    Reservations(LoopServices services, ClaimPool claims, ReleaseOperation releases) {
        this.services = services;
        this.claims = claims;
        this.releases = releases;
    }

    /** Gives the claim of a contended attempt that waits the name of its reservation. */
    void prepare(PendingAcquire pending, Claim claim, long nowNs) {
        boolean isWaiting = switch (claim.lockKind()) {
            // Without a wait budget the only attempt is uncontended.
            case WRITE -> pending.plan() != PendingAcquire.Plan.UNCONTENDED;
            case SET -> claim.isWakeUpWanted;
            case PLAIN, READ, PERMIT -> false;
        };
        if (!isWaiting) {
            return;
        }
        if (!pending.isReserving()) {
            if (pending.reservation == null) {
                pending.reservation = new Reservation(new Token(services.tokenLabel));
            }
            services.tokens.next(pending.reservation.name, nowNs);
            pending.reservation.reservedNs = claim.lockKind() == LockKind.SET ? nowNs : nowNs - ttlNs(pending);
            pending.reservation.leftNs = nowNs - SET_PERIOD_NS;
            pending.reservation.isActive = true;
        }
        if (claim.lockKind() == LockKind.SET) {
            // What the last refusal has said.
            pending.queue.forgetRefusal();
        }
        pending.reservation.isSent = claim.lockKind() != LockKind.SET
                || isPeriodOfSet(nowNs - pending.reservation.reservedNs);
        if (pending.reservation.isSent) {
            claim.contention().reservation = pending.reservation.name;
        }
    }

    /**
     * A set that waits for a resource in use for long must not keep others from its other resources all the time. So it
     * pauses after the first period, and after each later one twice as long as before.
     */
    private static boolean isPeriodOfSet(long waitedNs) {
        return Long.bitCount(waitedNs / SET_PERIOD_NS + 2) == 1;
    }

    /** An attempt of a set is sent to its coordinator, or refused there: it may leave the reservation. */
    static void onLeft(PendingAcquire pending, int coordinator, long nowNs) {
        if (isSentTo(pending, coordinator)) {
            pending.reservation.leftNs = nowNs;
        }
    }

    private static boolean isSentTo(PendingAcquire pending, int nodeIndex) {
        return pending.hasReservedNode() && pending.reservation.isSent && pending.reservation.node == nodeIndex;
    }

    /** Returns whether a set has its reservation on the coordinator, as far as is known: also in a pause. */
    boolean isLeft(PendingAcquire pending, long nowNs) {
        return pending.hasReservedNode() && nowNs - pending.reservation.leftNs < SET_PERIOD_NS;
    }

    /** Returns whether reservations alone may have refused a set: those last for a third of a second at most. */
    static boolean mayHaveRefused(PendingAcquire pending) {
        return pending.lease.shortestRemainingTtlMs() <= SET_PERIOD_NS / NS_PER_MS;
    }

    /** Returns whether the next refusal leaves the reservation of the oldest set. */
    boolean isDue(PendingAcquire pending, long nowNs) {
        return !pending.hasReservedNode() || isPeriodOfSet(nowNs - pending.reservation.reservedNs);
    }

    private static long ttlNs(PendingAcquire pending) {
        return pending.lease.spec.ttlMs * NS_PER_MS;
    }

    /** A node has granted an attempt: that ends the reservation of a set there. */
    void onGrant(Claim claim, int nodeIndex) {
        if (claim.phase == Claim.Phase.ACQUIRING && isSentTo(claim.pending, nodeIndex)) {
            claim.pending.reservation.node = -1;
        }
    }

    private static boolean isOfWriter(PendingAcquire pending) {
        return pending.isReserving() && pending.kind() == LockKind.WRITE;
    }

    /** Returns whether an attempt of a writer has to ask all nodes at once, and notes that it does. */
    boolean isEveryNodeAsked(PendingAcquire pending, Claim claim, long nowNs) {
        if (claim.reservation() == null || !isOfWriter(pending) || renewalNs(pending) - nowNs > 0) {
            return false;
        }
        pending.reservation.reservedNs = nowNs;
        return true;
    }

    /** Returns whether a waiting writer has to renew its reservation before a time. */
    boolean isRenewedBefore(PendingAcquire pending, long atNs) {
        return isOfWriter(pending) && renewalNs(pending) - atNs < 0;
    }

    /** Returns when a waiting writer renews its reservation. */
    long renewalNs(PendingAcquire pending) {
        return pending.reservation.reservedNs + ttlNs(pending) / 2;
    }

    /** Removes the reservation of an acquisition that has ended. Without that, others wait until it expires. */
    void withdraw(PendingAcquire pending) {
        try {
            if (isOfWriter(pending)) {
                // A node that cannot be reached gets the removal later.
                remove(pending, pending.lease.key, services.all, services.all);
            } else if (pending.hasReservedNode()) {
                remove(pending, ((SetKey) pending.lease.key).reservationKey(), 1L << pending.reservation.node, 0);
            }
        } catch (RuntimeException | Error e) {
            Log.error("the reservation of a waiter cannot be removed; it expires", e);
        }
        pending.reservation.reset();
    }

    private void remove(PendingAcquire pending, LockKey key, long mask, long retainedMask) {
        Claim claim = claims.take();
        claim.beginAbandoned(key, pending.lease.spec.ttlMs);
        claim.token.set(pending.reservation.name);
        claim.addAsked(mask, retainedMask);
        releases.send(claim);
    }
}
