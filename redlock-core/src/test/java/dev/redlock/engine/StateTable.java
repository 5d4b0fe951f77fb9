package dev.redlock.engine;

import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.LockKind;
import dev.redlock.quorum.Quorum;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The valid combinations of the three states that describe one lock. {@link LeaseState} is the life of the lock,
 * {@link PendingAcquire.State} refines ACQUIRING, {@link Claim.Phase} refines ATTEMPTING, HELD and RELEASING.
 *
 * <pre>
 * LeaseState  PendingAcquire.State  Claim.Phase                        running timers
 * ACQUIRING   QUEUED                -                                  pending
 * ACQUIRING   AWAITING_PLACE         -                                  pending
 * ACQUIRING   BACKING_OFF           -                                  pending
 * ACQUIRING   ATTEMPTING            ACQUIRING, RAISING, SEARCHING,     round
 *                                   QUERYING_HOLDER
 * ACQUIRING   -                     -                                  - (a request to the event loop is pending)
 * HELD        -                     HELD                               hold, and extend during an extension
 * RELEASING   -                     RELEASING                          round
 * others      -                     -                                  -
 * </pre>
 *
 * The table holds between two events of the event loop.
 */
final class StateTable {

    private final Conductor conductor;
    private final List<String> violations = new ArrayList<>();

    private StateTable(Conductor conductor) {
        this.conductor = conductor;
    }

    /** Returns the violations of one conductor and of some leases that used it last. */
    static List<String> violations(Conductor conductor, Iterable<? extends Lease> leases) {
        StateTable table = new StateTable(conductor);
        for (PendingAcquire pending = conductor.scheduler.firstActive; pending != null; pending = pending.nextActive) {
            table.checkPending(pending);
        }
        table.checkTracked();
        table.checkLimits();
        table.checkRetained();
        for (Lease lease : leases) {
            table.checkLease((LeaseHandle) lease);
        }
        return table.violations;
    }

    private void check(boolean isValid, String rule, Supplier<?> subject) {
        if (!isValid) {
            violations.add("not true that " + rule + ": " + subject.get());
        }
    }

    // ---- pending acquires -------------------------------------------------------------------------------------------

    private void checkPending(PendingAcquire pending) {
        LeaseHandle lease = pending.lease;
        check(lease != null && lease.pending == pending, "a pending acquire and its lease refer to each other",
                () -> pending.state);
        if (lease == null) {
            return;
        }
        Supplier<String> subject = () -> pending.state + " of " + lease;
        check(lease.storedState() == LeaseState.ACQUIRING, "the lease of a pending acquire is ACQUIRING", subject);
        check(lease.claim == null, "a lease owns no claim before it is held", subject);
        check((pending.state == PendingAcquire.State.ATTEMPTING) == (pending.claim != null),
                "a pending acquire has a claim exactly while it is ATTEMPTING", subject);
        if (pending.claim != null) {
            checkAttempt(pending, pending.claim, subject);
        } else {
            checkWait(pending, subject);
        }
    }

    private void checkAttempt(PendingAcquire pending, Claim claim, Supplier<String> subject) {
        Supplier<String> attempt = () -> claim.phase + " of " + subject.get();
        check(claim.phase == Claim.Phase.ACQUIRING || claim.phase == Claim.Phase.RAISING
                || claim.phase == Claim.Phase.QUERYING_HOLDER || claim.phase == Claim.Phase.SEARCHING,
                "an attempt is ACQUIRING, RAISING, QUERYING_HOLDER or SEARCHING", attempt);
        check(claim.pending == pending && claim.lease == null, "the pending acquire alone owns the claim", attempt);
        check(claim.roundTimer.isStarted() && !pending.timer.isStarted(),
                "an attempt ends by its round timer, not by the timer of the pending acquire", attempt);
        check(!pending.hasPlace(), "an attempt uses its place and has none reserved", attempt);
        if (pending.queue == null || pending.lease.key.kind != LockKind.PERMIT) {
            checkHead(pending, attempt);
        } else {
            checkFollowers(pending, attempt);
        }
    }

    /** The waiters behind the head make attempts too, each for another permit. */
    private void checkFollowers(PendingAcquire pending, Supplier<String> attempt) {
        int count = 0;
        for (PendingAcquire other = pending.queue.head(); other != null; other = other.waiting.nextInQueue) {
            if (other.state == PendingAcquire.State.ATTEMPTING && other.claim != null) {
                count += other == pending.queue.head() ? 0 : 1;
                check(other == pending || !other.claim.key.equals(pending.claim.key)
                        || pending.claim.phase == Claim.Phase.SEARCHING,
                        "two attempts of one queue ask for different permits", attempt);
            }
        }
        int counted = count;
        check(PermitQueue.of(pending).hints.followerCount == count, "the attempts behind the head are counted",
                () -> attempt.get() + ", " + counted);
        check(pending.queue.head() == pending || pending.claim.phase == Claim.Phase.ACQUIRING,
                "only the head of a queue searches", attempt);
    }

    private void checkWait(PendingAcquire pending, Supplier<String> subject) {
        check(pending.state != PendingAcquire.State.FREE, "a pending acquire is not in the pool", subject);
        check(pending.queue != null, "a pending acquire that waits has a queue", subject);
        check(pending.timer.isStarted(), "a pending acquire that waits has a timer", subject);
        if (pending.state == PendingAcquire.State.QUEUED) {
            check(pending.queue == null || pending.queue.head() != pending, "the head of a queue is not QUEUED",
                    subject);
        } else {
            checkHead(pending, subject);
        }
        check(!pending.hasPlace() || pending.state == PendingAcquire.State.BACKING_OFF,
                "a place is reserved for a BACKING_OFF acquire only", subject);
    }

    private void checkHead(PendingAcquire pending, Supplier<String> subject) {
        check(pending.queue == null || pending.queue.head() == pending, "only the head of a queue makes attempts",
                subject);
    }

    /** A client with a waiter retains nothing that the waiter wants. */
    private void checkRetained() {
        for (PendingAcquire pending = conductor.scheduler.firstActive; pending != null; pending = pending.nextActive) {
            LockKey key = pending.lease.key;
            for (int i = 0; pending.queue != null && key.kind != LockKind.PERMIT && i < key.resourceCount; i++) {
                check(!((RetainedLocks) conductor.keeper.retention).isFree(key.resourceKey(i)),
                        "a lock with a local waiter is not retained",
                        pending.lease::toString);
            }
        }
    }

    // ---- leases -----------------------------------------------------------------------------------------------------

    private void checkTracked() {
        int count = 0;
        for (LeaseHandle lease = conductor.keeper.firstHeld; lease != null; lease = lease.nextHeld) {
            count++;
            check(lease.storedState() == LeaseState.HELD
                    || ((RetainedLocks) conductor.keeper.retention).isPreparing(lease.claim),
                    "a tracked lease is HELD", lease::toString);
            checkLease(lease);
        }
        check(count == conductor.keeper.heldCount(), "the keeper counts its leases", () -> "heldCount");
    }

    private void checkLimits() {
        AcquireScheduler scheduler = conductor.scheduler;
        int inFlight = 0;
        int waiters = 0;
        int extended = 0;
        Set<WaitQueue> registered = Collections.newSetFromMap(new IdentityHashMap<>());
        for (PendingAcquire pending = scheduler.firstActive; pending != null; pending = pending.nextActive) {
            boolean isAttempting = pending.state == PendingAcquire.State.ATTEMPTING;
            inFlight += isAttempting || pending.hasPlace() ? 1 : 0;
            waiters += pending.state == PendingAcquire.State.QUEUED
                    || pending.state == PendingAcquire.State.AWAITING_PLACE ? 1 : 0;
            extended += pending.lease.isExtendable() ? 1 : 0;
            if (pending.queue != null && pending.queue.registeredMask != 0) {
                registered.add(pending.queue);
            }
        }
        for (LeaseHandle lease = conductor.keeper.firstHeld; lease != null; lease = lease.nextHeld) {
            extended += lease.isExtendable() ? 1 : 0;
        }
        checkCount(inFlight, scheduler.inFlight.count, "attempts in flight");
        checkCount(waiters, scheduler.waiterCount, "waiters");
        checkCount(extended, conductor.keeper.extendableCount, "leases with automatic extension");
        checkCount(registered.size(), scheduler.registrations.count, "queues with a registration");
    }

    private void checkCount(int counted, int limited, String what) {
        check(counted == limited, "the limit of " + what + " counts each", () -> limited + " for " + counted);
    }

    private void checkLease(LeaseHandle lease) {
        Claim claim = lease.claim;
        Supplier<String> subject = () -> (claim == null ? "no claim" : claim.phase) + " of " + lease;
        switch (lease.storedState()) {
            case HELD -> {
                if (lease.loop() instanceof RetainedLease retained && retained.isHolder(lease)) {
                    check(claim == null, "a local lease has no claim", subject);
                    return;
                }
                check(claim != null && claim.phase == Claim.Phase.HELD, "a HELD lease has a HELD claim", subject);
                checkOwner(lease, subject);
                if (claim != null) {
                    checkHeld(lease, claim, subject);
                }
            }
            case RELEASING -> {
                if (claim != null && claim.phase == Claim.Phase.HELD
                        && ((RetainedLocks) conductor.keeper.retention).isPreparing(claim)) {
                    checkHeld(lease, claim, subject);
                    return;
                }
                check(claim != null && claim.phase == Claim.Phase.RELEASING, "a RELEASING lease has a RELEASING claim",
                        subject);
                checkOwner(lease, subject);
                check(claim == null || claim.roundTimer.isStarted(), "a release has a round timer", subject);
            }
            case ACQUIRING -> {
                check(claim == null, "a lease owns no claim before it is held", subject);
                check(lease.pending != null || !lease.isTaken(RequestMailbox.ACQUIRE | RequestMailbox.DELIVER),
                        "an ACQUIRING lease has a pending acquire or a pending request", subject);
            }
            default -> check(claim == null && lease.pending == null, "an ended lease has neither claim nor acquire",
                    subject);
        }
    }

    private void checkOwner(LeaseHandle lease, Supplier<String> subject) {
        check(lease.pending == null, "a lease has no pending acquire after it is acquired", subject);
        check(lease.claim == null || lease.claim.lease == lease && lease.claim.pending == null,
                "the lease alone owns its claim", subject);
    }

    private void checkHeld(LeaseHandle lease, Claim claim, Supplier<String> subject) {
        check(Long.bitCount(claim.holderMask) >= Quorum.sizeOf(conductor.services.voters.length)
                || Unclaimed.is(claim), "a HELD lease has a quorum of holder nodes", subject);
        check(!Unclaimed.is(claim) || claim.holderMask == 0 && conductor.services.isLoneNode()
                && conductor.services.readyMask(claim) == 0, "no node votes beside an unclaimed lease", subject);
        check(claim.holdTimer.isStarted() && !claim.roundTimer.isStarted(), "a HELD lease has a hold timer alone",
                subject);
        check(claim.extension == null || claim.isExtending() == claim.extension.timer.isStarted(),
                "an extension has an extend timer", subject);
        check(claim.isExtending() || !lease.isExtensionAccepted(), "an accepted extension is in progress",
                subject);
    }
}
