package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RetentionEnd;
import dev.redlock.engine.key.KeyedMap;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.watch.ConductorCounters;
import dev.redlock.node.send.CommandDetail;
import dev.redlock.node.send.LockKind;
import dev.redlock.telemetry.Log;
import io.netty.buffer.ByteBuf;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Keeps locks after their release, if the options ask for it: the next acquisition of the same resource by this client
 * gets it on its own thread. A client that wants the lock changes the key of its traces on some node, also by its entry
 * in the queue. The node pushes this change; then the lock is released.
 *
 * <ol>
 * <li>An acquire asks for the traces in its write, with {@code CLIENT CACHING YES}, and for the length of the queue.
 * The nodes push from the grant on.
 * <li>The release retains the lock if all configured nodes have granted it and answered, and nobody waits. A bare
 * quorum is not enough: one more lost key would give the lock to two holders during the longer exposure.
 * <li>Callers then take and return the lock by {@link RetainedLease#grant} and {@link RetainedLease#retainAgain}. A
 * caller that meets a local holder waits in the queue of the lock, and gets it from the holder.
 * <li>It ends by a push, another acquisition of this client, an event of any node, or its time. An acquisition of this
 * client counts, because a node does not push what its own connection changes. Then the client releases a free lock;
 * the lease of a present holder becomes one like any other.
 * </ol>
 *
 * @threading event-loop-confined, except {@link #grant} and {@link #grantCount}
 */
final class RetainedLocks extends Retention {

    private final LoopServices services;
    private final AcquireScheduler scheduler;
    private final LeaseKeeper keeper;
    private final LeaseLoop loop;
    private final ConductorCounters counters;
    private final int max;
    private final RetainedTraces traces;
    private final LocalWaiters localWaiters;
    /** The retained locks, for callers. */
    private final ConcurrentHashMap<LockKey, RetainedLease> byKey = new ConcurrentHashMap<>();
    /** All entries. */
    final KeyedMap<RetainedLease> byName = new KeyedMap<>();
    private final RetainedChain retained = new RetainedChain();
    /** The entries that no caller may get yet. */
    private final RetainedChain watched = new RetainedChain();
    private final RetentionPauses pauses = new RetentionPauses();
    private final RetentionQuestions questions;
    private long grantCountMax;

    RetainedLocks(LoopServices services, AcquireScheduler scheduler, LeaseKeeper keeper, LeaseLoop loop) {
        this.services = services;
        this.scheduler = scheduler;
        this.keeper = keeper;
        this.loop = loop;
        this.counters = services.counters;
        this.max = services.config.limits().retainedLeasesMax();
        this.traces = new RetainedTraces(services, scheduler);
        this.questions = new RetentionQuestions(services);
        this.localWaiters = new LocalWaiters(services, scheduler);
    }

    // ---- local grants -----------------------------------------------------------------------------------------------

    @Override
    boolean grant(LeaseHandle lease) {
        // The event loop runs callbacks.
        RetainedLease found = lease.acquireCallback != null ? null : byKey.get(lease.key);
        if (found == null || !found.grantSoon(lease)) {
            return false;
        }
        lease.completeGrant();
        localWaiters.countGrant(lease.spec);
        return true;
    }

    /** An entry that leaves the map at this moment may be missing, so the count is never below the last one. */
    @Override
    synchronized long grantCount() {
        long sum = counters.read(ConductorCounters.LOCAL_GRANTS);
        for (RetainedLease entry : byKey.values()) {
            sum += entry.uncountedGrants();
        }
        grantCountMax = Math.max(grantCountMax, sum);
        return grantCountMax;
    }

    @Override
    boolean onAcquire(LeaseHandle lease) {
        RetainedLease entry = byName.get(lease.key);
        if (entry != null && entry.isFor(lease)) {
            LocalWaiters.Answer answer = localWaiters.onAcquire(entry, lease);
            if (answer != LocalWaiters.Answer.ENDS) {
                return answer == LocalWaiters.Answer.DONE;
            }
        }
        endAllOf(lease.key);
        return false;
    }

    /** The holder has returned the lock on the event loop. */
    void passOn(RetainedLease entry) {
        try {
            if (!localWaiters.passOn(entry)) {
                end(entry, RetentionEnd.WANTED_LOCALLY);
            }
        } catch (RuntimeException | Error e) {
            endAfterFailure(entry);
            throw e;
        }
    }

    /** A lock that nobody has, and that no caller can get, is released. */
    private void endAfterFailure(RetainedLease entry) {
        if (entry.state() == RetainedLease.PREPARING || entry.isRetained && entry.state() == RetainedLease.WATCHED) {
            end(entry, RetentionEnd.NODE_LOST);
        }
    }

    // ---- from an attempt to a retained lock -------------------------------------------------------------------------

    @Override
    void ask(Claim claim, long mask) {
        RetainedLease entry = watch(claim, claim.askedMask == mask);
        if (entry == null) {
            AcquireOperation.send(services.fanOut, claim, mask);
            return;
        }
        questions.send(entry, claim, mask);
    }

    /** The entry of an attempt, from the first nodes that it asks on; null if its lock is not to be retained. */
    private RetainedLease watch(Claim claim, boolean isFirstAsk) {
        RetainedLease known = byName.get(claim.key);
        if (known != null && known.claim == claim) {
            return known;
        }
        if (known != null) {
            end(known, RetentionEnd.WANTED_LOCALLY);
        }
        if (!isFirstAsk || !mayWatch(claim)) {
            return null;
        }
        RetainedLease entry = RetainedLease.create(this, loop, claim.pending.lease, claim);
        count++;
        byName.add(entry);
        watched.add(entry);
        return entry;
    }

    private boolean mayWatch(Claim claim) {
        WaitQueue queue = scheduler.queues.get(claim.key);
        return !services.isClosing && max > 0 && areAllNodesFit(claim) && !questions.isAnswerOverdue()
                && !pauses.isPausing(claim.key) && (queue == null || queue.head() == claim.pending);
    }

    /** Whether all configured nodes vote and push. */
    private boolean areAllNodesFit(Claim claim) {
        return services.wakeUpMask() == services.all && services.fanOut.votingMask(claim) == services.all;
    }

    void onQueue(RetainedLease entry, int nodeIndex, int detail, long value) {
        questions.onAnswer(entry, nodeIndex, detail);
        boolean isAwaited = detail == CommandDetail.QUEUE && value > 0;
        if (entry.state() == RetainedLease.ENDED) {
            if (isAwaited) {
                pauses.shorten(entry);
            }
            return;
        }
        if (isAwaited) {
            revoke(entry, false);
        } else if (entry.state() == RetainedLease.PREPARING && questions.areAnswered(entry)) {
            openIfAllHold(entry);
        }
    }

    /** A node has not answered a question. */
    void onNoQueue(RetainedLease entry, int nodeIndex) {
        questions.onNoAnswer(nodeIndex);
        if (entry.state() != RetainedLease.ENDED) {
            end(entry, RetentionEnd.NODE_LOST);
        }
    }

    @Override
    boolean retain(LeaseHandle lease) {
        Claim claim = lease.claim;
        RetainedLease entry = of(claim);
        if (entry == null) {
            pauses.countRelease(lease.key);
            return false;
        }
        if (entry.state() == RetainedLease.PREPARING) {
            return true;
        }
        long nowNs = services.clock.nanoTime();
        entry.setTimes(nowNs);
        if (entry.grantUntilNs - nowNs <= lease.times.nodeTimeoutNs || !mayRetain(entry, lease)) {
            end(entry, RetentionEnd.WANTED_LOCALLY);
            return false;
        }
        lease.setState(LeaseState.RELEASING);
        entry.prepare();
        try {
            prepare(entry, nowNs);
        } catch (RuntimeException | Error e) {
            endAfterFailure(entry);
            throw e;
        }
        return true;
    }

    private void prepare(RetainedLease entry, long nowNs) {
        boolean areAnswered = questions.areAnswered(entry);
        if (areAnswered && entry.claim.holderMask == services.all) {
            openIfAllHold(entry);
            return;
        }
        services.timers.start(entry.timer, nowNs + entry.lease.times.nodeTimeoutNs);
        if (areAnswered) {
            questions.sendAgain(entry);
        }
    }

    /**
     * Whether all configured nodes were asked, vote and push, and no other acquisition of this client is before it. A
     * lease that was extended to another ttl is none that a local holder has asked for.
     */
    private boolean mayRetain(RetainedLease entry, LeaseHandle lease) {
        Claim claim = lease.claim;
        WaitQueue queue = scheduler.queues.get(lease.key);
        return !services.isClosing && claim.askedMask == services.all && !claim.isExtending() && areAllNodesFit(claim)
                && claim.round.refused() == 0 && (queue == null || LocalWaiters.isWaitingFor(entry, queue.head()))
                && !localWaiters.isAwaitedByOther(lease.key) && claim.ttlMs == lease.spec.ttlMs;
    }

    /** All nodes have answered the acquire too. An extension meanwhile may have changed the validity. */
    private void openIfAllHold(RetainedLease entry) {
        if (entry.claim.holderMask == services.all && entry.validUntilNs == entry.lease.validUntilNs
                && mayRetain(entry, entry.lease)) {
            open(entry);
        } else {
            end(entry, RetentionEnd.NODE_LOST);
        }
    }

    /** Whether the release of a lease waits for answers. */
    boolean isPreparing(Claim claim) {
        RetainedLease entry = of(claim);
        return entry != null && entry.state() == RetainedLease.PREPARING;
    }

    /** Whether the client retains a lock that no local lease has. */
    boolean isFree(LockKey key) {
        RetainedLease entry = byName.get(key);
        return entry != null && entry.state() == RetainedLease.FREE;
    }

    @Override
    LeaseHandle holderOf(Claim claim) {
        RetainedLease entry = of(claim);
        return entry != null && entry.isHeldLocally() ? entry.holder() : null;
    }

    private RetainedLease of(Claim claim) {
        RetainedLease entry = count == 0 ? null : byName.get(claim.key);
        return entry != null && entry.claim == claim ? entry : null;
    }

    /** Callers may have the lock from now on; a lease without a caller has its claim. */
    private void open(RetainedLease entry) {
        LeaseHandle released = entry.lease;
        Claim claim = entry.claim;
        while (retained.size >= max) {
            end(retained.oldest, RetentionEnd.LIMIT);
        }
        AcquireSpec spec = new AcquireSpec(released.spec.ttlMs);
        spec.isLossWatched = released.spec.isLossWatched;
        LeaseHandle keeping = released.withoutCaller(loop, spec);
        keeper.untrack(released);
        track(keeping, claim);
        entry.lease = keeping;
        watched.remove(entry);
        retained.add(entry);
        entry.isRetained = true;
        byKey.put(entry.key, entry);
        services.timers.start(entry.timer, entry.grantUntilNs);
        services.telemetry.rare.onRetained(claim);
        counters.add(ConductorCounters.RETAINED, 1);
        try {
            passOn(entry);
        } finally {
            if (released.isExtensionAccepted()) {
                released.completeExtend(ExtendOutcome.NOT_HELD);
            }
            released.endRelease(ReleaseOutcome.RETAINED);
        }
    }

    private void track(LeaseHandle lease, Claim claim) {
        keeper.track(lease, claim);
        services.timers.start(claim.holdTimer, lease.validUntilNs);
        if (lease.spec.isLossWatched) {
            keeper.lossWatch.start(claim);
        }
    }

    // ---- the end ----------------------------------------------------------------------------------------------------

    void onTimer(RetainedLease entry, long nowNs) {
        if (entry.state() == RetainedLease.PREPARING) {
            questions.onOverdue(entry, nowNs);
            end(entry, RetentionEnd.NODE_LOST);
        } else {
            end(entry, RetentionEnd.EXPIRED);
        }
    }

    /** A release that throws must not keep the others back, nor what its caller has to do. */
    private void end(RetainedLease entry, RetentionEnd cause) {
        boolean wasRetained = entry.isRetained;
        int before = detach(entry, cause);
        try {
            if (before >= RetainedLease.HELD) {
                giveClaim(entry, entry.holder());
            } else if (wasRetained || before == RetainedLease.PREPARING) {
                if (wasRetained && cause == RetentionEnd.REVOKED) {
                    time(entry.lease);
                }
                keeper.releases.releaseNow(entry.lease);
            }
        } catch (RuntimeException | Error e) {
            Log.error("the end of a retained lock threw; keys that were not released expire with their ttl", e);
        }
    }

    /** Times the release of a lock that another client waits for. */
    private void time(LeaseHandle keeping) {
        long startNs = services.telemetry.clockNs();
        keeping.releaseCallback = (lease, outcome) -> {
            counters.add(ConductorCounters.REVOCATION_NS, services.telemetry.clockNs() - startNs);
            counters.add(ConductorCounters.REVOCATIONS, 1);
        };
    }

    /** Ends it for all callers but the present holder. Returns the state before. */
    private int detach(RetainedLease entry, RetentionEnd cause) {
        int before = entry.end();
        services.timers.stop(entry.timer);
        count--;
        byName.remove(entry);
        if (entry.isRetained) {
            hide(entry);
            counters.add(ConductorCounters.RETENTION_END_FIRST + cause.ordinal(), 1);
            services.telemetry.rare.onRetentionEnded(entry.claim.number, entry.key, cause, entry.grantCount());
        }
        watched.remove(entry);
        countGrants(entry);
        if (cause == RetentionEnd.EXPIRED) {
            pauses.forget(entry.key);
        }
        return before;
    }

    /** No caller gets it from now on. */
    private void hide(RetainedLease entry) {
        retained.remove(entry);
        watched.add(entry);
        entry.isRetained = false;
        byKey.remove(entry.key);
        countGrants(entry);
        counters.add(ConductorCounters.RETAINED, -1);
    }

    private void countGrants(RetainedLease entry) {
        counters.add(ConductorCounters.LOCAL_GRANTS, entry.uncountedGrants());
        entry.countedGrants = entry.grantCount();
    }

    /** The holder needs a lease like any other. Its release may retain the lock again: the nodes still push. */
    void giveToHolder(RetainedLease entry) {
        LeaseHandle holder = entry.holder();
        services.timers.stop(entry.timer);
        hide(entry);
        giveClaim(entry, holder);
        entry.lease = holder;
    }

    private void giveClaim(RetainedLease entry, LeaseHandle holder) {
        LeaseHandle keeping = entry.lease;
        keeper.untrack(keeping);
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
    void onEnded(Claim claim) {
        if (count != 0) {
            endAllOf(claim.key);
        }
    }

    @Override
    void onLosing(Claim claim) {
        RetainedLease entry = of(claim);
        if (entry == null) {
            return;
        }
        boolean wasRetained = entry.isRetained;
        int before = detach(entry, RetentionEnd.NODE_LOST);
        if (before >= RetainedLease.HELD) {
            giveClaim(entry, entry.holder());
        } else if (wasRetained) {
            // No caller has it, so its loss concerns nobody.
            entry.lease.isKept = true;
        }
    }

    @Override
    void onHolderDropped(Claim claim) {
        RetainedLease entry = of(claim);
        if (entry != null) {
            end(entry, RetentionEnd.NODE_LOST);
        }
    }

    @Override
    void onNodeLost() {
        while (watched.oldest != null) {
            end(watched.oldest, RetentionEnd.NODE_LOST);
        }
        while (retained.oldest != null) {
            end(retained.oldest, RetentionEnd.NODE_LOST);
        }
    }

    @Override
    void trim() {
        byName.trim(WaitQueues.TRIM_CAPACITY_MIN);
    }

    @Override
    void stop() {
        while (retained.oldest != null) {
            endAtClose(retained.oldest);
        }
        while (watched.oldest != null) {
            endAtClose(watched.oldest);
        }
    }

    /** Its lease ends as all others. If no caller has it, its loss before its release concerns nobody. */
    private void endAtClose(RetainedLease entry) {
        boolean wasRetained = entry.isRetained;
        int before = detach(entry, RetentionEnd.CLOSED);
        if (before >= RetainedLease.HELD) {
            giveClaim(entry, entry.holder());
        } else if (wasRetained) {
            entry.lease.isKept = true;
        }
    }

    // ---- other clients ----------------------------------------------------------------------------------------------

    @Override
    boolean onInvalidated(int nodeIndex, ByteBuf name, int index, int length) {
        int lockLength = RetainedKeyName.lockLengthOf(name, index, length);
        if (lockLength < 0) {
            return false;
        }
        RetainedLease entry = count == 0 ? null : byName.get(name, index, lockLength);
        if (entry == null) {
            services.telemetry.rare.onSpuriousPush(null, nodeIndex);
        } else {
            revoke(entry, true);
            if (RetentionPauses.isWorth(entry)) {
                questions.askForWaiter(entry, nodeIndex);
            }
        }
        return true;
    }

    private void revoke(RetainedLease entry, boolean isTraced) {
        pauses.start(entry, isTraced);
        end(entry, RetentionEnd.REVOKED);
    }

    @Override
    void onFailed(Claim claim, AcquireOutcome.Kind reason) {
        onEnded(claim);
        if (reason == AcquireOutcome.Kind.CONTENDED) {
            traces.set(claim);
        }
    }
}
