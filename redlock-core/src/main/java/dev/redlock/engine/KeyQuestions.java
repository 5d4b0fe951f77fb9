package dev.redlock.engine;

import dev.redlock.node.send.CommandKind;

/**
 * The questions of a waiter about the lock that it waits for: is it still in use, for how long, and at which place is
 * this client? They take nothing, so they cost a node much less than an attempt. With a registration the node also
 * pushes the next change of the key. {@link WaitTimers} gets the answers.
 *
 * @threading event-loop-confined
 */
final class KeyQuestions {

    private final LoopServices services;
    private final UnownedCommands commands;
    private final Registrations registrations;

    KeyQuestions(LoopServices services, UnownedCommands commands, Registrations registrations) {
        this.services = services;
        this.commands = commands;
        this.registrations = registrations;
    }

    /**
     * Registers a queue for the pushes of all nodes: the coordinator, which has refused an attempt, may stop. The
     * command reads the key of the lock and changes nothing, so nothing has to be rolled back.
     */
    void watch(WaitQueue queue) {
        long mask = services.all & ~queue.registeredMask & services.wakeUpMask();
        if (mask != 0) {
            Claim claim = commands.take(queue.key.searchKey());
            claim.isWakeUpWanted = true;
            registrations.add(queue, commands.send(claim, CommandKind.REMAINING_TTL, mask));
        }
    }

    /** Registers at nodes for the push of the release. The reply has the ttl, or shows that the key has gone since. */
    void watchAt(PendingAcquire pending, long mask) {
        Claim claim = commands.take(pending.queue.key);
        claim.isWakeUpWanted = true;
        ask(pending, claim, mask);
    }

    /** The nodes that have not refused it push too, and say whether they have the key. */
    void watchOthers(PendingAcquire pending) {
        long mask = services.all & ~pending.queue.registeredMask & services.wakeUpMask();
        if (mask != 0) {
            watchAt(pending, mask);
        }
    }

    private void ask(PendingAcquire pending, Claim claim, long mask) {
        WaitQueue queue = pending.queue;
        Waiting waiting = pending.waiting;
        waiting.ask(claim);
        long generation = pending.generation;
        boolean isRegistering = claim.isWakeUpWanted;
        long sent = commands.send(claim, CommandKind.REMAINING_TTL, mask);
        if (pending.generation != generation) {
            return;
        }
        if (isRegistering) {
            registrations.add(queue, sent);
        }
        if (sent == 0) {
            waiting.endQuestion();
        }
    }

    /** Reads the place of a waiter. */
    void askPlace(PendingAcquire pending, int node) {
        Claim claim = commands.take(pending.queue.key);
        claim.nameWaiter(services.waiterBulk(node));
        pending.waiting.ask(claim);
        long generation = pending.generation;
        long sent = commands.send(claim, CommandKind.PLACE, 1L << node);
        if (sent == 0 && pending.generation == generation) {
            pending.waiting.endQuestion();
        }
    }

    /** Reads the lock of a waiter at a node, which does not register it. */
    void readLock(PendingAcquire pending, int node) {
        ask(pending, commands.take(pending.queue.key), 1L << node);
    }

    /** Reads the place of a deputy, then the lock, which registers the deputy. */
    void look(PendingAcquire pending, int node) {
        Claim claim = commands.take(pending.queue.key);
        claim.nameWaiter(services.waiterBulk(node));
        claim.isWakeUpWanted = !pending.queue.isRegisteredAt(node)
                && registrations.isAllowed(pending.queue);
        pending.waiting.ask(claim);
        long generation = pending.generation;
        claim.addPendingReply();
        try {
            commands.send(claim, CommandKind.PLACE, 1L << node);
            if (pending.generation == generation) {
                ask(pending, claim, 1L << node);
            }
        } finally {
            claim.removePendingReply();
        }
    }

    /** Reads the lock of a waiter at a node in place of an attempt. */
    void check(PendingAcquire pending, int node) {
        Claim claim = commands.take(pending.queue.key);
        pending.waiting.ask(claim);
        commands.send(claim, CommandKind.REMAINING_TTL, 1L << node);
    }
}
