package dev.redlock.engine;

import dev.redlock.api.CommandMode;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.node.CommandKind;
import dev.redlock.node.LockKind;
import io.netty.buffer.ByteBuf;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Keeps locks after their release, if the options ask for it: the next acquisition of the same resource by this client
 * gets the lock on its own thread. A client that wants the lock changes the key of its tickets, on some node, which
 * pushes this change; then the lock is released.
 *
 * <ol>
 * <li>The first release asks all nodes for the tickets of the resource, with {@code CLIENT CACHING YES}. The lock is
 * retained if all nodes have granted it, all answer, and no client has a ticket.
 * <li>Callers then take and return the lock by {@link RetainedLease#grant} and {@link RetainedLease#retainAgain}.
 * <li>It ends by a push, another acquisition of this client, an event of any node, or its time. Then the client
 * releases a free lock; the lease of a present holder becomes one like any other.
 * </ol>
 *
 * @threading event-loop-confined, except {@link #grant} and {@link #grantCount}
 */
final class RetainedLocks extends Retention {

    /** A local grant needs this part of the validity, or the least validity of its options if that is more. */
    private static final int VALIDITY_DIVIDEND = 2;
    private static final int VALIDITY_DIVISOR = 3;
    /** A revocation after fewer local grants was not worth the time that it took another client. */
    private static final int GRANTS_WORTH = 16;
    private static final long PAUSE_MAX = 1024;
    /** A caller whose budget ends sooner may not come to ask for a ticket. */
    private static final long TICKET_NS_MAX = 1_000_000;

    private final LoopServices services;
    private final AcquireScheduler scheduler;
    private final LeaseKeeper keeper;
    private final LeaseLoop loop;
    private final ConductorCounters counters;
    private final int max;
    /** Users of the command mode {@code NATIVE} may lack the right. */
    private final boolean areTracesLeft;
    /** For callers. */
    private final ConcurrentHashMap<LockKey, RetainedLease> byKey = new ConcurrentHashMap<>();
    /** The same, for pushes. */
    private final KeyedMap<RetainedLease> byName = new KeyedMap<>();
    private RetainedLease oldest;
    private RetainedLease newest;
    /** The releases that a lock is not retained after a revocation: the left ones, and from bit 32 on all of them. */
    private final RecentValues pauses = new RecentValues();

    RetainedLocks(LoopServices services, AcquireScheduler scheduler, LeaseKeeper keeper, LeaseLoop loop) {
        this.services = services;
        this.scheduler = scheduler;
        this.keeper = keeper;
        this.loop = loop;
        this.counters = services.counters;
        this.max = services.config.limits().retainedLeasesMax();
        this.areTracesLeft = max > 0 && !services.config.nodes().hasClusters()
                && services.config.attempts().commandMode() != CommandMode.NATIVE;
    }

    // ---- local grants -----------------------------------------------------------------------------------------------

    /** Gives a retained lock to an acquisition without the event loop; false if there is none. On any thread. */
    boolean grant(LeaseHandle lease) {
        RetainedLease found = byKey.get(lease.key);
        if (found == null || !found.grant(lease)) {
            return false;
        }
        lease.hold();
        return true;
    }

    /** Returns the local grants so far. On any thread. */
    long grantCount() {
        long sum = counters.read(ConductorCounters.LOCAL_GRANTS);
        for (RetainedLease entry : byKey.values()) {
            sum += entry.grantCount();
        }
        return sum;
    }

    @Override
    boolean onAcquire(LeaseHandle lease) {
        RetainedLease entry = lease.spec.retainNsMax > 0 ? byName.get(lease.key) : null;
        if (entry != null && entry.grant(lease)) {
            LocalGrant.completeOnLoop(lease);
            return true;
        }
        endAllOf(lease.key);
        return false;
    }

    // ---- from a lease to a retained lock ----------------------------------------------------------------------------

    @Override
    boolean retain(LeaseHandle lease) {
        RetainedLease known = byName.get(lease.key);
        if (known != null) {
            return known.lease == lease;
        }
        long nowNs = services.clock.nanoTime();
        long validityNs = lease.times.validityNs;
        long lastNs = lease.validUntilNs - validityNs / VALIDITY_DIVISOR * VALIDITY_DIVIDEND;
        long grantUntilNs = WaitQueues.earlier(lastNs, nowNs + lease.spec.retainNsMax);
        if (grantUntilNs - nowNs <= lease.times.nodeTimeoutNs || !mayRetain(lease, lease.claim)
                || isPausing(lease.key)) {
            return false;
        }
        while (count >= max) {
            end(oldest, RetentionEnd.LIMIT);
        }
        RetainedLease entry = new RetainedLease(this, loop, lease, grantUntilNs);
        add(entry);
        lease.setState(LeaseState.RELEASING);
        services.timers.start(entry.timer, nowNs + lease.times.nodeTimeoutNs);
        ask(entry.claim);
        return true;
    }

    /** Each node creates the key of the tickets first: a client that wants the lock changes it if it is there. */
    private void ask(Claim claim) {
        claim.isWakeUpWanted = true;
        claim.addPendingReplies(2 * services.voters.length);
        services.fanOut.send(claim, CommandKind.CREATE_TICKETS, 0, services.all);
        services.fanOut.send(claim, CommandKind.WATCH_TICKETS, 0, services.all);
    }

    /** Whether all nodes vote and push, and no other acquisition of this client waits for the lock. */
    private boolean mayRetain(LeaseHandle lease, Claim claim) {
        ResourceQueues others = scheduler.queues.resourceQueues;
        return !services.isClosing && max > 0 && claim.askedMask == services.all && !claim.isExtending()
                && services.wakeUpMask() == services.all
                && services.fanOut.votingMask(claim) == services.all
                && scheduler.queues.get(lease.key) == null
                && (others.isEmpty() || others.of(lease.key) == null);
    }

    private boolean isPausing(LockKey key) {
        long pause = pauses.get(key, 0);
        boolean isPausing = (int) pause > 0;
        if (isPausing) {
            pauses.put(key, pause - 1);
        }
        return isPausing;
    }

    @Override
    void onTickets(Claim claim, int nodeIndex, long tickets) {
        RetainedLease entry = preparing(claim);
        if (entry == null) {
            return;
        }
        if (Ticket.isAwaited(tickets)) {
            end(entry, RetentionEnd.REVOKED);
            return;
        }
        entry.answeredMask |= 1L << nodeIndex;
        if (entry.answeredMask == services.all) {
            // Each node has answered the acquire before. An extension meanwhile may have lowered the validity.
            if (claim.holderMask == services.all && entry.validUntilNs == entry.lease.validUntilNs
                    && mayRetain(entry.lease, claim)) {
                open(entry);
            } else {
                end(entry, RetentionEnd.NODE_LOST);
            }
        }
    }

    @Override
    void onNoTickets(Claim claim) {
        RetainedLease entry = preparing(claim);
        if (entry != null) {
            end(entry, RetentionEnd.NODE_LOST);
        }
    }

    /** Whether the release of a lease asks the nodes whether its lock may be retained. */
    boolean isPreparing(Claim claim) {
        return preparing(claim) != null;
    }

    /** Whether the client retains a lock that no local lease has. */
    boolean isFree(LockKey key) {
        RetainedLease entry = byName.get(key);
        return entry != null && entry.state() == RetainedLease.FREE;
    }

    private RetainedLease preparing(Claim claim) {
        RetainedLease entry = of(claim);
        return entry != null && entry.state() == RetainedLease.PREPARING ? entry : null;
    }

    private RetainedLease of(Claim claim) {
        RetainedLease entry = count == 0 ? null : byName.get(claim.key);
        return entry != null && entry.claim == claim ? entry : null;
    }

    /** Callers may have the lock from now on; a lease without a caller has its claim. */
    private void open(RetainedLease entry) {
        LeaseHandle released = entry.lease;
        Claim claim = entry.claim;
        LeaseHandle keeping = keeping(released);
        keeper.untrack(released);
        released.claim = null;
        track(keeping, claim);
        entry.lease = keeping;
        services.timers.start(entry.timer, entry.grantUntilNs);
        services.telemetry.rare.onRetained(claim);
        counters.add(ConductorCounters.RETAINED, 1);
        entry.open();
        if (released.isExtensionAccepted()) {
            released.completeExtend(ExtendOutcome.NOT_HELD);
        }
        released.endRelease(ReleaseOutcome.RETAINED);
    }

    private static LeaseHandle keeping(LeaseHandle released) {
        LeaseHandle keeping = new LeaseHandle(released.client);
        keeping.startUse(released.loop());
        keeping.key = released.key;
        keeping.spec = new AcquireSpec(released.spec.ttlMs);
        keeping.spec.isLossWatched = released.spec.isLossWatched;
        keeping.times = released.times;
        keeping.acquiredNs = released.acquiredNs;
        keeping.setValidUntilNs(released.validUntilNs);
        keeping.setState(LeaseState.HELD);
        return keeping;
    }

    private void track(LeaseHandle lease, Claim claim) {
        keeper.track(lease, claim);
        services.timers.start(claim.holdTimer, lease.validUntilNs);
        if (lease.spec.isLossWatched) {
            keeper.lossWatch.start(claim);
        }
    }

    // ---- the end ----------------------------------------------------------------------------------------------------

    /** The holder needs a lease like any other. */
    void endFor(RetainedLease entry) {
        end(entry, RetentionEnd.WANTED_LOCALLY);
    }

    void onTimer(RetainedLease entry) {
        end(entry, entry.state() == RetainedLease.PREPARING ? RetentionEnd.NODE_LOST : RetentionEnd.EXPIRED);
    }

    private void end(RetainedLease entry, RetentionEnd cause) {
        int before = detach(entry, cause);
        if (before == RetainedLease.HELD) {
            giveToHolder(entry);
        } else {
            keeper.releases.releaseNow(entry.lease);
        }
    }

    /** Ends it for all callers but the present holder. Returns the state before. */
    private int detach(RetainedLease entry, RetentionEnd cause) {
        int before = entry.end();
        services.timers.stop(entry.timer);
        remove(entry);
        if (before != RetainedLease.PREPARING) {
            counters.add(ConductorCounters.RETAINED, -1);
            counters.add(ConductorCounters.LOCAL_GRANTS, entry.grantCount());
            counters.add(ConductorCounters.RETENTION_END_FIRST + cause.ordinal(), 1);
            services.telemetry.rare.onRetentionEnded(entry.claim, cause, entry.grantCount());
        }
        if (cause == RetentionEnd.REVOKED) {
            pause(entry);
        } else if (cause == RetentionEnd.EXPIRED) {
            pauses.take(entry.key, 0);
        }
        return before;
    }

    private void pause(RetainedLease entry) {
        long last = pauses.get(entry.key, 0) >>> Integer.SIZE;
        long pause = entry.grantCount() >= GRANTS_WORTH ? 1 : Math.min(PAUSE_MAX, Math.max(1, 2 * last));
        pauses.put(entry.key, pause << Integer.SIZE | pause);
    }

    private void giveToHolder(RetainedLease entry) {
        LeaseHandle holder = entry.holder();
        LeaseHandle keeping = entry.lease;
        keeper.untrack(keeping);
        keeping.claim = null;
        keeping.setState(LeaseState.RELEASED);
        holder.startUse(loop);
        track(holder, entry.claim);
    }

    private void endAllOf(LockKey key) {
        if (key.kind == LockKind.PERMIT) {
            return;
        }
        for (int i = 0; i < key.resourceCount; i++) {
            RetainedLease entry = byName.get(key.resourceKey(i));
            if (entry != null) {
                end(entry, RetentionEnd.WANTED_LOCALLY);
            }
        }
    }

    @Override
    void onLosing(Claim claim) {
        RetainedLease entry = of(claim);
        if (entry == null) {
            return;
        }
        int before = detach(entry, RetentionEnd.NODE_LOST);
        if (before == RetainedLease.HELD) {
            giveToHolder(entry);
        } else if (before == RetainedLease.PREPARING) {
            completeReleaseLater(entry.lease);
        } else {
            // No caller has it, so its loss concerns nobody.
            entry.lease.isKept = true;
        }
    }

    /** Its lease ends otherwise, which calls no callback. */
    private static void completeReleaseLater(LeaseHandle lease) {
        if (lease.releaseCallback != null) {
            lease.deferToNextTurn(lease.loop(), RequestMailbox.RELEASE);
        }
    }

    @Override
    void onNodeLost() {
        while (oldest != null) {
            end(oldest, RetentionEnd.NODE_LOST);
        }
    }

    @Override
    void stop() {
        while (oldest != null) {
            RetainedLease entry = oldest;
            int before = detach(entry, RetentionEnd.CLOSED);
            if (before == RetainedLease.HELD) {
                giveToHolder(entry);
            } else if (before == RetainedLease.PREPARING && services.loop.isShuttingDown()) {
                completeReleaseLater(entry.lease);
            }
        }
    }

    // ---- other clients ----------------------------------------------------------------------------------------------

    @Override
    boolean onInvalidated(int nodeIndex, ByteBuf name, int index, int length) {
        int lockLength = TicketsName.lockLengthOf(name, index, length);
        if (lockLength < 0) {
            return false;
        }
        RetainedLease entry = count == 0 ? null : byName.get(name, index, lockLength);
        if (entry == null) {
            services.telemetry.rare.onSpuriousPush(null, nodeIndex);
        } else {
            end(entry, RetentionEnd.REVOKED);
        }
        return true;
    }

    /** A refused client without a ticket leaves a trace: it changes the key of the tickets, if there is one. */
    @Override
    void onRefused(Claim claim) {
        if (count != 0) {
            endAllOf(claim.key);
        }
        if (!areTracesLeft || !isTraceDue(claim)) {
            return;
        }
        // A client that retains the lock watches all nodes.
        long node = Long.lowestOneBit(claim.round.refused());
        int keyCount = claim.key.kind == LockKind.SET ? claim.key.resourceCount : 1;
        if (node != 0) {
            claim.addPendingReplies(keyCount);
            for (int i = 0; i < keyCount; i++) {
                services.fanOut.send(claim, CommandKind.TOUCH_TICKETS, i, node);
            }
        }
    }

    private boolean isTraceDue(Claim claim) {
        PendingAcquire pending = claim.pending;
        LockKey key = pending.lease.key;
        if (key.kind != LockKind.PLAIN) {
            return key.kind != LockKind.PERMIT;
        }
        boolean hasBudget = pending.deadlineNs - services.clock.nanoTime() > TICKET_NS_MAX;
        boolean isTicketNext = pending.lease.waitNs > 0 && hasBudget
                && pending.plan == PendingAcquire.Plan.UNCONTENDED
                && services.coordinator.of(key) != Coordinator.NONE
                && (pending.queue == null || scheduler.registrations.isAllowed(pending.queue));
        return !claim.isCoordinatorAskedToWait() && !isTicketNext;
    }

    // ---- the entries ------------------------------------------------------------------------------------------------

    private void add(RetainedLease entry) {
        count++;
        byName.add(entry);
        byKey.put(entry.key, entry);
        entry.older = newest;
        if (newest == null) {
            oldest = entry;
        } else {
            newest.newer = entry;
        }
        newest = entry;
    }

    private void remove(RetainedLease entry) {
        count--;
        byName.remove(entry);
        byKey.remove(entry.key);
        if (entry.older == null) {
            oldest = entry.newer;
        } else {
            entry.older.newer = entry.newer;
        }
        if (entry.newer == null) {
            newest = entry.older;
        } else {
            entry.newer.older = entry.older;
        }
        entry.older = null;
        entry.newer = null;
    }
}
