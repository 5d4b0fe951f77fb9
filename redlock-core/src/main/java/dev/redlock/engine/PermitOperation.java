package dev.redlock.engine;

import dev.redlock.AcquireOutcome;
import dev.redlock.node.CommandKind;
import dev.redlock.node.LockKind;
import dev.redlock.quorum.Vote;
import java.util.BitSet;
import java.util.random.RandomGenerator;

/**
 * Takes permits of semaphores. A semaphore has a slot for each permit, and a slot is a plain lock: this class chooses
 * the slot that an attempt asks for, and no vote, lease or release is different from that of a plain lock.
 *
 * <ul>
 * <li>The first attempt asks for a random slot that this client does not use.
 * <li>If another client has it, a search follows: one node looks at all slots, and names a free one. The next attempt
 * asks for it.
 * <li>If none is free, the node pushes the next change of each slot. The next attempt asks for the slot of the push.
 * </ul>
 *
 * <p>The doorkeeper of the semaphore searches, which is that of each slot. In doubt any other node does.
 *
 * @threading event-loop-confined
 */
final class PermitOperation {

    /** Slots that a search has named and another client has taken, before an attempt fails. */
    private static final int SEARCHES_MAX = 8;
    /** An acquisition without a wait budget makes attempts for this many node timeouts. */
    private static final int TRY_TIMEOUTS = 3;
    /** A search takes a node longer than a doorkeeper's refusal. */
    private static final int GRACES = 4;
    /** The reply of the script if no slot expires: the largest exact integer of Lua, negated. */
    private static final long NO_EXPIRY_REPLY = -9_007_199_254_740_991L;

    private final Conductor conductor;
    private final RandomGenerator random;
    private final KeyedMap<UsedSlots> used = new KeyedMap<>();

    /**
     * The slots of the semaphores of one name that attempts and leases of this event loop use.
     *
     * @threading event-loop-confined
     */
    private static final class UsedSlots extends Keyed {
        private final BitSet numbers = new BitSet();
    }

    PermitOperation(Conductor conductor, RandomGenerator random) {
        this.conductor = conductor;
        this.random = random;
    }

    /** Starts an attempt for a slot, or searches for one first. */
    void start(PendingAcquire pending) {
        WaitQueue queue = pending.queue;
        LockKey slot = queue == null ? null : queue.slot;
        if (pending.lease.attemptCount() == 0) {
            pending.hasSearched = false;
            pending.searchCount = 0;
        }
        if (pending.lease.waitNs <= 0) {
            pending.deadlineNs = conductor.nowNs() + TRY_TIMEOUTS * nodeTimeoutNs(pending);
        }
        pending.isSlotPushed = slot != null && queue.isSlotPushed;
        if (slot != null) {
            queue.slot = null;
        } else if (pending.plan == PendingAcquire.Plan.UNCONTENDED) {
            slot = unusedSlot(pending.lease.key);
        }
        if (slot == null) {
            search(pending);
        } else {
            attempt(pending, slot);
        }
    }

    private void attempt(PendingAcquire pending, LockKey slot) {
        LockKey semaphore = pending.lease.key;
        UsedSlots slots = used.get(semaphore.member(0));
        if (slots == null) {
            slots = new UsedSlots();
            slots.key = semaphore.member(0);
            used.add(slots);
        }
        slots.numbers.set(slot.slotNumber());
        conductor.acquireOperation().start(pending, slot);
    }

    /** Returns a random slot that this client does not use; null if it uses all. */
    private LockKey unusedSlot(LockKey semaphore) {
        int count = semaphore.slotCount();
        int first = random.nextInt(count);
        UsedSlots slots = used.get(semaphore.member(0));
        if (slots == null) {
            return semaphore.slotKey(first);
        }
        int number = slots.numbers.nextClearBit(first);
        if (number >= count) {
            number = slots.numbers.nextClearBit(0);
        }
        return number >= count ? null : semaphore.slotKey(number);
    }

    /** An attempt of any kind of lock is rolled back. */
    void onAttemptEnded(Claim claim) {
        LockKey key = claim.pending.lease.key;
        if (key.kind() == LockKind.PERMIT) {
            onSlotFree(key, claim.key);
        }
    }

    /** This client does not use a slot any more. */
    void onSlotFree(LockKey semaphore, LockKey slot) {
        UsedSlots slots = used.get(semaphore.member(0));
        if (slots != null) {
            slots.numbers.clear(slot.slotNumber());
            if (slots.numbers.isEmpty()) {
                used.remove(slots);
            }
        }
    }

    // ---- search -----------------------------------------------------------------------------------------------------

    /**
     * An attempt was refused, which says nothing about the other slots: searches for a free one, unless the next
     * attempt is due for another reason or the nodes push changes of all slots.
     *
     * @return false if the acquisition has to wait or to end
     */
    boolean searchAgain(PendingAcquire pending) {
        boolean isNextDue = pending.retryImmediately || pending.isWoken;
        // A push ends the registration of its slot, and the refusal of its node starts it again.
        pending.hasSearched &= isRegistered(pending, conductor.doorkeeper().of(pending.lease.key));
        boolean isEachSlotRegistered = pending.isSlotPushed && pending.hasSearched;
        if (isNextDue || isEachSlotRegistered || isOver(pending)) {
            return false;
        }
        if (pending.searchCount == SEARCHES_MAX) {
            pending.searchCount = 0;
            if (pending.queue != null) {
                // The attempts have registered for the slots that they asked for alone.
                conductor.scheduler().queues().unregister(pending.queue);
            }
            return false;
        }
        conductor.telemetry().onAttemptFailed(AcquireOutcome.Kind.CONTENDED);
        pending.generation++;
        pending.timerStep = PendingAcquire.TimerStep.ATTEMPT;
        runGuarded(pending, () -> search(pending));
        return true;
    }

    private boolean isOver(PendingAcquire pending) {
        return pending.deadlineNs - conductor.nowNs() <= 0;
    }

    private long nodeTimeoutNs(PendingAcquire pending) {
        return conductor.config().terms().nodeTimeoutNs(pending.lease.ttlMs);
    }

    private static boolean isRegistered(PendingAcquire pending, int nodeIndex) {
        return pending.queue != null && nodeIndex != Doorkeeper.NONE
                && (pending.queue.registeredMask & 1L << nodeIndex) != 0;
    }

    private void search(PendingAcquire pending) {
        boolean isDoubted = pending.plan == PendingAcquire.Plan.ALL && pending.searchCount == 0
                || pending.searchCount % 2 != 0;
        pending.plan = isDoubted ? PendingAcquire.Plan.ALL : PendingAcquire.Plan.DOORKEEPER_FIRST;
        pending.searchCount++;
        pending.hasSearched = false;
        Claim claim = conductor.claims().take();
        claim.phase = Claim.Phase.SEARCHING;
        claim.pending = pending;
        claim.key = pending.lease.key.searchKey();
        claim.ttlMs = pending.lease.ttlMs;
        claim.isFenced = false;
        claim.isWakeUpWanted = conductor.acquireOperation().isWakeUpPossible(pending);
        pending.claim = claim;
        if (claim.isWakeUpWanted) {
            // Before the search: a release of this client may follow it, and no node pushes that.
            conductor.scheduler().queues().expectSlots(pending.queue);
        }
        long nowNs = conductor.nowNs();
        conductor.tokens().next(claim.token, nowNs);
        int nodeIndex = nodeFor(claim, isDoubted);
        if (nodeIndex == Doorkeeper.NONE) {
            onNoReply(claim);
            return;
        }
        conductor.startTimer(claim.roundTimer,
                nowNs + Math.min(nodeTimeoutNs(pending) / 2, GRACES * conductor.doorkeeper().graceNs(nodeIndex)));
        claim.addPendingReplies(1);
        conductor.fanOut().send(claim, CommandKind.REMAINING_TTL, 0, 1L << nodeIndex);
    }

    /** Chooses the node that searches: the doorkeeper, or a random one of those that vote. */
    private int nodeFor(Claim claim, boolean isDoubted) {
        int doorkeeper = conductor.doorkeeper().of(claim.key);
        if (doorkeeper != Doorkeeper.NONE && !isDoubted) {
            return doorkeeper;
        }
        long voting = conductor.votingMask(claim);
        for (int skipped = voting == 0 ? 0 : random.nextInt(Long.bitCount(voting)); skipped > 0; skipped--) {
            voting &= voting - 1;
        }
        return voting == 0 ? Doorkeeper.NONE : Long.numberOfTrailingZeros(voting);
    }

    void onReply(Claim claim, int nodeIndex, long value) {
        PendingAcquire pending = claim.pending;
        LockKey semaphore = pending.lease.key;
        if (value > semaphore.slotCount()) {
            onNoReply(claim);
        } else if (value > 0) {
            end(claim);
            attemptAtAllNodes(pending, (int) value - 1);
        } else {
            onNoneFree(claim, nodeIndex, value);
        }
    }

    private void onNoneFree(Claim claim, int nodeIndex, long value) {
        PendingAcquire pending = claim.pending;
        claim.recordRemainingTtl(value == NO_EXPIRY_REPLY ? Long.MAX_VALUE : -value);
        claim.acquireRound.onVote(nodeIndex, Vote.REFUSED);
        pending.lease.recordVotes(claim);
        if (claim.isWakeUpWanted && conductor.node(nodeIndex, claim).hasWakeUps()) {
            conductor.scheduler().queues().onRegistered(pending.queue, 1L << nodeIndex);
            pending.hasSearched = true;
        }
        end(claim);
        pending.searchCount = 0;
        pending.isSlotPushed = false;
        conductor.scheduler().onLockTaken(pending, AcquireOutcome.Kind.CONTENDED);
    }

    /** The node has not replied in time, or there is none: asks all nodes for a random slot. */
    void onNoReply(Claim claim) {
        PendingAcquire pending = claim.pending;
        end(claim);
        attemptAtAllNodes(pending, random.nextInt(pending.lease.key.slotCount()));
    }

    private void attemptAtAllNodes(PendingAcquire pending, int slotNumber) {
        if (isOver(pending)) {
            // An attempt would not end in time.
            conductor.scheduler().onLockTaken(pending, AcquireOutcome.Kind.CONTENDED);
            return;
        }
        pending.plan = PendingAcquire.Plan.ALL;
        runGuarded(pending, () -> attempt(pending, pending.lease.key.slotKey(slotNumber)));
    }

    /** The step follows a reply, so no other event would end the acquisition if it throws. */
    private void runGuarded(PendingAcquire pending, Runnable step) {
        LeaseHandle lease = pending.lease;
        try {
            step.run();
        } catch (RuntimeException | Error e) {
            if (lease.pending == pending) {
                conductor.scheduler().abortAfterFailure(lease);
            }
            throw e;
        }
    }

    /** Detaches the claim from its acquisition: a later reply does not count. */
    private void end(Claim claim) {
        conductor.holderTtlQuery().untrack(claim);
    }
}
