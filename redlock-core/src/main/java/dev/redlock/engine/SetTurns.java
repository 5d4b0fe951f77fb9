package dev.redlock.engine;

import dev.redlock.node.LockKind;

/**
 * The order in which the waiting sets of one client with a common resource make attempts. A change of the resource
 * gives the turn to the oldest one. If its attempt fails or it stops to wait, the next one gets the turn, because a
 * refusal does not say which resource is in use. A grant ends the turns: the end of that lease is the next change.
 *
 * <p>A set that arrives waits for a turn too, if an older one has it or a lease of this client has a resource. So
 * whoever makes no attempt has a registration, or waits for the end of a turn or of a lease of this client.
 *
 * @threading event-loop-confined
 */
final class SetTurns {

    private final Conductor conductor;
    private final AcquireScheduler scheduler;
    private final MemberQueues queues;

    SetTurns(Conductor conductor, AcquireScheduler scheduler, MemberQueues queues) {
        this.conductor = conductor;
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
        for (int i = 0; i < queue.key.memberCount(); i++) {
            MemberQueues.Entry entry = queues.of(queue.key.member(i));
            if (entry.turn == null) {
                give(entry, queue);
            }
        }
        return true;
    }

    /** Whether a set needs no attempt: a lease of this client has a resource, or an older set is about to ask. */
    boolean isServed(WaitQueue queue) {
        for (int i = 0; i < queue.key.memberCount(); i++) {
            MemberQueues.Entry entry = queues.of(queue.key.member(i));
            if (entry.turn != null && entry.turn != queue && isActive(entry.turn.head())
                    && entry.queues.indexOf(entry.turn) < entry.queues.indexOf(queue)) {
                return true;
            }
        }
        return isHeldLocally(queue);
    }

    /** Whether an attempt is in progress, or a timer is about to start it. */
    private static boolean isActive(PendingAcquire head) {
        return head.state != PendingAcquire.State.BACKING_OFF || head.timerStep == PendingAcquire.TimerStep.WAKE;
    }

    private boolean isHeldLocally(WaitQueue queue) {
        return heldUntilNs(queue) - conductor.nowNs() > 0;
    }

    /** Returns when the last lease of this client with a resource of a set ends by itself; now if there is none. */
    long heldUntilNs(WaitQueue queue) {
        long untilNs = conductor.nowNs();
        for (int i = 0; i < queue.key.memberCount(); i++) {
            MemberQueues.Entry entry = queues.of(queue.key.member(i));
            if (entry.isHeld && entry.heldUntilNs - untilNs > 0) {
                untilNs = entry.heldUntilNs;
            }
        }
        return untilNs;
    }

    /** A lock is granted to this client. */
    void onHeld(LockKey key, WaitQueue queue, long untilNs) {
        for (int i = 0; i < key.memberCount(); i++) {
            MemberQueues.Entry entry = queues.of(key.member(i));
            if (entry != null) {
                entry.isHeld = true;
                entry.heldUntilNs = untilNs;
                entry.turn = entry.turn == queue ? null : entry.turn;
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

    /** Whether a set can have the turn. */
    boolean isReady(WaitQueue queue) {
        PendingAcquire.State state = queue.head().state;
        return state != PendingAcquire.State.BACKING_OFF
                || !queue.isHeldLocally && !queue.isPausing && !isHeldLocally(queue);
    }

    /** A resource has changed: its oldest set gets the turn. Returns it; null if there is none. */
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

    private WaitQueue firstReady(MemberQueues.Entry entry, int start, WaitQueue except) {
        for (int i = start; i < entry.queues.size(); i++) {
            WaitQueue queue = entry.queues.get(i);
            if (queue != except && isOfSet(queue) && isReady(queue)) {
                return queue;
            }
        }
        return null;
    }

    /** A set makes no attempt for now: the turns that it has pass to the next ones. */
    void passOn(WaitQueue queue) {
        LockKey key = queue.key;
        for (int i = 0; i < key.memberCount(); i++) {
            MemberQueues.Entry entry = queues.of(key.member(i));
            if (entry.turn == queue) {
                int start = entry.isTurnEarly ? 0 : entry.queues.indexOf(queue) + 1;
                give(entry, firstReady(entry, start, queue));
                if (entry.turn != null && entry.turn.head().state == PendingAcquire.State.BACKING_OFF) {
                    scheduler.wake(entry.turn.head(), PendingAcquire.Plan.DOORKEEPER_FIRST, conductor.nowNs());
                }
            }
        }
    }
}
