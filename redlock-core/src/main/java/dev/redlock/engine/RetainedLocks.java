package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.node.CommandKind;
import dev.redlock.node.LockKind;
import dev.redlock.node.Log;
import io.netty.buffer.ByteBuf;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Keeps locks after their release, if the options ask for it: the next acquisition of the same resource by this client
 * gets it on its own thread. A client that wants the lock changes the key of its tickets or that of its traces,
 * on some node, which pushes this change; then the lock is released.
 *
 * <ol>
 * <li>An acquire asks for both keys in its write, with {@code CLIENT CACHING YES}: the nodes push from the grant on.
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

    /** A local grant needs this part of the validity, or the least validity of its options if that is more. */
    private static final int VALIDITY_DIVIDEND = 2;
    private static final int VALIDITY_DIVISOR = 3;
    /** At most some microseconds. */
    private static final int SPINS_MAX = 64;
    /** A revocation after fewer local grants was not worth the time that it took another client. */
    private static final int GRANTS_WORTH = 2;
    private static final long PAUSE_MAX = 1024;
    /** A caller whose budget ends sooner may not come to ask for a ticket. */
    private static final long TICKET_NS_MAX = 1_000_000;
    /** As long as a trace keeps the key: its end is a push. */
    private static final long TRACE_TTL_MS_MIN = 60_000;
    /** Commands to each node that follow an acquire. */
    private static final int QUESTIONS = 3;

    private final LoopServices services;
    private final AcquireScheduler scheduler;
    private final LeaseKeeper keeper;
    private final LeaseLoop loop;
    private final ConductorCounters counters;
    private final int max;
    /** Users of the command mode {@code NATIVE} may lack the right. */
    private final boolean areTracesLeft;
    private final RetainedRequest trace = new RetainedRequest(this, null);
    /** The retained locks, for callers. */
    private final ConcurrentHashMap<LockKey, RetainedLease> byKey = new ConcurrentHashMap<>();
    /** All entries. */
    final KeyedMap<RetainedLease> byName = new KeyedMap<>();
    private final Chain retained = new Chain();
    /** The entries that no caller may get yet. */
    private final Chain watched = new Chain();
    /** The releases that a lock is not retained after a revocation: the left ones, and from bit 32 on all of them. */
    private final RecentValues pauses = new RecentValues();
    /** Nodes that owe an answer from before. They might hang, so no lock is retained before they have answered. */
    private long owingMask;
    private long grantCountMax;

    /**
     * Entries in order of arrival.
     *
     * @threading event-loop-confined
     */
    private static final class Chain {

        private RetainedLease oldest;
        private RetainedLease newest;
        private int size;

        private void add(RetainedLease entry) {
            size++;
            entry.older = newest;
            if (newest == null) {
                oldest = entry;
            } else {
                newest.newer = entry;
            }
            newest = entry;
        }

        private void remove(RetainedLease entry) {
            size--;
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

    @Override
    boolean grant(LeaseHandle lease) {
        RetainedLease found = byKey.get(lease.key);
        // The event loop runs callbacks.
        if (found == null || lease.acquireCallback != null || !grantSoon(found, lease)) {
            return false;
        }
        RetainedGrant.complete(lease);
        return true;
    }

    /** Another thread may return the lock sooner than the event loop could pass it on. */
    private static boolean grantSoon(RetainedLease found, LeaseHandle lease) {
        for (int i = 0; i < SPINS_MAX; i++) {
            if (found.grant(lease)) {
                return true;
            }
            if (!found.isHeldForNow(lease)) {
                return false;
            }
            Thread.onSpinWait();
        }
        return false;
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
            if (entry.grant(lease) || !hasHolder(entry) && entry.grant(lease)) {
                RetainedGrant.completeOnLoop(lease);
                return true;
            }
            if (hasHolder(entry) && (lease.waitNs > 0 || entry.state() != RetainedLease.PREPARING)) {
                return waitFor(entry, lease);
            }
            if (lease.waitNs > 0 && isAttempted(entry)) {
                return false;
            }
        }
        endAllOf(lease.key);
        return false;
    }

    /** Whether a lease of this client has the lock, whose return goes to the event loop from now on. */
    private static boolean hasHolder(RetainedLease entry) {
        return switch (entry.state()) {
            case RetainedLease.WATCHED -> entry.lease.claim == entry.claim;
            case RetainedLease.PREPARING -> true;
            default -> entry.want();
        };
    }

    /** Whether an attempt for the lock has a queue, in which others of this client follow it. */
    private boolean isAttempted(RetainedLease entry) {
        PendingAcquire attempt = entry.state() == RetainedLease.WATCHED ? entry.claim.pending : null;
        if (attempt == null || attempt.lease.waitNs <= 0) {
            return false;
        }
        if (scheduler.queues.get(entry.key) == null) {
            scheduler.queues.enqueue(attempt);
        }
        return true;
    }

    /** An acquisition meets a local holder. Returns false if it follows the others in the queue. */
    private boolean waitFor(RetainedLease entry, LeaseHandle lease) {
        WaitQueue queue = scheduler.queues.get(lease.key);
        if (lease.waitNs <= 0) {
            services.telemetry.rare.onAcquireRejected(lease, AcquireOutcome.Kind.CONTENDED);
            services.counters.onAttemptFailed(AcquireOutcome.Kind.CONTENDED);
            lease.completeAcquire(AcquireOutcome.Kind.CONTENDED, AcquireOutcome.Kind.CONTENDED);
            return true;
        }
        if (queue != null) {
            return false;
        }
        long nowNs = services.clock.nanoTime();
        PendingAcquire pending = scheduler.take(lease);
        services.telemetry.onAcquireStarted(pending, nowNs);
        pending.deadlineNs = nowNs + Math.min(lease.waitNs, Retries.WAIT_NS_MAX);
        pending.state = PendingAcquire.State.BACKING_OFF;
        pending.plan = PendingAcquire.Plan.COORDINATOR_FIRST;
        scheduler.queues.enqueue(pending).isHeldLocally = true;
        services.timers.start(pending.timer, WaitQueues.earlier(entry.lease.validUntilNs, pending.deadlineNs));
        return true;
    }

    /** The holder has returned the lock on the event loop: the first waiter gets it, or it is free. */
    void passOn(RetainedLease entry) {
        try {
            passOnToFirst(entry);
        } catch (RuntimeException | Error e) {
            endAfterFailure(entry);
            throw e;
        }
    }

    private void passOnToFirst(RetainedLease entry) {
        WaitQueue queue = scheduler.queues.get(entry.key);
        PendingAcquire head = queue == null ? null : queue.head();
        if (head == null) {
            entry.open();
            return;
        }
        long nowNs = services.clock.nanoTime();
        if (!isWaitingFor(entry, head) || entry.grantUntilNs - nowNs <= 0
                || entry.validUntilNs - nowNs < head.lease.times.minValidityNs) {
            end(entry, RetentionEnd.WANTED_LOCALLY);
            return;
        }
        entry.give(head.lease, head.waiting.nextInQueue != null, nowNs);
        scheduler.finish(head, AcquireOutcome.Kind.ACQUIRED, AcquireOutcome.Kind.ACQUIRED);
    }

    /** A lock that nobody has, and that no caller can get, is released. */
    private void endAfterFailure(RetainedLease entry) {
        if (entry.state() == RetainedLease.PREPARING || entry.isRetained && entry.state() == RetainedLease.WATCHED) {
            end(entry, RetentionEnd.NODE_LOST);
        }
    }

    private static boolean isWaitingFor(RetainedLease entry, PendingAcquire head) {
        return head.state == PendingAcquire.State.BACKING_OFF && entry.isFor(head.lease);
    }

    // ---- from an attempt to a retained lock -------------------------------------------------------------------------

    @Override
    void ask(Claim claim, long mask) {
        RetainedLease entry = watch(claim, claim.askedMask == mask);
        if (entry == null) {
            services.fanOut.send(claim, AcquireOperation.kindOf(claim), 0, mask);
            return;
        }
        counters.add(ConductorCounters.COMMANDS, (long) QUESTIONS * Long.bitCount(mask));
        // First the key, which refused clients change if it is there: its push tells of each client that the grant of
        // this acquire refuses. The tickets last, because the acquire itself may change them, which no push tells.
        services.fanOut.send(entry.watch, CommandKind.CREATE_TRACE, RetainedRequest.TRACES, mask);
        services.fanOut.send(entry.watch, CommandKind.WATCH_TICKETS, RetainedRequest.TRACES, mask);
        services.fanOut.send(claim, AcquireOperation.kindOf(claim), 0, mask);
        services.fanOut.send(entry.watch, CommandKind.WATCH_TICKETS, RetainedRequest.TICKETS, mask);
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
        RetainedLease entry = new RetainedLease(this, loop, claim.pending.lease, claim);
        entry.watch.of(claim.key).ttlMs = Math.max(TRACE_TTL_MS_MIN, claim.ttlMs);
        count++;
        byName.add(entry);
        watched.add(entry);
        return entry;
    }

    private boolean mayWatch(Claim claim) {
        WaitQueue queue = scheduler.queues.get(claim.key);
        return !services.isClosing && max > 0 && areAllNodesFit(claim) && owingMask == 0
                && (int) pauses.get(claim.key, 0) == 0
                && (queue == null || queue.head() == claim.pending);
    }

    /** Whether all configured nodes vote and push. */
    private boolean areAllNodesFit(Claim claim) {
        return services.wakeUpMask() == services.all && services.fanOut.votingMask(claim) == services.all;
    }

    void onTickets(RetainedLease entry, int nodeIndex, int sequence, long value) {
        long bit = 1L << nodeIndex;
        owingMask &= ~bit;
        if (entry.state() == RetainedLease.ENDED) {
            return;
        }
        if (sequence == RetainedRequest.TICKETS && Ticket.isAwaited(value)) {
            end(entry, RetentionEnd.REVOKED);
            return;
        }
        entry.ticketsMask |= sequence == RetainedRequest.TICKETS ? bit : 0;
        entry.tracesMask |= sequence == RetainedRequest.TRACES ? bit : 0;
        if (entry.state() == RetainedLease.PREPARING && isAnswered(entry)) {
            openIfAllHold(entry);
        }
    }

    /** A node has not answered a question. */
    void onNoTickets(RetainedLease entry, int nodeIndex) {
        owingMask &= ~(1L << nodeIndex);
        if (entry.state() != RetainedLease.ENDED) {
            end(entry, RetentionEnd.NODE_LOST);
        }
    }

    private boolean isAnswered(RetainedLease entry) {
        return (entry.ticketsMask & entry.tracesMask) == services.all;
    }

    @Override
    boolean retain(LeaseHandle lease) {
        Claim claim = lease.claim;
        RetainedLease entry = of(claim);
        if (entry == null) {
            countRelease(lease.key);
            return false;
        }
        if (entry.state() == RetainedLease.PREPARING) {
            return true;
        }
        long nowNs = services.clock.nanoTime();
        setTimes(entry, nowNs);
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
        if (isAnswered(entry) && entry.claim.holderMask == services.all) {
            openIfAllHold(entry);
            return;
        }
        services.timers.start(entry.timer, nowNs + entry.lease.times.nodeTimeoutNs);
        if (isAnswered(entry)) {
            // The answers come after those to an extension.
            entry.ticketsMask = 0;
            counters.add(ConductorCounters.COMMANDS, services.voters.length);
            services.fanOut.send(entry.watch, CommandKind.WATCH_TICKETS, RetainedRequest.TICKETS, services.all);
        }
    }

    private static void setTimes(RetainedLease entry, long nowNs) {
        LeaseHandle lease = entry.lease;
        if (!entry.isUntilKnown) {
            entry.isUntilKnown = true;
            entry.retainUntilNs = nowNs + lease.spec.retainNsMax;
        }
        entry.validUntilNs = lease.validUntilNs;
        long lastNs = lease.validUntilNs - lease.times.validityNs / VALIDITY_DIVISOR * VALIDITY_DIVIDEND;
        entry.grantUntilNs = WaitQueues.earlier(lastNs, entry.retainUntilNs);
    }

    /** Whether all configured nodes were asked, vote and push, and no other acquisition of this client is before it. */
    private boolean mayRetain(RetainedLease entry, LeaseHandle lease) {
        Claim claim = lease.claim;
        WaitQueue queue = scheduler.queues.get(lease.key);
        ResourceQueues others = scheduler.queues.resourceQueues;
        return !services.isClosing && claim.askedMask == services.all && !claim.isExtending() && areAllNodesFit(claim)
                && claim.round.refused() == 0 && (queue == null || isWaitingFor(entry, queue.head()))
                && (queue != null || others.isEmpty() || others.of(lease.key) == null);
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

    private void countRelease(LockKey key) {
        long pause = pauses.get(key, 0);
        if ((int) pause > 0) {
            pauses.put(key, pause - 1);
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
        LeaseHandle keeping = keeping(released);
        keeper.untrack(released);
        released.claim = null;
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

    private LeaseHandle keeping(LeaseHandle released) {
        LeaseHandle keeping = new LeaseHandle(released.client);
        keeping.startUse(loop);
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

    void onTimer(RetainedLease entry) {
        if (entry.state() == RetainedLease.PREPARING) {
            owingMask = services.all & ~(entry.ticketsMask & entry.tracesMask);
            end(entry, RetentionEnd.NODE_LOST);
        } else {
            end(entry, RetentionEnd.EXPIRED);
        }
    }

    /** A release that throws must not keep the others back, nor what its caller has to do. */
    private void end(RetainedLease entry, RetentionEnd cause) {
        int number = entry.claim.number;
        boolean wasRetained = entry.isRetained;
        int before = detach(entry, cause);
        try {
            if (before >= RetainedLease.HELD) {
                giveClaim(entry, entry.holder());
            } else if (wasRetained || before == RetainedLease.PREPARING) {
                keeper.releases.releaseNow(entry.lease);
            }
            if (wasRetained) {
                services.telemetry.rare.onRetentionEnded(number, entry.key, cause, entry.grantCount());
            }
        } catch (RuntimeException | Error e) {
            Log.error("the end of a retained lock threw; keys that were not released expire with their ttl", e);
        }
    }

    /** Ends it for all callers but the present holder. Returns the state before. */
    private int detach(RetainedLease entry, RetentionEnd cause) {
        int before = entry.end();
        boolean wasGranted = entry.isRetained || entry.grantCount() > 0;
        services.timers.stop(entry.timer);
        count--;
        byName.remove(entry);
        if (entry.isRetained) {
            hide(entry);
            counters.add(ConductorCounters.RETENTION_END_FIRST + cause.ordinal(), 1);
        }
        watched.remove(entry);
        countGrants(entry);
        if (cause == RetentionEnd.REVOKED) {
            pause(entry, wasGranted);
        } else if (cause == RetentionEnd.EXPIRED) {
            pauses.take(entry.key, 0);
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

    /** A lock that no caller could get has cost another client nothing, so its pause does not grow. */
    private void pause(RetainedLease entry, boolean wasGranted) {
        long last = pauses.get(entry.key, 0) >>> Integer.SIZE;
        long next = wasGranted ? Math.min(PAUSE_MAX, 2 * last) : last;
        long pause = entry.grantCount() >= GRANTS_WORTH ? 1 : Math.max(1, next);
        pauses.put(entry.key, pause << Integer.SIZE | pause);
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
        } else if (before == RetainedLease.PREPARING) {
            completeReleaseLater(entry.lease);
        } else if (wasRetained) {
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
            leave(retained.oldest);
        }
        while (watched.oldest != null) {
            leave(watched.oldest);
        }
    }

    /** Its lease ends as all others. */
    private void leave(RetainedLease entry) {
        int before = detach(entry, RetentionEnd.CLOSED);
        if (before >= RetainedLease.HELD) {
            giveClaim(entry, entry.holder());
        } else if (before == RetainedLease.PREPARING && services.loop.isShuttingDown()) {
            completeReleaseLater(entry.lease);
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
            end(entry, RetentionEnd.REVOKED);
        }
        return true;
    }

    /** A refused client without a ticket leaves a trace: it changes the key of the traces, if there is one. */
    @Override
    void onFailed(Claim claim, AcquireOutcome.Kind reason) {
        onEnded(claim);
        if (reason != AcquireOutcome.Kind.CONTENDED || !areTracesLeft || !isTraceDue(claim)) {
            return;
        }
        // On each node that refuses it, also later: the coordinator may have granted, and one may not be reached.
        long refusing = claim.askedMask & ~claim.round.granted();
        int keyCount = claim.key.kind == LockKind.SET ? claim.key.resourceCount : 1;
        for (int i = 0; i < keyCount; i++) {
            counters.add(ConductorCounters.COMMANDS, Long.bitCount(refusing));
            trace.of(claim.key.resourceKey(i));
            services.fanOut.send(trace, CommandKind.LEAVE_TRACE, RetainedRequest.TRACES, refusing);
        }
    }

    private boolean isTraceDue(Claim claim) {
        PendingAcquire pending = claim.pending;
        LockKey key = pending.lease.key;
        if (key.kind != LockKind.PLAIN) {
            return key.kind != LockKind.PERMIT;
        }
        return !claim.isCoordinatorAskedToWait() && !isTicketNext(pending, key);
    }

    /** Whether the coordinator gives it a ticket at once. */
    private boolean isTicketNext(PendingAcquire pending, LockKey key) {
        return pending.lease.waitNs > 0 && pending.plan == PendingAcquire.Plan.UNCONTENDED
                && pending.deadlineNs - services.clock.nanoTime() > TICKET_NS_MAX
                && services.coordinator.of(key) != Coordinator.NONE && scheduler.inFlight.first == null
                && scheduler.queues.get(key) == null
                && scheduler.registrations.count < services.config.limits().wakeUpKeysMax();
    }
}
