package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.engine.key.KeyedMap;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.watch.LossCause;
import dev.redlock.node.send.CommandDetail;
import dev.redlock.node.send.CommandKind;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.time.DeadlineTimer;
import io.netty.buffer.ByteBuf;

/**
 * Watches the keys of held leases, if the options ask for it: the nodes push each change of a key, and the client then
 * reads whether the key still holds its token. A node whose key does not is no holder any more, so a lease without a
 * quorum of holders is lost within two round trips.
 *
 * <p>A node pushes once, so each read registers for the next push. An acquire or an extension may end a registration
 * without a push, so the keys are read after each of them, also after one that a node executes behind the read because
 * it was sent again.
 *
 * @threading event-loop-confined
 */
final class LossWatch {

    private static final int HELD_REPLY = 1;
    /** A reconnect makes the checks of all leases due, and a server may push without end. */
    private static final int CHECKS_PER_MS_MAX = 32;
    /** A check without an answer has not registered: it is sent again, so seldom that a sick server is not burdened. */
    private static final long RETRY_NS = 500 * NS_PER_MS;

    private final LoopServices services;
    private final LeaseKeeper keeper;
    private final KeyedMap<WatchedLease> watched = new KeyedMap<>();
    private final DeadlineTimer limitTimer = new DeadlineTimer(nowNs -> onLimitTimer());
    private final DeadlineTimer retryTimer = new DeadlineTimer(nowNs -> onRetryTimer());
    /** The leases whose checks are due, oldest first. */
    private WatchedLease firstDue;
    private WatchedLease lastDue;
    private int checkCount;

    /**
     * A resource of a held lease, whose keys the nodes watch.
     *
     * @threading event-loop-confined
     */
    private static final class WatchedLease extends KeyedMap.Keyed {

        final Claim claim;
        /** The first resource of the lease, which knows what is due for all of them. */
        final WatchedLease first;
        /** Another lease with this resource: this client has acquired the lock again before it knew of a loss. */
        WatchedLease nextOfKey;
        /** The nodes whose checks are due, on the first resource of the lease. */
        long dueMask;
        /** The nodes whose last check had no answer, on the first resource of the lease. */
        long unansweredMask;
        /** The nodes whose reply to a check is pending, on the first resource of the lease. */
        long checkingMask;
        WatchedLease nextDue;
        /** The lease has ended. */
        boolean isStopped;

        WatchedLease(Claim claim, LockKey key, WatchedLease first) {
            this.claim = claim;
            this.key = key;
            this.first = first == null ? this : first;
        }
    }

    LossWatch(LoopServices services, LeaseKeeper keeper) {
        this.services = services;
        this.keeper = keeper;
    }

    /** Starts to watch the keys of a lease that is held from now on. */
    void start(Claim claim) {
        long all = services.all;
        WatchedLease first = null;
        for (int i = 0; i < claim.key.resourceCount; i++) {
            WatchedLease lease = new WatchedLease(claim, claim.key.resourceKey(i), first);
            WatchedLease newest = watched.get(lease.key);
            if (newest == null) {
                watched.add(lease);
            } else {
                // This client has acquired the lock again, so the earlier lease is lost.
                addDue(newest, all);
                lease.nextOfKey = newest.nextOfKey;
                newest.nextOfKey = lease;
            }
            first = lease.first;
        }
        check(claim, all);
        checkDue();
    }

    void stop(Claim claim) {
        for (int i = 0; i < claim.key.resourceCount; i++) {
            remove(claim, claim.key.resourceKey(i));
        }
    }

    private void remove(Claim claim, LockKey resource) {
        WatchedLease previous = null;
        WatchedLease lease = watched.get(resource);
        while (lease != null && lease.claim != claim) {
            previous = lease;
            lease = lease.nextOfKey;
        }
        if (lease == null) {
            // The start has thrown.
            return;
        }
        lease.first.isStopped = true;
        if (previous != null) {
            previous.nextOfKey = lease.nextOfKey;
            return;
        }
        watched.remove(lease);
        if (lease.nextOfKey != null) {
            watched.add(lease.nextOfKey);
        }
    }

    /** An extension round has ended. */
    void onExtended(Claim claim) {
        check(claim, services.all);
    }

    /**
     * A node has executed an acquire or an extension of a watched claim. It replies in order: with no check pending,
     * the last check was executed before, and the command has ended its registration if it has changed a key.
     */
    void onLateReply(Claim claim, int nodeIndex) {
        if (claim.isExtending()) {
            return;
        }
        WatchedLease lease = of(claim);
        if (lease == null || (lease.checkingMask & 1L << nodeIndex) == 0) {
            check(claim, 1L << nodeIndex);
        }
    }

    /** A node pushes that a key has changed. */
    void onInvalidated(int nodeIndex, ByteBuf name, int index, int length) {
        addDue(watched.get(name, index, length), 1L << nodeIndex);
        checkDue();
    }

    /** A node has lost all registrations, and keys may have changed meanwhile. */
    void onReconnected(int nodeIndex) {
        watched.forEach(lease -> addDue(lease, 1L << nodeIndex));
        checkDue();
    }

    /** Checks of the leases with a key are due, each once for all its resources. */
    private void addDue(WatchedLease firstOfKey, long nodes) {
        for (WatchedLease lease = firstOfKey; lease != null; lease = lease.nextOfKey) {
            addDueTo(lease.first, nodes);
        }
    }

    private void addDueTo(WatchedLease lease, long nodes) {
        if (lease.dueMask == 0) {
            if (firstDue == null) {
                firstDue = lease;
            } else {
                lastDue.nextDue = lease;
            }
            lastDue = lease;
        }
        lease.dueMask |= nodes;
    }

    /** Sends the checks that are due, up to the limit. */
    private void checkDue() {
        while (firstDue != null && checkCount < CHECKS_PER_MS_MAX) {
            WatchedLease lease = firstDue;
            firstDue = lease.nextDue;
            lease.nextDue = null;
            long nodes = lease.dueMask;
            lease.dueMask = 0;
            // The keys are read after an extension anyway.
            if (!lease.isStopped && !lease.claim.isExtending()) {
                checkCount++;
                check(lease.claim, nodes);
            }
        }
        if (checkCount > 0 && !limitTimer.isStarted()) {
            services.timers.start(limitTimer, services.clock.nanoTime() + NS_PER_MS);
        }
    }

    private void onLimitTimer() {
        checkCount = 0;
        checkDue();
    }

    /** Also nodes that are no holders, if they were asked: their grant may be late. */
    private void check(Claim claim, long nodes) {
        long mask = nodes & claim.askedMask & services.wakeUpMask();
        if (mask == 0) {
            return;
        }
        claim.isWakeUpWanted = true;
        WatchedLease lease = of(claim);
        if (lease != null) {
            lease.checkingMask |= mask;
        }
        claim.addPendingReplies(Long.bitCount(mask));
        services.fanOut.send(claim, CommandKind.CHECK, CommandDetail.NONE, mask);
    }

    /**
     * A key of another type has replaced the lock. Otherwise nothing is known, and the node may push no change of the
     * key any more.
     */
    void onNoReply(Claim claim, int nodeIndex, VoteFailure failure) {
        endCheck(claim, nodeIndex);
        if (failure == VoteFailure.WRONGTYPE) {
            onReply(claim, nodeIndex, 0);
            return;
        }
        WatchedLease lease = of(claim);
        if (lease != null) {
            lease.first.unansweredMask |= 1L << nodeIndex;
            if (!retryTimer.isStarted()) {
                services.timers.start(retryTimer, services.clock.nanoTime() + RETRY_NS);
            }
        }
    }

    private void endCheck(Claim claim, int nodeIndex) {
        WatchedLease lease = of(claim);
        if (lease != null) {
            lease.checkingMask &= ~(1L << nodeIndex);
        }
    }

    /** Returns the first resource of the lease that has a claim; null if it is not watched any more. */
    private WatchedLease of(Claim claim) {
        WatchedLease lease = watched.get(claim.key.resourceKey(0));
        while (lease != null && lease.claim != claim) {
            lease = lease.nextOfKey;
        }
        return lease;
    }

    /** A lost connection has its checks at the reconnect, and none before. */
    private void onRetryTimer() {
        watched.forEach(firstOfKey -> {
            for (WatchedLease lease = firstOfKey; lease != null; lease = lease.nextOfKey) {
                if (lease.unansweredMask != 0) {
                    addDueTo(lease, lease.unansweredMask);
                    lease.unansweredMask = 0;
                }
            }
        });
        checkDue();
    }

    void onReply(Claim claim, int nodeIndex, long value) {
        endCheck(claim, nodeIndex);
        if (value != HELD_REPLY && claim.phase == Claim.Phase.HELD && !Unclaimed.is(claim)) {
            keeper.loss.dropHolder(claim, nodeIndex, LossCause.KEY_GONE);
        }
    }
}
