package dev.redlock.engine;

import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.key.RecentValues;
import dev.redlock.node.send.CommandKind;

/**
 * Shows other clients that one waits, for the kinds of lock without a queue of all clients: readers, writers and
 * permits. One release may serve several of them at the same time, so a line with one head would hold them up.
 *
 * <ol>
 * <li>A refused waiter leaves a mark at the coordinator: a key that expires after half a second. A set needs none,
 * because it leaves its reservation there.
 * <li>A release that asks reads how long the mark or the reservation still exists.
 * <li>If there is one, the client leaves the lock free for a moment ({@link Fairness}).
 * </ol>
 *
 * <p>A queue that was served a moment ago leaves no mark, nor does one for a permit if this client has them all.
 *
 * @threading event-loop-confined
 */
final class WaitMarks {

    /** A waiter is refused again as often, by its backstop. A reservation is shorter. */
    private static final long MARK_MS = 500;
    /** Between the attempts of a queue to leave a mark: each of its refusals is one if it is rare. */
    private static final long TRY_INTERVAL_NS = 100_000_000;
    /** A queue that has waited for less is no reason to leave a lock free: the time of two handoffs and a pause. */
    private static final long SERVED_NS = 10_000_000;
    private static final long NEVER = Long.MIN_VALUE;

    private final LoopServices services;
    private final UnownedCommands commands;
    /** When this client has last tried to leave a mark for a lock. */
    private final RecentValues triedNs = new RecentValues();

    WaitMarks(LoopServices services, UnownedCommands commands) {
        this.services = services;
        this.commands = commands;
    }

    /** A waiter of a queue was refused again: sets a mark if it is due. */
    void set(WaitQueue queue) {
        LockKey key = queue.key;
        if (!queue.isMarked()) {
            return;
        }
        long nowNs = services.clock.nanoTime();
        boolean isDue = !isWithin(triedNs.get(key, NEVER), nowNs, TRY_INTERVAL_NS)
                && !isWithin(queue.servedNs(), nowNs, SERVED_NS);
        int coordinator = isDue ? services.coordinator.of(key) : Coordinator.NONE;
        if (coordinator == Coordinator.NONE) {
            return;
        }
        triedNs.put(key, nowNs);
        Claim claim = commands.take(key.markKey(), MARK_MS);
        services.tokens.next(claim.token, nowNs);
        commands.send(claim, CommandKind.MARK, 1L << coordinator);
    }

    /** Asks a node for the mark or the reservation; {@link #isLeft} reads the answer. */
    void ask(LockKey key, int node) {
        commands.send(commands.take(key.markKey()), CommandKind.REMAINING_TTL, 1L << node);
    }

    /** Whether a key that still exists for a time is that of a waiter; one that lasts longer is not. */
    static boolean isLeft(long remainingTtlMs) {
        return remainingTtlMs > 0 && remainingTtlMs <= MARK_MS;
    }

    private static boolean isWithin(long ns, long nowNs, long limitNs) {
        return ns != NEVER && nowNs - ns < limitNs;
    }
}
