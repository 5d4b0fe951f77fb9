package dev.redlock.engine;

import dev.redlock.engine.key.KeyedMap;
import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.LockKind;
import dev.redlock.node.send.LockRequest;

/**
 * The registrations of waiters for pushes, and the rest of a refusal. A node pushes the next change of a key after
 * an attempt that it has refused, if the attempt has asked for that.
 *
 * @threading event-loop-confined
 */
final class Registrations {

    /** Queues with a registration on any node. */
    int count;
    private final LoopServices services;
    private final KeyedMap<WaitQueue> queues;
    private final ResourceQueues resourceQueues;
    private final int max;

    Registrations(LoopServices services, KeyedMap<WaitQueue> queues, ResourceQueues resourceQueues) {
        this.services = services;
        this.queues = queues;
        this.resourceQueues = resourceQueues;
        this.max = services.config.limits().wakeUpKeysMax();
    }

    /** Whether any node would push a change. A queue beyond the limit of registered keys polls. */
    boolean isPossible(PendingAcquire pending) {
        return pending.queue != null && isAllowed(pending.queue) && services.wakeUpMask() != 0;
    }

    /**
     * Prepares an attempt for a lock of another kind. The script of a refused reader or writer may change the key: it
     * removes expired readers, and leaves the reservation of a writer. That ends the registrations of other waiters of
     * the client, unless the attempt registers itself.
     */
    void prepare(Claim claim) {
        LockKey key = claim.key;
        claim.isWakeUpWanted |= claim.isRemainingTtlWanted && key.kind.hasReaders && isAnyFor(key);
    }

    /** Whether a waiter for a resource of a lock, of any kind, has a registration. */
    private boolean isAnyFor(LockKey key) {
        ResourceQueues.Entry entry = count == 0 ? null : resourceQueues.of(key.resourceKey(0));
        for (int i = 0; entry != null && i < entry.queues.size(); i++) {
            if (entry.queues.get(i).registeredMask != 0) {
                return true;
            }
        }
        WaitQueue plain = count == 0 ? null : queues.get(key.resourceKey(0));
        return plain != null && plain.registeredMask != 0;
    }

    /** Whether attempts of a queue may register for pushes. */
    boolean isAllowed(WaitQueue queue) {
        return queue.registeredMask != 0 || count < max;
    }

    /** The nodes of a mask push the next change of the key. */
    void add(WaitQueue queue, long mask) {
        if (queue instanceof PermitQueue permits) {
            resourceQueues.addPermits(permits);
        }
        if (queue.registeredMask == 0 && mask != 0) {
            count++;
        }
        queue.registeredMask |= mask;
    }

    /** A node does not push the next change any more. */
    void remove(WaitQueue queue, int nodeIndex) {
        long left = queue.registeredMask & ~(1L << nodeIndex);
        if (queue.registeredMask != 0 && left == 0) {
            count--;
        }
        queue.registeredMask = left;
    }

    /** Some keys of a queue may have no registration. */
    void remove(WaitQueue queue) {
        queue.forgetRefusal();
        if (queue.registeredMask != 0) {
            count--;
            queue.registeredMask = 0;
        }
    }

    // ---- refusals ---------------------------------------------------------------------------------------------------

    /** A node has refused an attempt, maybe late. The reply of a script has the remaining ttl of the key in use. */
    void onRefused(Claim claim, int nodeIndex, long value) {
        if (claim.phase == Claim.Phase.ACQUIRING && claim.isWakeUpWanted && !claim.isInOrderAt(nodeIndex)
                && claim.pending.queue != null
                && services.node(nodeIndex, claim).hasWakeUps()) {
            add(claim.pending.queue, 1L << nodeIndex);
        }
        if (claim.lockKind() == LockKind.SET) {
            recordRefusalOfSet(claim, nodeIndex, value);
        } else if (value != LockRequest.REFUSED_TTL_UNKNOWN) {
            claim.contention().recordRefusal(value);
        }
    }

    /** A coordinator has refused an attempt: its round trip is known. */
    void onAnswered(Claim claim, int coordinator) {
        long startNs = claim.startNs(claim.pending.lease);
        services.coordinator.onRefused(coordinator, services.clock.nanoTime() - startNs);
    }

    /** The reply of the script has a ttl and the number of a resource; {@code MSETEX} refuses by 0. */
    private void recordRefusalOfSet(Claim claim, int nodeIndex, long value) {
        if (value == 0 || value == LockRequest.REFUSED_TTL_UNKNOWN) {
            return;
        }
        claim.contention().recordRemainingTtl(Ticket.remainingTtlMsOfSet(value));
        if (claim.phase == Claim.Phase.ACQUIRING) {
            Reservations.onLeft(claim.pending, nodeIndex, services.clock.nanoTime());
        }
        boolean isOfCoordinator = claim.phase == Claim.Phase.ACQUIRING && Long.bitCount(claim.askedMask) == 1;
        if (isOfCoordinator && claim.pending.queue instanceof SetQueue queue) {
            onAnswered(claim, nodeIndex);
            queue.onRefused(value);
        }
    }
}
