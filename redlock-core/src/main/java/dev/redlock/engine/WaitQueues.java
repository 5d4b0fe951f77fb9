package dev.redlock.engine;

import dev.redlock.engine.key.KeyedMap;
import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.FreeList;
import dev.redlock.node.send.LockKind;
import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Owns the local queues, one for each lock with a waiting acquisition, and runs the handoffs. After this client
 * releases a lock, the next local waiter starts its attempt immediately. After some handoffs the queue pauses for one
 * retry delay, during which other clients find the lock free.
 *
 * @threading event-loop-confined
 */
final class WaitQueues {

    static final int TRIM_CAPACITY_MIN = 4 * LoopServices.POOLED_MIN;

    final WaitMarks marks;
    final Registrations registrations;
    private final LoopServices services;
    private final AcquireScheduler scheduler;
    // Set once.
    private Fairness fairness;
    private Crowd crowd;
    private PermitFollowers followers;
    private final KeyedMap<WaitQueue> queues = new KeyedMap<>();
    final ResourceQueues resourceQueues = new ResourceQueues();
    final SetOrder setOrder;
    /** By kind of lock. */
    private final List<FreeList<WaitQueue>> free;
    /** Queues of all kinds: while it is 0, nobody asks for them. */
    int count;

    WaitQueues(LoopServices services, UnownedCommands commands, AcquireScheduler scheduler) {
        this.services = services;
        this.scheduler = scheduler;
        this.setOrder = new SetOrder(services, scheduler, resourceQueues);
        this.registrations = new Registrations(services, queues, resourceQueues);
        this.marks = new WaitMarks(services, commands);
        this.free = Stream.of(LockKind.values()).map(kind -> new FreeList<WaitQueue>(LoopServices.POOLED_MIN)).toList();
    }

    void connect(Fairness givingWay, Crowd inOrder, PermitFollowers behindTheHead) {
        fairness = givingWay;
        crowd = inOrder;
        followers = behindTheHead;
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
        // First, because it may need memory: a queue without a head would let its later waiters sleep.
        pending.waiting();
        WaitQueue existing = queues.get(pending.lease.key);
        WaitQueue queue = existing == null ? create(pending.lease.key) : existing;
        queue.append(pending);
        return queue;
    }

    /** Returns how much memory is kept: the queues in the pool, and the buckets of both tables. */
    int capacity() {
        return free.stream().mapToInt(FreeList::length).sum() + queues.capacity() + resourceQueues.capacity();
    }

    /** Creates the queue of a resource. */
    WaitQueue create(LockKey key) {
        WaitQueue pooled = free.get(key.kind.ordinal()).poll();
        WaitQueue queue = pooled == null ? newQueue(key.kind) : pooled;
        queue.begin(key, services.clock.nanoTime());
        resourceQueues.add(queue);
        try {
            queues.add(queue);
        } catch (RuntimeException | Error e) {
            resourceQueues.remove(queue);
            throw e;
        }
        count++;
        return queue;
    }

    private WaitQueue newQueue(LockKind kind) {
        return switch (kind) {
            case PLAIN -> new PlainQueue(crowd);
            case SET -> new SetQueue(setOrder);
            case PERMIT -> new PermitQueue(followers);
            case READ, WRITE -> new WaitQueue();
        };
    }

    /**
     * Promotes the next waiter after a queue has lost its head. It starts its attempt immediately or, if this client
     * has just acquired the lock, at the end of that lease.
     */
    void promoteNext(WaitQueue queue, LeaseHandle holder) {
        PendingAcquire head = queue.head();
        // A reader does not hold up the next one, nor does the holder of a permit.
        LeaseHandle blocking = queue.kind().isShared ? null : holder;
        queue.setHeldLocally(blocking != null);
        if (head == null) {
            end(queue);
            return;
        }
        if (head.state == PendingAcquire.State.ATTEMPTING) {
            // A permit: the attempt started behind the last head.
            queue.onFollowerLeft();
            return;
        }
        scheduler.retries.onPromoted(head);
        if (holder != null) {
            queue.onServed();
        }
        if (blocking != null) {
            services.timers.start(head.timer, earlier(blocking.validUntilNs, head.deadlineNs));
        } else if (queue.isPausing()) {
            queue.passOn();
            services.timers.start(head.timer, earlier(queue.pauseEndNs(), head.deadlineNs));
        } else {
            registrations.remove(queue);
            services.timers.start(head.timer, services.clock.nanoTime());
        }
    }

    /** The last waiter has gone. */
    private void end(WaitQueue queue) {
        try {
            registrations.remove(queue);
            queue.passOn();
        } finally {
            remove(queue);
        }
    }

    private void remove(WaitQueue queue) {
        count--;
        queues.remove(queue);
        resourceQueues.remove(queue);
        try {
            queue.onEmptied();
        } finally {
            LockKind kind = queue.kind();
            queue.key = null;
            free.get(kind.ordinal()).push(queue);
        }
    }

    /** A lock is granted to this client; the queue is null without a wait budget. */
    void onHeld(LockKey key, WaitQueue queue, long untilNs) {
        if (!resourceQueues.isEmpty() && !key.kind.isShared) {
            setOrder.onHeld(key, queue, untilNs);
        }
    }

    static long earlier(long oneNs, long otherNs) {
        return oneNs - otherNs < 0 ? oneNs : otherNs;
    }

    // ---- handoffs ---------------------------------------------------------------------------------------------------

    /**
     * A lease of this client has ended: starts the attempt of the first local waiter, or the pause if it is due. Wakes
     * the first waiters for other locks with the same resources, without waiting for {@link KeyChanges#onOwnReply}.
     *
     * @param lockedKey the key that it had on the nodes: of a semaphore, one of its permits
     */
    void handOff(LockKey key, LockKey lockedKey) {
        WaitQueue queue = get(key);
        if (!resourceQueues.isEmpty()) {
            setOrder.onEnded(lockedKey);
        }
        if (queue != null) {
            queue.onReleased(lockedKey);
        }
        if (!key.kind.isOneKey) {
            wakePlain(key);
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
        SetQueue ownFirst = own instanceof SetQueue set && !set.isHeadBackingOff() ? set : null;
        boolean isOwnFirst = ownFirst != null;
        if (isOwnFirst) {
            entry.givePriority(ownFirst, true);
        }
        WaitQueue first = isOwnFirst ? ownFirst : setOrder.restart(entry);
        for (WaitQueue other : entry.queues) {
            boolean isLater = other instanceof SetQueue && other != first && other.isHeadBackingOff();
            if (isLater) {
                continue;
            }
            boolean isStarted = other.key.equals(ended) && (isOwnFirst || other != first);
            if (!isStarted) {
                wakeLocally(other);
            }
        }
    }

    /** Plain locks may have one of the keys too. */
    private void wakePlain(LockKey key) {
        for (int i = 0; i < key.resourceCount; i++) {
            WaitQueue plain = get(key.resourceKey(i));
            if (plain != null) {
                wakeLocally(plain);
            }
        }
    }

    private void handOff(WaitQueue queue) {
        queue.onLeaseEnded(services.clock.nanoTime());
        registrations.remove(queue);
        if (!queue.isPausing()) {
            fairness.handOff(queue);
        }
    }

    /** The head makes no attempt until a time. */
    void pause(WaitQueue queue, long untilNs) {
        PendingAcquire head = queue.head();
        queue.pause(untilNs);
        head.planNext(PendingAcquire.Plan.YIELDING);
        head.waiting.timerStep = Waiting.TimerStep.ATTEMPT;
        scheduler.retries.returnPlace(head);
        services.timers.start(head.timer, earlier(untilNs, head.deadlineNs));
        queue.passOn();
    }

    // ---- wake-ups ---------------------------------------------------------------------------------------------------

    /** A waiter was refused again, and what it does next is decided. */
    void onRefusedAgain(LockKey key) {
        WaitQueue queue = key.markKey() == null ? null : queues.get(key);
        if (queue != null) {
            marks.set(queue);
        }
    }

    /** A key of the queue may have become free without a push. The next attempt registers again. */
    void wakeLocally(WaitQueue queue) {
        registrations.remove(queue);
        PendingAcquire head = queue.head();
        if (queue.isHeadWakeable()) {
            scheduler.waitTimers.wake(head, PendingAcquire.Plan.COORDINATOR_FIRST, services.clock.nanoTime());
        } else {
            head.waiting.onChanged();
        }
    }

    void trim() {
        for (FreeList<WaitQueue> pool : free) {
            pool.trim();
        }
        fairness.trim();
        queues.trim(TRIM_CAPACITY_MIN);
        resourceQueues.trim(TRIM_CAPACITY_MIN);
    }
}
