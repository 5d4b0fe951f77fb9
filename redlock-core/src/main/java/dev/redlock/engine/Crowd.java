package dev.redlock.engine;

import dev.redlock.engine.crowd.Place;
import dev.redlock.engine.crowd.QueueReply;
import dev.redlock.engine.key.KeyText;
import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.CommandKind;
import dev.redlock.node.send.LockKind;
import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;

/**
 * Waits for a plain lock in the queue of all clients, which the coordinator keeps ({@link dev.redlock.engine.crowd}).
 * One place of this client serves all its local waiters, one after another.
 *
 * @threading event-loop-confined
 */
final class Crowd implements PlainQueue.Line {

    private static final byte HEAD = 'h';
    private static final byte HEAD_OF_FREE = 'H';
    private static final byte DEPUTY_OF_FREE = 'D';

    private final LoopServices services;
    private final AcquireScheduler scheduler;
    private final WaitQueues queues;
    private final KeyQuestions questions;
    private final UnownedCommands commands;
    private final RetryDelays retryDelays;

    Crowd(LoopServices services, AcquireScheduler scheduler, WaitQueues queues, KeyQuestions questions,
            UnownedCommands commands, RetryDelays retryDelays) {
        this.services = services;
        this.scheduler = scheduler;
        this.queues = queues;
        this.questions = questions;
        this.commands = commands;
        this.retryDelays = retryDelays;
    }

    // ---- attempts ---------------------------------------------------------------------------------------------------

    /** An attempt is about to ask the coordinator alone. That of a waiter for a plain lock asks in order. */
    void prepare(Claim claim, int coordinator) {
        if (!claim.isWakeUpWanted || claim.pending.kind() != LockKind.PLAIN) {
            return;
        }
        PlainQueue queue = (PlainQueue) claim.pending.queue;
        if (queue.place.isEntered() && !queue.place.isAt(coordinator)) {
            // The order of the nodes has changed. A message of the old queue would find a client that waits elsewhere.
            leave(queue);
        }
        claim.askInOrder(coordinator, services.waiterBulk(coordinator));
    }

    /** A node has answered an acquire in order. Returns the reply without the place. */
    long onReply(Claim claim, int nodeIndex, long value) {
        boolean isInTime = claim.phase == Claim.Phase.ACQUIRING;
        PlainQueue queue = (PlainQueue) (isInTime ? claim.pending.queue : queues.get(claim.key));
        if (value > 0) {
            onGranted(claim, nodeIndex, value, queue, isInTime);
            return value;
        }
        if (isInTime) {
            scheduler.registrations.onAnswered(claim, nodeIndex);
        }
        if (queue == null || !isInTime && queue.place.isEntered() && !queue.place.isAt(nodeIndex)) {
            // The attempt has ended before its answer.
            leave(claim.key, nodeIndex);
        } else {
            queue.place.onRefused(nodeIndex, QueueReply.rankOf(value), services.fanOut.isSubscribed(nodeIndex),
                    services.clock.nanoTime());
            queue.setOrderKnown(!queue.place.isUnknown());
        }
        long remainingTtlMs = QueueReply.remainingTtlMsOf(value);
        return remainingTtlMs == Long.MAX_VALUE ? Contention.NO_EXPIRY_REPLY : -remainingTtlMs;
    }

    /** A grant ends the entry of the client. */
    private void onGranted(Claim claim, int nodeIndex, long value, PlainQueue queue, boolean isInTime) {
        boolean areOthersWaiting = claim.fenceOrSearch == null && value == QueueReply.GRANTED_OTHERS_WAIT;
        if (queue != null && (isInTime || queue.place.isAt(nodeIndex))) {
            queue.place.onGranted(areOthersWaiting);
        }
        if (areOthersWaiting && isInTime) {
            scheduler.fairness.onFollowers(claim.key);
        }
    }

    // ---- waiting ----------------------------------------------------------------------------------------------------

    /**
     * Whether the coordinator has refused the last attempt, and given it a place at which it can wait. A node that is
     * none any more, or does not push any more, has no queue that others keep. A head that may not register polls.
     */
    boolean hasPlace(PendingAcquire pending) {
        if (!pending.queue.isEntered()) {
            return false;
        }
        Place place = PlainQueue.placeOf(pending);
        return (pending.lease.refusedMask & 1L << place.node()) != 0
                && (place.role() != Place.Role.HEAD || scheduler.registrations.isAllowed(pending.queue))
                && place.isAt(services.coordinator.of(pending.lease.key));
    }

    /** The coordinator has refused an attempt: waits as its place demands. */
    void awaitTurn(PendingAcquire pending, long nowNs) {
        Place place = PlainQueue.placeOf(pending);
        scheduler.waitTimers.plan(pending, PendingAcquire.Plan.COORDINATOR_FIRST);
        boolean isFree = pending.lease.shortestRemainingTtlMs() == 0;
        if (isFree && place.isUnknown()) {
            // Nobody precedes, so the node is wrong, or the key ends now. By its ttl, the attempts would have no pause.
            pending.planNext(PendingAcquire.Plan.ALL);
            scheduler.waitTimers.startTimer(pending, Waiting.TimerStep.ATTEMPT,
                    nowNs + Place.leftNs(retryDelays.random()));
        } else if (isFree && place.role() == Place.Role.HEAD && place.isPreceded()
                && pending.queue.isRegisteredAt(place.node())) {
            // No message wakes those that precede. The push of the next grant ends the pause.
            place.leaveToOthers();
            scheduler.waitTimers.startTimer(pending, Waiting.TimerStep.ATTEMPT,
                    nowNs + Place.leftNs(retryDelays.random()));
        } else if (place.role() == Place.Role.HEAD) {
            lead(pending, nowNs);
        } else if (isFree) {
            look(pending, nowNs, Place.freeLookNs(retryDelays.random()));
        } else {
            look(pending, nowNs, place.firstLookNs(retryDelays.random()));
        }
    }

    /** It is next: registers, so that the release wakes it. */
    private void lead(PendingAcquire pending, long nowNs) {
        WaitQueue queue = pending.queue;
        // Only without a push: the coordinator may be wrong.
        pending.planNext(PendingAcquire.Plan.ALL);
        long generation = pending.generation;
        // Before the question, which may throw: a waiter without a timer would wait for ever.
        scheduler.waitTimers.startTimer(pending, Waiting.TimerStep.ATTEMPT, nowNs + retryDelays.unregisteredNs());
        int node = PlainQueue.placeOf(pending).node();
        // A deputy that becomes the head is registered already, but does not know how long the lock is held.
        LeaseHandle lease = pending.lease;
        boolean isDue = !queue.isRegisteredAt(node) || lease.shortestRemainingTtlMs() < 0;
        if (isDue && scheduler.registrations.isAllowed(queue)) {
            questions.watchAt(pending, 1L << node);
        }
        if (pending.generation == generation && pending.waiting.timerStep == Waiting.TimerStep.ATTEMPT
                && queue.registeredMask != 0) {
            scheduler.waitTimers.awaitPush(pending, nowNs, Place.aloneNs(retryDelays.random()));
        }
    }

    /**
     * Nodes have refused an attempt for a plain lock that the coordinator had granted, by a command that neither
     * registers nor reports the ttl. Registers there; the reply has the ttl, or shows that the key has gone since.
     */
    void watchRefusing(PendingAcquire pending) {
        WaitQueue queue = pending.queue;
        LeaseHandle lease = pending.lease;
        boolean isDue = lease.shortestRemainingTtlMs() < 0 && scheduler.registrations.isAllowed(queue);
        long mask = isDue ? services.pushingMask(lease.key, lease.refusedMask) : 0;
        if (mask != 0) {
            questions.watchAt(pending, mask);
        }
    }

    private void look(PendingAcquire pending, long nowNs, long delayNs) {
        scheduler.waitTimers.startTimer(pending, Waiting.TimerStep.LOOK, nowNs + delayNs);
    }

    /** The time for a look has come: reads the place and the lock. Returns false if an attempt has to follow. */
    boolean onLookDue(PendingAcquire pending, long nowNs) {
        Place place = PlainQueue.placeOf(pending);
        boolean isUnanswered = pending.waiting.isAsking();
        pending.planNext(PendingAcquire.Plan.COORDINATOR_FIRST);
        if (isUnanswered || !place.isEntered() || place.isEnterDue(nowNs)
                || !place.isAt(services.coordinator.of(pending.lease.key))) {
            return false;
        }
        // If the node does not answer, an attempt finds others.
        look(pending, nowNs, pending.lease.times.nodeTimeoutNs);
        if (place.role() == Place.Role.SLEEPER) {
            questions.askPlace(pending, place.node());
        } else {
            questions.look(pending, place.node());
        }
        return true;
    }

    /** The node has reported the place: to a deputy ahead of the lock, to a sleeper alone. */
    void onRank(Claim claim, long rank) {
        PendingAcquire pending = scheduler.waitTimers.waiterOf(claim);
        if (pending == null || pending.waiting.timerStep != Waiting.TimerStep.LOOK) {
            return;
        }
        Place place = PlainQueue.placeOf(pending);
        long nowNs = services.clock.nanoTime();
        if (rank < 0) {
            place.onLost();
            scheduler.waitTimers.wake(pending, PendingAcquire.Plan.COORDINATOR_FIRST, nowNs);
            return;
        }
        boolean isServed = rank < place.rank();
        place.onRank((int) Math.min(rank, QueueReply.RANK_UNKNOWN));
        if (pending.waiting.isAsking()) {
            // The answer about the lock follows.
            return;
        }
        if (!isServed) {
            // Nobody has left the queue since the last look.
            questions.readLock(pending, place.node());
        } else if (place.role() == Place.Role.HEAD) {
            scheduler.waitTimers.onTtlUnknown(pending);
            lead(pending, nowNs);
        } else {
            look(pending, nowNs, place.firstLookNs(retryDelays.random()));
        }
    }

    /** Whether the head has to make an attempt, because the queue expires otherwise. */
    boolean isEnterDue(PendingAcquire pending, long nowNs) {
        return pending.queue.isEntered() && PlainQueue.placeOf(pending).isEnterDue(nowNs);
    }

    /** A look has read the lock, which is in use. */
    void onLooked(PendingAcquire pending, long nowNs, long remainingTtlMs) {
        Place place = PlainQueue.placeOf(pending);
        scheduler.waitTimers.onTtlKnown(pending, nowNs, remainingTtlMs);
        switch (place.role()) {
            case HEAD -> lead(pending, nowNs);
            case DEPUTY -> {
                long endNs = pending.waiting.expiryNs + Place.pushedLookNs();
                long nextNs = nowNs + place.nextLookNs(retryDelays.random());
                scheduler.waitTimers.startTimer(pending, Waiting.TimerStep.LOOK, WaitQueues.earlier(endNs, nextNs));
            }
            case SLEEPER -> look(pending, nowNs, place.nextLookNs(retryDelays.random()));
        }
    }

    @Override
    public boolean onPushed(PlainQueue queue, long nowNs) {
        PendingAcquire head = queue.head();
        Place.Role role = queue.place.role();
        queue.place.onPushed();
        if (role == Place.Role.DEPUTY && head.waiting.timerStep == Waiting.TimerStep.LOOK) {
            look(head, nowNs, Place.pushedLookNs());
        }
        return role != Place.Role.HEAD && head.waiting.timerStep == Waiting.TimerStep.LOOK;
    }

    // ---- messages ---------------------------------------------------------------------------------------------------

    /** A node has sent a message: the client is the first or the second in the queue of a lock. */
    void onMessage(int nodeIndex, byte word, ByteBuf name, int index, int length) {
        WaitQueue found = queues.count == 0 ? null : queues.get(name, index, length);
        if (!(found instanceof PlainQueue queue)) {
            leave(nodeIndex, name, index, length);
            return;
        }
        if (queue.place.isEntered() && !queue.place.isAt(nodeIndex)) {
            leave(queue.key, nodeIndex);
            return;
        }
        long nowNs = services.clock.nanoTime();
        scheduler.fairness.onPushed(queue);
        boolean isHead = word == HEAD || word == HEAD_OF_FREE;
        queue.place.onMessage(nodeIndex, isHead ? 0 : 1, nowNs);
        PendingAcquire pending = queue.head();
        boolean isStarting = pending.hasPlace() || pending.waiting.timerStep == Waiting.TimerStep.WAKE;
        if (!queue.isHeadWakeable() || isStarting) {
            // An attempt is under way, or is about to start: it may have its place among the attempts already.
            return;
        }
        if (isHead) {
            services.telemetry.rare.onWoken(queue.key, nodeIndex);
        }
        if (pending.waiting.isAsking()) {
            // The answer to a look under way may be older than its registration: the head looks again.
            pending.waiting.endQuestion();
            scheduler.registrations.remove(queue, nodeIndex);
        }
        if (word == HEAD_OF_FREE) {
            scheduler.waitTimers.wake(pending, PendingAcquire.Plan.COORDINATOR_FIRST, nowNs);
        } else if (isHead) {
            scheduler.waitTimers.onTtlUnknown(pending);
            lead(pending, nowNs);
        } else {
            long delayNs = word == DEPUTY_OF_FREE
                    ? Place.freeLookNs(retryDelays.random())
                    : queue.place.firstLookNs(retryDelays.random());
            look(pending, nowNs, delayNs);
        }
    }

    /** Nobody waits any more: the next one is to be woken. */
    private void leave(int nodeIndex, ByteBuf name, int index, int length) {
        services.telemetry.rare.onSpuriousPush(null, nodeIndex);
        LockKey key;
        try {
            key = new LockKey(KeyText.ofResource("", name.toString(index, length, StandardCharsets.UTF_8), length));
        } catch (IllegalArgumentException e) {
            // No lock has this name.
            return;
        }
        leave(key, nodeIndex);
    }

    /** The client waits no more for a lock, or elsewhere. */
    @Override
    public void leave(PlainQueue queue) {
        int node = queue.place.node();
        queue.place.onLost();
        leave(queue.key, node);
    }

    /** Removes the entry of this client from the queue of a lock; the next one is woken. */
    private void leave(LockKey key, int node) {
        Claim claim = commands.take(key);
        claim.nameWaiter(services.waiterBulk(node));
        commands.send(claim, CommandKind.LEAVE_QUEUE, 1L << node);
    }
}
