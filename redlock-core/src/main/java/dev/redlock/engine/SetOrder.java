package dev.redlock.engine;

import dev.redlock.engine.key.LockKey;

/**
 * The order in which the waiting sets of one client with a common resource make attempts. A change of the resource
 * gives priority to the oldest one. If that resource is in use again, the set keeps the priority and waits for the next
 * change. If its attempt fails for another reason or it stops to wait, the next one has priority. A grant ends the
 * priorities: the end of that lease is the next change.
 *
 * <p>The oldest one also asks while a lease of this client has one of its resources, to leave its reservation: its
 * neighbours that alternate would keep it out. The younger ones respect reservations and leave none.
 *
 * <p>A set that arrives waits too, if an older one has priority or a lease of this client has a resource. So a
 * set that makes no attempt has a registration, or waits for an older one or for the end of a lease of this client.
 *
 * @threading event-loop-confined
 */
final class SetOrder implements SetQueue.Order {

    private final LoopServices services;
    private final AcquireScheduler scheduler;
    private final ResourceQueues queues;

    SetOrder(LoopServices services, AcquireScheduler scheduler, ResourceQueues queues) {
        this.services = services;
        this.scheduler = scheduler;
        this.queues = queues;
    }

    /**
     * A set arrives: it takes priority for each resource if nobody has it.
     *
     * @return false if it has to wait for priority first
     */
    boolean onArrived(SetQueue queue) {
        if (isServed(queue)) {
            return false;
        }
        for (ResourceQueues.Entry entry : queue.resources) {
            if (entry.priority == null) {
                entry.givePriority(queue, false);
            }
        }
        return true;
    }

    /** Whether a set needs no attempt: a lease of this client has a resource, or an older set is about to ask. */
    boolean isServed(SetQueue queue) {
        for (ResourceQueues.Entry entry : queue.resources) {
            if (entry.priority != null && entry.priority != queue && isAsking(entry)
                    && entry.priority.isOlderThan(queue)) {
                return true;
            }
        }
        return isHeldLocally(queue, services.clock.nanoTime());
    }

    /** Whether the set that has priority awaits the resource, makes an attempt, or a timer is about to start it. */
    private static boolean isAsking(ResourceQueues.Entry entry) {
        PendingAcquire head = entry.priority.head();
        return head.state != PendingAcquire.State.BACKING_OFF || head.waiting.timerStep == Waiting.TimerStep.WAKE
                || entry.priority.awaits(entry);
    }

    @Override
    public boolean isOverlapping(SetQueue queue) {
        for (ResourceQueues.Entry entry : queue.resources) {
            for (WaitQueue other : entry.queues) {
                if (other != queue && other instanceof SetQueue) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Whether no older set waits for a resource of a set. */
    boolean isFirst(SetQueue queue) {
        return isFirst(queue, services.clock.nanoTime());
    }

    private boolean isFirst(SetQueue queue, long nowNs) {
        for (ResourceQueues.Entry entry : queue.resources) {
            boolean isHeld = isHeld(entry, nowNs);
            for (WaitQueue older : entry.queues) {
                if (older == queue) {
                    break;
                }
                boolean mayAsk = older instanceof SetQueue set && set.head() != null && (isReserving(set, nowNs)
                        || !isHeld && !set.awaitsOther(entry) && !isHeldLocally(set, nowNs));
                if (mayAsk) {
                    return false;
                }
            }
        }
        return true;
    }

    private static boolean isHeldLocally(SetQueue queue, long nowNs) {
        for (ResourceQueues.Entry entry : queue.resources) {
            if (isHeld(entry, nowNs)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isHeld(ResourceQueues.Entry entry, long nowNs) {
        return entry.isHeld && entry.heldUntilNs - nowNs > 0;
    }

    /** Returns when the last lease of this client with a resource of a set expires; now if there is none. */
    long heldUntilNs(SetQueue queue) {
        long untilNs = services.clock.nanoTime();
        for (ResourceQueues.Entry entry : queue.resources) {
            if (entry.isHeld && entry.heldUntilNs - untilNs > 0) {
                untilNs = entry.heldUntilNs;
            }
        }
        return untilNs;
    }

    /** A lock is granted to this client. */
    void onHeld(LockKey key, WaitQueue queue, long untilNs) {
        boolean isTicketUsed = queue instanceof SetQueue && queue.head().isCoordinatorFirst();
        for (int i = 0; i < key.resourceCount; i++) {
            ResourceQueues.Entry entry = queues.of(key.resourceKey(i));
            if (entry != null) {
                entry.isHeld = true;
                entry.heldUntilNs = untilNs;
                entry.priority = entry.priority == queue ? null : entry.priority;
                entry.ticket = isTicketUsed ? Ticket.NONE : entry.ticket;
            }
        }
    }

    /** A lease of this client has ended. */
    void onEnded(LockKey lockedKey) {
        for (int i = 0; i < lockedKey.resourceCount; i++) {
            ResourceQueues.Entry entry = queues.of(lockedKey.resourceKey(i));
            if (entry != null) {
                entry.isHeld = false;
            }
        }
    }

    /** Whether a set can have priority for a resource. */
    boolean isReady(SetQueue queue, ResourceQueues.Entry entry) {
        return isReady(queue, entry, services.clock.nanoTime());
    }

    private boolean isReady(SetQueue queue, ResourceQueues.Entry entry, long nowNs) {
        PendingAcquire.State state = queue.head().state;
        if (state != PendingAcquire.State.BACKING_OFF) {
            return true;
        }
        if (queue.isHeldLocally() || queue.isPausing() || queue.awaitsOther(entry)) {
            return false;
        }
        return !isHeldLocally(queue, nowNs)
                || scheduler.reservations.isDue(queue.head(), nowNs) && isFirst(queue, nowNs);
    }

    /** A resource has changed: its oldest set has priority. Returns it; null if there is none. */
    WaitQueue restart(ResourceQueues.Entry entry) {
        entry.givePriority(firstReady(entry, 0, null, false), false);
        return entry.priority;
    }

    @Override
    public void moveToEnd(SetQueue queue) {
        queues.moveToEnd(queue);
    }

    private boolean isReserving(SetQueue queue, long nowNs) {
        return queue.head() != null && scheduler.reservations.isLeft(queue.head(), nowNs);
    }

    /**
     * Returns the next set that can have priority; if asked for, one that has left a reservation, which may refuse
     * others. Reads the time once, because thousands of sets may wait.
     */
    private SetQueue firstReady(ResourceQueues.Entry entry, int start, SetQueue except, boolean isReservingOnly) {
        long nowNs = services.clock.nanoTime();
        for (int i = start; i < entry.queues.size(); i++) {
            boolean isEligible = entry.queues.get(i) instanceof SetQueue queue && queue != except
                    && (!isReservingOnly || isReserving(queue, nowNs)) && isReady(queue, entry, nowNs);
            if (isEligible) {
                return (SetQueue) entry.queues.get(i);
            }
        }
        return null;
    }

    /**
     * A set makes no attempt for now: it keeps the priority of the resource that it awaits, and passes on the others.
     * If the reservation of a younger set of this client may have refused it, that one has priority.
     */
    @Override
    public void passOn(SetQueue queue) {
        for (ResourceQueues.Entry entry : queue.resources) {
            boolean isAwaited = queue.awaits(entry);
            if (entry.priority == queue
                    || isAwaited && entry.priority == null && Reservations.mayHaveRefused(queue.head())) {
                int start = entry.isPriorityEarly && !isAwaited ? 0 : entry.queues.indexOf(queue) + 1;
                SetQueue next = firstReady(entry, start, queue, isAwaited);
                if (next != null || !isAwaited) {
                    start(entry, next);
                }
            }
        }
    }

    private void start(ResourceQueues.Entry entry, SetQueue next) {
        entry.givePriority(next, false);
        if (next != null && next.head().state == PendingAcquire.State.BACKING_OFF) {
            scheduler.waitTimers.wake(next.head(), PendingAcquire.Plan.COORDINATOR_FIRST, services.clock.nanoTime());
        }
    }
}
