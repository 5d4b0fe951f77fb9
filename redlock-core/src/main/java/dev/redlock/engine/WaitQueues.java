package dev.redlock.engine;

import dev.redlock.engine.key.KeyedMap;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.key.PermitKey;
import dev.redlock.engine.key.ResourcesKey;
import dev.redlock.node.send.CommandKind;
import dev.redlock.node.send.FreeList;
import dev.redlock.node.send.LockKind;
import io.netty.buffer.ByteBuf;
import java.util.function.Consumer;

/**
 * Owns the local queues, one for each resource with a waiting acquisition, and runs the handoffs. After this client
 * releases a lock, the next local waiter starts its attempt immediately. After some handoffs the queue pauses for one
 * retry delay, during which other clients find the lock free.
 *
 * @threading event-loop-confined
 */
final class WaitQueues {

    /** Between the attempts of waiters that one event wakes: 20 000 attempts a second leave room for other locks. */
    private static final long WAKE_INTERVAL_NS = 50_000;
    private static final long SERVED_LONG_AGO_NS = 1_000_000_000;
    static final int TRIM_CAPACITY_MIN = 4 * LoopServices.POOLED_MIN;

    final WaitMarks marks;
    final Registrations registrations;
    private final LoopServices services;
    private final AcquireScheduler scheduler;
    private final RetryDelays retryDelays;
    /** Set once. */
    private Fairness fairness;
    /** Set once. */
    private Crowd crowd;
    private final KeyedMap<WaitQueue> queues = new KeyedMap<>();
    final ResourceQueues resourceQueues = new ResourceQueues();
    final SetOrder setOrder;
    private final FreeList<WaitQueue> free = new FreeList<>(LoopServices.POOLED_MIN);
    /** Queues of all kinds: while it is 0, nobody asks for them. */
    int count;
    /** When the next of the waiters that one event wakes starts its attempt. */
    private long wakeNs;

    WaitQueues(LoopServices services, ClaimPool claims, AcquireScheduler scheduler, RetryDelays retryDelays) {
        this.services = services;
        this.scheduler = scheduler;
        this.setOrder = new SetOrder(services, scheduler, resourceQueues);
        this.retryDelays = retryDelays;
        this.registrations = new Registrations(services, queues, resourceQueues);
        this.marks = new WaitMarks(services, claims, scheduler);
    }

    void connect(Fairness givingWay) {
        fairness = givingWay;
    }

    void connect(Crowd inOrder) {
        crowd = inOrder;
    }

    /** Returns the queue of a resource; null if no acquisition waits for it. */
    WaitQueue get(LockKey key) {
        return count == 0 ? null : queues.get(key);
    }

    /** Returns the queue of a plain lock with a name; null if no acquisition waits for it. */
    WaitQueue get(ByteBuf name, int index, int length) {
        return queues.get(name, index, length);
    }

    /** Passes each queue to an action, which must not change it. */
    void forEach(Consumer<WaitQueue> action) {
        queues.forEach(action);
    }

    /** Gives an attempt that has none its queue. Returns the queue, of which it need not be the head. */
    WaitQueue enqueue(PendingAcquire pending) {
        WaitQueue existing = queues.get(pending.lease.key);
        WaitQueue queue = existing == null ? create(pending.lease.key) : existing;
        queue.append(pending);
        return queue;
    }

    /** Returns how much memory is kept: the queues in the pool, and the buckets of both tables. */
    int capacity() {
        return free.length() + queues.capacity() + resourceQueues.capacity();
    }

    /** Creates the queue of a resource. */
    WaitQueue create(LockKey key) {
        WaitQueue pooled = free.poll();
        WaitQueue queue = pooled == null ? new WaitQueue() : pooled;
        queue.key = key;
        queue.servedNs = services.clock.nanoTime() - SERVED_LONG_AGO_NS;
        queue.isHeldLocally = false;
        queue.isPausing = false;
        queue.place.reset();
        queue.position = Ticket.FIRST_POSITION;
        count++;
        queues.add(queue);
        resourceQueues.add(queue);
        return queue;
    }

    /**
     * Promotes the next waiter after a queue has lost its head. It starts its attempt immediately or, if this client
     * has just acquired the lock, at the end of that lease.
     */
    void promoteNext(WaitQueue queue, LeaseHandle holder) {
        PendingAcquire head = queue.head();
        // A reader does not hold up the next one, nor does the holder of a permit.
        LeaseHandle blocking = queue.kind().isShared ? null : holder;
        queue.isHeldLocally = blocking != null;
        if (head == null) {
            registrations.remove(queue);
            passOnPriority(queue);
            count--;
            queues.remove(queue);
            resourceQueues.remove(queue);
            LockKey key = queue.key;
            int node = queue.place.node();
            queue.key = null;
            queue.hints = null;
            free.push(queue);
            if (node >= 0) {
                marks.leaveQueue(key, node);
            }
            return;
        }
        if (head.state == PendingAcquire.State.ATTEMPTING) {
            // A permit: the attempt started behind the last head.
            scheduler.followers.onLeft(queue);
            return;
        }
        scheduler.retries.onPromoted(head);
        if (holder != null && SetOrder.isOfSet(queue)) {
            resourceQueues.moveToEnd(queue);
        }
        if (blocking != null) {
            services.timers.start(head.timer, earlier(blocking.validUntilNs, head.deadlineNs));
        } else if (queue.isPausing) {
            passOnPriority(queue);
            services.timers.start(head.timer, earlier(queue.pauseEndNs, head.deadlineNs));
        } else {
            registrations.remove(queue);
            services.timers.start(head.timer, services.clock.nanoTime());
        }
    }

    /** A lock is granted to this client; the queue is null without a wait budget. */
    void onHeld(LockKey key, WaitQueue queue, long untilNs) {
        if (!resourceQueues.isEmpty() && !key.kind.isShared) {
            setOrder.onHeld(key, queue, untilNs);
        }
    }

    /** A waiter makes no attempt for now: if it is a set, the next one may. */
    void passOnPriority(WaitQueue queue) {
        if (SetOrder.isOfSet(queue)) {
            setOrder.passOn(queue);
        }
    }

    static long earlier(long oneNs, long otherNs) {
        return oneNs - otherNs < 0 ? oneNs : otherNs;
    }

    // ---- handoffs ---------------------------------------------------------------------------------------------------

    /**
     * A lease of this client has ended: starts the attempt of the first local waiter, or the pause if it is due. Wakes
     * the first waiters for other locks with the same resources, without waiting for {@link #onOwnReply}.
     *
     * @param lockedKey the key that it had on the nodes: of a semaphore, one of its permits
     */
    void handOff(LockKey key, LockKey lockedKey) {
        WaitQueue queue = get(key);
        if (!resourceQueues.isEmpty()) {
            setOrder.onEnded(lockedKey);
        }
        if (key.kind != LockKind.PLAIN) {
            prepareHandOff(key, lockedKey, queue);
        }
        if (queue != null && key.kind != LockKind.READ) {
            handOff(queue);
        }
        for (int i = 0; !resourceQueues.isEmpty() && i < lockedKey.resourceCount; i++) {
            ResourceQueues.Entry entry = resourceQueues.of(lockedKey.resourceKey(i));
            if (entry != null) {
                wakeLocally(entry, key);
            }
        }
    }

    /** A lease of this client with a resource has ended. The next waiter for the same lock starts its attempt first. */
    private void wakeLocally(ResourceQueues.Entry entry, LockKey ended) {
        WaitQueue own = get(ended);
        boolean isOwnFirst = own != null && SetOrder.isOfSet(own)
                && own.head().state != PendingAcquire.State.BACKING_OFF;
        WaitQueue first = isOwnFirst ? own : setOrder.restart(entry);
        if (isOwnFirst) {
            entry.givePriority(own, true);
        }
        for (WaitQueue other : entry.queues) {
            boolean isLater = SetOrder.isOfSet(other) && other != first
                    && other.head().state == PendingAcquire.State.BACKING_OFF;
            boolean isStarted = other.key.equals(ended) && (isOwnFirst || other != first);
            if (!isLater && !isStarted) {
                wakeLocally(other);
            }
        }
    }

    private void prepareHandOff(LockKey key, LockKey lockedKey, WaitQueue queue) {
        if (key.kind == LockKind.PERMIT) {
            if (queue != null && queue.hints != null) {
                queue.hints.permit = (PermitKey.Permit) lockedKey;
                queue.hints.isPermitPushed = false;
            }
            return;
        }
        for (int i = 0; i < key.resourceCount; i++) {
            WaitQueue plain = get(key.resourceKey(i));
            if (plain != null) {
                wakeLocally(plain);
            }
        }
    }

    private void handOff(WaitQueue queue) {
        queue.isHeldLocally = false;
        queue.servedNs = services.clock.nanoTime();
        registrations.remove(queue);
        if (!queue.isPausing) {
            fairness.handOff(queue);
        }
    }

    /** The head makes no attempt until a time. */
    void pause(WaitQueue queue, long untilNs) {
        PendingAcquire head = queue.head();
        queue.isPausing = true;
        forgetPermits(queue);
        queue.pauseEndNs = untilNs;
        head.planNext(PendingAcquire.Plan.YIELDING);
        head.waiting.timerStep = Waiting.TimerStep.ATTEMPT;
        scheduler.retries.returnPlace(head);
        services.timers.start(head.timer, earlier(untilNs, head.deadlineNs));
        passOnPriority(queue);
    }

    // ---- wake-ups ---------------------------------------------------------------------------------------------------

    /** A waiter was refused again, and what it does next is decided. */
    void onRefusedAgain(LockKey key) {
        // The waiters of plain locks are in a queue.
        WaitQueue queue = key.markKey() != null ? queues.get(key) : null;
        if (queue != null) {
            marks.set(queue);
        }
    }

    private static void forgetPermits(WaitQueue queue) {
        if (queue.hints != null) {
            queue.hints.forget();
        }
    }

    /** A key of the queue may have become free without a push. The next attempt registers again. */
    void wakeLocally(WaitQueue queue) {
        registrations.remove(queue);
        PendingAcquire head = queue.head();
        if (head.state == PendingAcquire.State.BACKING_OFF && !queue.isHeldLocally && !queue.isPausing) {
            scheduler.retries.wake(head, PendingAcquire.Plan.COORDINATOR_FIRST, services.clock.nanoTime());
        } else {
            head.waiting.isWoken = true;
        }
    }

    /**
     * A node has replied to a command of this client while queues are registered. If the command has changed a key, the
     * node has ended the registrations of the connection for it without a push. Replies have the order of the commands,
     * so a registration that is known here precedes the change. A waiter without one asks later and sees the change.
     *
     * <ul>
     * <li>A release, also that of an attempt or of a reservation, wakes the waiters for its keys.
     * <li>A grant and a new expiry wake nobody: the release of the lock follows, by this client. A reader does not wait
     * for that, but for the end of a writer's reservation beside it.
     * </ul>
     */
    void onOwnReply(Claim claim, int nodeIndex, CommandKind kind, long value) {
        if (kind.isRelease()) {
            if (value != 0) {
                wakeRegistered(claim.key.lock(), nodeIndex);
            }
            return;
        }
        if (value <= 0 || !kind.isAcquire && kind != CommandKind.EXTEND && kind != CommandKind.SHORTEN) {
            return;
        }
        WaitQueue own = claim.pending == null ? null : claim.pending.queue;
        if (own != null && own.kind() != LockKind.PERMIT) {
            registrations.remove(own, nodeIndex);
        }
        WaitQueue readers = claim.lockKind() == LockKind.READ ? get(claim.key) : null;
        if (readers != null && readers != own) {
            wakeRegistered(readers, nodeIndex);
        }
    }

    private void wakeRegistered(LockKey lockedKey, int nodeIndex) {
        for (int i = 0; i < lockedKey.resourceCount; i++) {
            WaitQueue plain = get(lockedKey.resourceKey(i));
            if (plain != null) {
                wakeRegistered(plain, nodeIndex);
            }
            wakeRegistered(resourceQueues.of(lockedKey.resourceKey(i)), nodeIndex);
        }
    }

    /** A release that was delivered late has deleted a key. */
    void onDeliveredLate(int nodeIndex, ByteBuf name, int index, int nameLength) {
        int length = ResourcesKey.resourceLengthOf(name, index, nameLength);
        WaitQueue plain = queues.get(name, index, length);
        if (plain != null) {
            wakeRegistered(plain, nodeIndex);
        }
        wakeRegistered(resourceQueues.of(name, index, length), nodeIndex);
    }

    /** The oldest of the sets gets priority, unless a still older one has it. */
    private void wakeRegistered(ResourceQueues.Entry entry, int nodeIndex) {
        if (entry == null) {
            return;
        }
        boolean isPriorityGiven = false;
        for (WaitQueue queue : entry.queues) {
            isPriorityGiven |= entry.priority == queue && !isRegistered(queue, nodeIndex);
            if (SetOrder.awaitsOther(queue, entry)) {
                continue;
            }
            boolean isSleepingSet = SetOrder.isOfSet(queue)
                    && queue.head().state == PendingAcquire.State.BACKING_OFF;
            if (isSleepingSet && isRegistered(queue, nodeIndex)
                    && (isPriorityGiven || !setOrder.isReady(queue, entry))) {
                registrations.remove(queue, nodeIndex);
            } else if (isSleepingSet && isRegistered(queue, nodeIndex)) {
                isPriorityGiven = true;
                entry.givePriority(queue, false);
                wakeLocally(queue);
            } else {
                wakeRegistered(queue, nodeIndex);
            }
        }
    }

    private static boolean isRegistered(WaitQueue queue, int nodeIndex) {
        return (queue.registeredMask & 1L << nodeIndex) != 0;
    }

    private void wakeRegistered(WaitQueue queue, int nodeIndex) {
        if (isRegistered(queue, nodeIndex)) {
            if (queue.kind() == LockKind.PERMIT) {
                queue.head().waiting().hasSearched = false;
            }
            wakeLocally(queue);
        }
    }

    /** A node pushes that a key has changed; a push does not say how. */
    void onInvalidated(int nodeIndex, ByteBuf name, int index, int nameLength) {
        int length = ResourcesKey.resourceLengthOf(name, index, nameLength);
        WaitQueue queue = queues.get(name, index, length);
        ResourceQueues.Entry others = resourceQueues.isEmpty() ? null : resourceQueues.of(name, index, length);
        if (queue == null && others == null) {
            // Nobody waits any more.
            services.telemetry.rare.onSpuriousPush(null, nodeIndex);
        }
        if (queue != null) {
            onInvalidated(queue, nodeIndex);
        }
        if (others == null) {
            return;
        }
        WaitQueue first = setOrder.restart(others);
        for (WaitQueue other : others.queues) {
            if (other.kind() == LockKind.PERMIT) {
                onPermitInvalidated(other, nodeIndex, PermitKey.permitNumberOf(name, index, length));
            } else if (other != first && SetOrder.isOfSet(other)
                    && other.head().state == PendingAcquire.State.BACKING_OFF) {
                if (!SetOrder.awaitsOther(other, others)) {
                    registrations.remove(other, nodeIndex);
                }
            } else {
                onInvalidated(other, nodeIndex);
            }
        }
    }

    /**
     * A permit of a semaphore has changed: the next attempt asks for it, or the next waiter does if the head is busy
     * with another permit. The node does not push the next change of this permit, but still those of the other ones. So
     * if a second one has changed and there is only one waiter, the client searches again.
     */
    private void onPermitInvalidated(WaitQueue queue, int nodeIndex, int number) {
        PendingAcquire head = queue.head();
        PermitHints hints = queue.hints;
        PermitFollowers followers = scheduler.followers;
        boolean isAttempting = head.claim != null && head.claim.phase == Claim.Phase.ACQUIRING;
        boolean isSearching = head.claim != null && head.claim.phase == Claim.Phase.SEARCHING;
        boolean isWoken = isAttempting ? head.waiting.isWoken : head.waiting.timerStep == Waiting.TimerStep.WAKE;
        boolean isOtherPermit = hints.permit != null && hints.permit.number() != number;
        if ((isAttempting || isOtherPermit) && followers.isOneFor(queue, number)) {
            hints.pushed.set(number);
            registrations.remove(queue, nodeIndex);
            services.telemetry.rare.onWoken(queue.key, nodeIndex);
            followers.start(queue);
            return;
        }
        if (isOtherPermit) {
            hints.permit = null;
            // Also after an attempt for a permit that a waiter behind the head was to ask for.
            head.waiting().hasSearched = false;
        } else if (!isWoken && !isSearching && !queue.isPausing) {
            hints.permit = ((PermitKey) queue.key).permitKey(number);
            hints.isPermitPushed = true;
        }
        if (isAttempting) {
            registrations.remove(queue, nodeIndex);
            services.telemetry.rare.onWoken(queue.key, nodeIndex);
            head.waiting.isWoken = true;
        } else {
            onInvalidated(queue, nodeIndex);
        }
    }

    private void onInvalidated(WaitQueue queue, int nodeIndex) {
        registrations.remove(queue, nodeIndex);
        fairness.onPushed(queue);
        PendingAcquire head = queue.head();
        if (head.state == PendingAcquire.State.BACKING_OFF && !queue.isHeldLocally && !queue.isPausing) {
            if (!crowd.onPushed(head, services.clock.nanoTime())) {
                onWoken(queue, head, nodeIndex);
            }
        } else if (head.claim != null && (head.claim.round.refused() & 1L << nodeIndex) != 0) {
            // The push follows the refusal: the change is later than the attempt.
            services.telemetry.rare.onWoken(queue.key, nodeIndex);
            head.waiting.isWoken = true;
        } else {
            services.telemetry.rare.onSpuriousPush(queue.key, nodeIndex);
        }
    }

    /**
     * The push of the coordinator starts an attempt. That of another node starts it if the coordinator's does not
     * follow soon. An earlier attempt would be refused by a coordinator that is a little slower. A later push of the
     * coordinator may not come: it is slow, or has another key than the other nodes. So the attempt asks all nodes at
     * once.
     */
    private void onWoken(WaitQueue queue, PendingAcquire head, int nodeIndex) {
        services.telemetry.rare.onWoken(queue.key, nodeIndex);
        int coordinator = services.coordinator.of(queue.key);
        boolean isExpected = coordinator != nodeIndex && coordinator != Coordinator.NONE
                && (queue.registeredMask & 1L << coordinator) != 0;
        long nowNs = services.clock.nanoTime();
        if (!isExpected) {
            scheduler.retries.wake(head, PendingAcquire.Plan.COORDINATOR_FIRST, nowNs);
        } else if (head.waiting.timerStep != Waiting.TimerStep.WAKE) {
            scheduler.retries.wake(head, PendingAcquire.Plan.ALL, nowNs + services.coordinator.graceNs(coordinator));
        }
    }

    /** Any key may have changed on a node: wakes its waiters, spread over some time. */
    void onAllInvalidated(int nodeIndex) {
        wakeRegistered(nodeIndex, 0);
    }

    /** The registrations on a node are lost with its connection: its waiters register again soon. */
    void onDisconnected(int nodeIndex) {
        wakeRegistered(nodeIndex, retryDelays.unregisteredNs());
    }

    private void wakeRegistered(int nodeIndex, long delayNs) {
        if (count == 0) {
            return;
        }
        wakeNs = services.clock.nanoTime() + delayNs;
        queues.forEach(queue -> {
            boolean isEntered = queue.place.isAt(nodeIndex);
            if (isEntered || (queue.registeredMask & 1L << nodeIndex) != 0) {
                registrations.remove(queue, nodeIndex);
                if (isEntered) {
                    queue.place.onLost();
                }
                wakeUnregistered(queue, nodeIndex);
            }
        });
    }

    /** Another node may be the coordinator of a lock: those that wait elsewhere enter there soon. */
    void wakeMisplaced() {
        wakeNs = services.clock.nanoTime() + retryDelays.unregisteredNs();
        queues.forEach(queue -> {
            if (queue.place.isEntered()) {
                int coordinator = services.coordinator.of(queue.key);
                if (coordinator != Coordinator.NONE && !queue.place.isAt(coordinator)) {
                    wakeUnregistered(queue, coordinator);
                }
            }
        });
    }

    private void wakeUnregistered(WaitQueue queue, int nodeIndex) {
        PendingAcquire head = queue.head();
        if (head.state == PendingAcquire.State.BACKING_OFF && !queue.isHeldLocally && !queue.isPausing) {
            services.telemetry.rare.onWoken(queue.key, nodeIndex);
            forgetPermits(queue);
            scheduler.retries.wake(head, PendingAcquire.Plan.COORDINATOR_FIRST, wakeNs);
            wakeNs += WAKE_INTERVAL_NS;
        }
    }

    void trim() {
        free.trim();
        fairness.trim();
        queues.trim(TRIM_CAPACITY_MIN);
        resourceQueues.trim(TRIM_CAPACITY_MIN);
    }
}
