package dev.redlock.engine;

import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.key.PermitKey;
import dev.redlock.engine.key.ResourcesKey;
import dev.redlock.node.send.CommandKind;
import dev.redlock.node.send.LockKind;
import io.netty.buffer.ByteBuf;

/**
 * What a change of a key means for the waiters of this client, which are registered for it: a push of a node, a command
 * of this client, for which no push comes, or a lost connection. A push is a hint that does not say how the key has
 * changed.
 *
 * @threading event-loop-confined
 */
final class KeyChanges {

    /** Between the attempts of waiters that one event wakes: 20 000 attempts a second leave room for other locks. */
    private static final long WAKE_INTERVAL_NS = 50_000;

    private final LoopServices services;
    private final AcquireScheduler scheduler;
    /** When the next of the waiters that one event wakes starts its attempt. */
    private long wakeNs;

    KeyChanges(LoopServices services, AcquireScheduler scheduler) {
        this.services = services;
        this.scheduler = scheduler;
    }

    private WaitQueues queues() {
        return scheduler.queues;
    }

    // ---- commands of this client ------------------------------------------------------------------------------------

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
        if (own != null && !(own instanceof PermitQueue)) {
            // A permit is one of many keys.
            queues().registrations.remove(own, nodeIndex);
        }
        WaitQueue readers = claim.lockKind() == LockKind.READ ? queues().get(claim.key) : null;
        if (readers != null && readers != own) {
            wakeRegistered(readers, nodeIndex);
        }
    }

    private void wakeRegistered(LockKey lockedKey, int nodeIndex) {
        for (int i = 0; i < lockedKey.resourceCount; i++) {
            WaitQueue plain = queues().get(lockedKey.resourceKey(i));
            if (plain != null) {
                wakeRegistered(plain, nodeIndex);
            }
            wakeRegistered(queues().resourceQueues.of(lockedKey.resourceKey(i)), nodeIndex);
        }
    }

    /** A release that was delivered late has deleted a key. */
    void onDeliveredLate(int nodeIndex, ByteBuf name, int index, int nameLength) {
        int length = ResourcesKey.resourceLengthOf(name, index, nameLength);
        WaitQueue plain = queues().get(name, index, length);
        if (plain != null) {
            wakeRegistered(plain, nodeIndex);
        }
        wakeRegistered(queues().resourceQueues.of(name, index, length), nodeIndex);
    }

    /** The oldest of the sets gets priority, unless a still older one has it. */
    private void wakeRegistered(ResourceQueues.Entry entry, int nodeIndex) {
        if (entry == null) {
            return;
        }
        boolean isPriorityGiven = false;
        for (WaitQueue queue : entry.queues) {
            boolean isRegistered = queue.isRegisteredAt(nodeIndex);
            isPriorityGiven |= entry.priority == queue && !isRegistered;
            if (!isRegistered || queue.awaitsOther(entry)) {
                continue;
            }
            if (queue instanceof SetQueue set && set.isHeadBackingOff()) {
                if (isPriorityGiven || !queues().setOrder.isReady(set, entry)) {
                    queues().registrations.remove(queue, nodeIndex);
                    continue;
                }
                isPriorityGiven = true;
                entry.givePriority(set, false);
            }
            wakeRegistered(queue, nodeIndex);
        }
    }

    private void wakeRegistered(WaitQueue queue, int nodeIndex) {
        if (queue.isRegisteredAt(nodeIndex)) {
            queue.onOwnRelease();
            queues().wakeLocally(queue);
        }
    }

    // ---- pushes -----------------------------------------------------------------------------------------------------

    /** A node pushes that a key has changed; a push does not say how. */
    void onInvalidated(int nodeIndex, ByteBuf name, int index, int nameLength) {
        int length = ResourcesKey.resourceLengthOf(name, index, nameLength);
        WaitQueue queue = queues().get(name, index, length);
        ResourceQueues byResource = queues().resourceQueues;
        ResourceQueues.Entry others = byResource.isEmpty() ? null : byResource.of(name, index, length);
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
        PermitQueue semaphores = null;
        WaitQueue first = queues().setOrder.restart(others);
        for (WaitQueue other : others.queues) {
            if (other instanceof PermitQueue semaphore) {
                int number = PermitKey.permitNumberOf(name, index, length);
                if (!semaphore.onPushed(nodeIndex, number)) {
                    onInvalidated(semaphore, nodeIndex);
                }
                semaphores = semaphore;
            } else if (other != first && other instanceof SetQueue set && set.isHeadBackingOff()) {
                if (!set.awaitsOther(others)) {
                    queues().registrations.remove(set, nodeIndex);
                }
            } else {
                onInvalidated(other, nodeIndex);
            }
        }
        if (semaphores != null) {
            // An attempt may end at once, and its callback may change the list of queues.
            semaphores.startDueFollowers();
        }
    }

    private void onInvalidated(WaitQueue queue, int nodeIndex) {
        queues().registrations.remove(queue, nodeIndex);
        scheduler.fairness.onPushed(queue);
        PendingAcquire head = queue.head();
        if (queue.isHeadWakeable()) {
            if (!queue.isPushLeftToOthers(services.clock.nanoTime())) {
                onWoken(queue, head, nodeIndex);
            }
        } else if (head.claim != null && (head.claim.round.refused() & 1L << nodeIndex) != 0) {
            // The push follows the refusal: the change is later than the attempt.
            services.telemetry.rare.onWoken(queue.key, nodeIndex);
            head.waiting.onChanged();
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
                && queue.isRegisteredAt(coordinator);
        long nowNs = services.clock.nanoTime();
        if (!isExpected) {
            scheduler.waitTimers.wake(head, PendingAcquire.Plan.COORDINATOR_FIRST, nowNs);
        } else if (head.waiting.timerStep != Waiting.TimerStep.WAKE) {
            scheduler.waitTimers.wake(head, PendingAcquire.Plan.ALL, nowNs + services.coordinator.graceNs(coordinator));
        }
    }

    // ---- nodes ------------------------------------------------------------------------------------------------------

    /** Any key may have changed on a node: wakes its waiters, spread over some time. */
    void onAllInvalidated(int nodeIndex) {
        wakeRegistered(nodeIndex, 0);
    }

    /** The registrations on a node are lost with its connection: its waiters register again soon. */
    void onDisconnected(int nodeIndex) {
        wakeRegistered(nodeIndex, scheduler.waitTimers.unregisteredNs());
    }

    private void wakeRegistered(int nodeIndex, long delayNs) {
        if (queues().count == 0) {
            return;
        }
        wakeNs = services.clock.nanoTime() + delayNs;
        queues().forEach(queue -> {
            boolean isEntryLost = queue.onEntryLost(nodeIndex);
            if (isEntryLost || queue.isRegisteredAt(nodeIndex)) {
                queues().registrations.remove(queue, nodeIndex);
                wakeUnregistered(queue, nodeIndex);
            }
        });
    }

    /**
     * Another node may be the coordinator of a lock, or none if the first one does not push: those that wait elsewhere
     * ask soon.
     */
    void onNodesChanged() {
        if (queues().count == 0) {
            return;
        }
        wakeNs = services.clock.nanoTime() + scheduler.waitTimers.unregisteredNs();
        queues().forEach(queue -> {
            if (!queue.isEntered()) {
                return;
            }
            int coordinator = services.coordinator.of(queue.key);
            if (!queue.isEnteredAt(coordinator)) {
                if (coordinator == Coordinator.NONE) {
                    queue.leave();
                }
                wakeUnregistered(queue, coordinator);
            }
        });
    }

    private void wakeUnregistered(WaitQueue queue, int nodeIndex) {
        PendingAcquire head = queue.head();
        if (queue.isHeadWakeable()) {
            services.telemetry.rare.onWoken(queue.key, nodeIndex);
            queue.forgetHints();
            scheduler.waitTimers.wake(head, PendingAcquire.Plan.COORDINATOR_FIRST, wakeNs);
            wakeNs += WAKE_INTERVAL_NS;
        }
    }
}
