package dev.redlock.engine;

import dev.redlock.node.LockKind;

/**
 * The order in which the waiting sets of one client with a common resource make attempts. A change of the resource
 * gives the turn to the oldest one. If that resource is in use again, the set keeps the turn and waits for the next
 * change. If its attempt fails for another reason or it stops to wait, the next one has the turn. A grant ends the
 * turns: the end of that lease is the next change.
 *
 * <p>The oldest one also asks while a lease of this client has one of its resources, to leave its intention: its
 * neighbours that take turns would keep it out. The younger ones respect intentions and leave none.
 *
 * <p>A set that arrives waits for a turn too, if an older one has it or a lease of this client has a resource. So
 * whoever makes no attempt has a registration, or waits for the end of a turn or of a lease of this client.
 *
 * @threading event-loop-confined
 */
final class SetTurns {

    private final LoopServices services;
    private final AcquireScheduler scheduler;
    private final MemberQueues queues;

    SetTurns(LoopServices services, AcquireScheduler scheduler, MemberQueues queues) {
        this.services = services;
        this.scheduler = scheduler;
        this.queues = queues;
    }

    static boolean isOfSet(WaitQueue queue) {
        return queue.key.kind() == LockKind.SET;
    }

    /**
     * A set arrives: it takes the turn of each resource if nobody has it.
     *
     * @return false if it has to wait for a turn first
     */
    boolean onArrived(WaitQueue queue) {
        if (isServed(queue)) {
            return false;
        }
        for (MemberQueues.Entry entry : queue.members) {
            if (entry.turn == null) {
                give(entry, queue);
            }
        }
        return true;
    }

    /** Whether a set needs no attempt: a lease of this client has a resource, or an older set is about to ask. */
    boolean isServed(WaitQueue queue) {
        for (MemberQueues.Entry entry : queue.members) {
            if (entry.turn != null && entry.turn != queue && isAsking(entry)
                    && entry.queues.indexOf(entry.turn) < entry.queues.indexOf(queue)) {
                return true;
            }
        }
        return isHeldLocally(queue);
    }

    /** Whether the set that has the turn awaits the resource, makes an attempt, or a timer is about to start it. */
    private static boolean isAsking(MemberQueues.Entry entry) {
        PendingAcquire head = entry.turn.head();
        return head.state != PendingAcquire.State.BACKING_OFF || head.timerStep == PendingAcquire.TimerStep.WAKE
                || awaits(entry.turn, entry);
    }

    /** Whether a resource in use has refused a set, which the next push of the resource wakes. */
    private static boolean awaits(WaitQueue queue, MemberQueues.Entry entry) {
        return queue.awaited == entry && isAwaiting(queue);
    }

    /** Whether another resource in use has refused a set: a change of this one would not help. */
    static boolean awaitsOther(WaitQueue queue, MemberQueues.Entry entry) {
        return queue.awaited != null && queue.awaited != entry && isAwaiting(queue);
    }

    private static boolean isAwaiting(WaitQueue queue) {
        return queue.registeredMask != 0 && queue.head().state == PendingAcquire.State.BACKING_OFF;
    }

    /** Whether another set of this client waits for a resource of a set. */
    boolean isOverlapping(WaitQueue queue) {
        for (MemberQueues.Entry entry : queue.members) {
            for (WaitQueue other : entry.queues) {
                if (other != queue && isOfSet(other)) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Whether no older set waits for a resource of a set. */
    boolean isFirst(WaitQueue queue) {
        for (MemberQueues.Entry entry : queue.members) {
            for (WaitQueue older : entry.queues) {
                if (older == queue) {
                    break;
                }
                boolean isWaiting = isOfSet(older) && older.head() != null;
                if (isWaiting && (isIntending(older) || !awaitsOther(older, entry) && !isHeldLocally(older))) {
                    return false;
                }
            }
        }
        return true;
    }

    private boolean isHeldLocally(WaitQueue queue) {
        return heldUntilNs(queue) - services.clock.nanoTime() > 0;
    }

    /** Returns when the last lease of this client with a resource of a set expires; now if there is none. */
    long heldUntilNs(WaitQueue queue) {
        long untilNs = services.clock.nanoTime();
        for (MemberQueues.Entry entry : queue.members) {
            if (entry.isHeld && entry.heldUntilNs - untilNs > 0) {
                untilNs = entry.heldUntilNs;
            }
        }
        return untilNs;
    }

    /** A lock is granted to this client. */
    void onHeld(LockKey key, WaitQueue queue, long untilNs) {
        boolean isTicketUsed = queue != null && isOfSet(queue) && queue.head().isDoorkeeperFirst();
        for (int i = 0; i < key.memberCount(); i++) {
            MemberQueues.Entry entry = queues.of(key.member(i));
            if (entry != null) {
                entry.isHeld = true;
                entry.heldUntilNs = untilNs;
                entry.turn = entry.turn == queue ? null : entry.turn;
                entry.ticket = isTicketUsed ? Ticket.NONE : entry.ticket;
            }
        }
    }

    /** A lease of this client has ended. */
    void onEnded(LockKey lockedKey) {
        for (int i = 0; i < lockedKey.memberCount(); i++) {
            MemberQueues.Entry entry = queues.of(lockedKey.member(i));
            if (entry != null) {
                entry.isHeld = false;
            }
        }
    }

    /** Whether a set can have the turn of a resource. */
    boolean isReady(WaitQueue queue, MemberQueues.Entry entry) {
        PendingAcquire.State state = queue.head().state;
        if (state != PendingAcquire.State.BACKING_OFF) {
            return true;
        }
        boolean isSleeping = !queue.isHeldLocally && !queue.isPausing && !awaitsOther(queue, entry);
        return isSleeping && (!isHeldLocally(queue) || isFirst(queue)
                && scheduler.intentions.isDue(queue.head(), services.clock.nanoTime()));
    }

    /** A resource has changed: its oldest set has the turn. Returns it; null if there is none. */
    WaitQueue restart(MemberQueues.Entry entry) {
        give(entry, firstReady(entry, 0, null));
        return entry.turn;
    }

    static void give(MemberQueues.Entry entry, WaitQueue queue) {
        entry.turn = queue;
        entry.isTurnEarly = false;
    }

    /** The next waiter for a set that this client has released has started its attempt. */
    static void giveEarly(MemberQueues.Entry entry, WaitQueue queue) {
        entry.turn = queue;
        entry.isTurnEarly = true;
    }

    /** The next set that has left its intention where it has refused another set of this client. */
    private WaitQueue firstIntending(MemberQueues.Entry entry, int start) {
        for (int i = start; i < entry.queues.size(); i++) {
            WaitQueue queue = entry.queues.get(i);
            if (isIntending(queue) && isReady(queue, entry)) {
                return queue;
            }
        }
        return null;
    }

    private boolean isIntending(WaitQueue queue) {
        return isOfSet(queue) && queue.head() != null
                && scheduler.intentions.isLeft(queue.head(), services.clock.nanoTime());
    }

    private WaitQueue firstReady(MemberQueues.Entry entry, int start, WaitQueue except) {
        for (int i = start; i < entry.queues.size(); i++) {
            WaitQueue queue = entry.queues.get(i);
            if (queue != except && isOfSet(queue) && isReady(queue, entry)) {
                return queue;
            }
        }
        return null;
    }

    /** A set makes no attempt for now: it keeps the turn of the resource that it awaits, and passes on the others. */
    void passOn(WaitQueue queue) {
        for (MemberQueues.Entry entry : queue.members) {
            if (entry.turn == queue) {
                int start = entry.isTurnEarly ? 0 : entry.queues.indexOf(queue) + 1;
                WaitQueue next = awaits(queue, entry)
                        ? firstIntending(entry, entry.queues.indexOf(queue) + 1)
                        : firstReady(entry, start, queue);
                if (next == null && awaits(queue, entry)) {
                    continue;
                }
                give(entry, next);
                if (entry.turn != null && entry.turn.head().state == PendingAcquire.State.BACKING_OFF) {
                    scheduler.retries.wake(entry.turn.head(), PendingAcquire.Plan.DOORKEEPER_FIRST,
                            services.clock.nanoTime());
                }
            }
        }
    }
}
