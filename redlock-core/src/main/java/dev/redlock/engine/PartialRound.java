package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.watch.ConductorCounters;
import dev.redlock.node.send.CommandDetail;
import dev.redlock.node.send.LockKind;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.quorum.Vote;

/**
 * Asks some nodes first: the coordinator if the attempt is contended, or a quorum of a thrifty client. Then it asks the
 * others if the first ones do not decide the attempt, or not in time.
 *
 * @threading event-loop-confined
 */
final class PartialRound {

    private final LoopServices services;
    private final AcquireScheduler scheduler;
    private final AcquireOperation operation;
    private final long all;
    private final boolean isThrifty;

    PartialRound(LoopServices services, AcquireScheduler scheduler, AcquireOperation operation) {
        this.services = services;
        this.scheduler = scheduler;
        this.operation = operation;
        this.all = services.all;
        this.isThrifty = services.config.attempts().isThrifty();
    }

    /** Starts the round of an attempt with the nodes of its plan. */
    void ask(Claim claim, long t1Ns) {
        long mask = maskOf(claim, t1Ns);
        if (claim.pending.isCoordinatorFirst() && Long.bitCount(mask) == 1) {
            scheduler.crowd.prepare(claim, Long.numberOfTrailingZeros(mask));
        }
        if (mask == all) {
            operation.askAll(claim, t1Ns);
            return;
        }
        claim.contention().voterMask = services.fanOut.votingMask(claim);
        services.timers.start(claim.roundTimer, hedgeAtNs(claim, mask, t1Ns));
        claim.number = services.telemetry.onAttempt(claim.key, t1Ns, mask);
        operation.ask(claim, mask);
    }

    /** The nodes that the plan of an attempt asks first. */
    private long maskOf(Claim claim, long t1Ns) {
        PendingAcquire pending = claim.pending;
        LockKey key = claim.key;
        if (scheduler.reservations.isEveryNodeAsked(pending, claim, t1Ns)) {
            return all;
        }
        if (pending.isCoordinatorFirst()) {
            int coordinator = services.coordinator.of(key);
            if (coordinator != Coordinator.NONE) {
                return 1L << coordinator;
            }
        }
        if (!isThrifty || pending.plan() == PendingAcquire.Plan.ALL) {
            return all;
        }
        // A search for a permit asks one node, which must have the key of each permit in use.
        boolean isOrderOfResource = claim.fenceOrSearch != null || pending.plan() != PendingAcquire.Plan.UNCONTENDED
                || pending.kind() == LockKind.PERMIT;
        return isOrderOfResource ? services.thriftyQuorum.of(key) : services.thriftyQuorum.at(t1Ns, key);
    }

    /** When an attempt asks the other nodes too, unless the first ones have replied. */
    private long hedgeAtNs(Claim claim, long mask, long nowNs) {
        long leftNs = Math.max(0, claim.roundEndNs() - nowNs);
        return nowNs + (Long.bitCount(mask) == 1
                ? services.coordinator.timeoutNs(Long.numberOfTrailingZeros(mask), leftNs)
                : services.thriftyQuorum.delayNs(mask, leftNs));
    }

    /** Asks more nodes. */
    private void askMore(Claim claim, long mask) {
        // The first grants of the attempt may be older than the check that has let these nodes vote.
        long newVoters = mask & ~claim.contention().voterMask;
        // Also a cluster that is silent for the key: its silence may end before the send.
        newVoters &= newVoters == 0 ? 0 : services.readyMask(claim);
        claim.addAsked(newVoters);
        // The decision follows the last send.
        Claim outer = operation.asking;
        operation.asking = claim;
        try {
            for (long left = newVoters; left != 0; left &= left - 1) {
                int i = Long.numberOfTrailingZeros(left);
                boolean isSilent = services.voters[i].isSilentFor(claim);
                operation.onNoReply(claim, i, Vote.FAILED,
                        isSilent ? VoteFailure.SLOT_MOVED : VoteFailure.NOT_CONNECTED);
            }
        } finally {
            operation.asking = outer;
        }
        operation.ask(claim, mask & ~newVoters);
    }

    /** The coordinator, if it is among the nodes, gets the reservation of a set. */
    void beforeSend(Claim claim, long mask) {
        int coordinator = services.coordinator.of(claim.key);
        if (coordinator != Coordinator.NONE && (mask & 1L << coordinator) != 0) {
            if (scheduler.queues.setOrder.isFirst((SetQueue) claim.pending.queue)) {
                claim.pending.reservation.node = coordinator;
            }
            Reservations.onLeft(claim.pending, coordinator, services.clock.nanoTime());
        }
    }

    /** The coordinator alone considers the reservation of a set, so it alone gets the name. */
    void send(Claim claim, long mask) {
        int coordinator = services.coordinator.of(claim.key);
        long named = coordinator == Coordinator.NONE ? 0 : mask & 1L << coordinator;
        if (named != 0) {
            services.fanOut.send(claim, AcquireOperation.kindOf(claim), CommandDetail.NONE, named);
        }
        // If there is no other node, the name is still needed: the coordinator may not know the script yet.
        if (mask != named) {
            claim.contention().reservation = null;
            services.fanOut.send(claim, AcquireOperation.kindOf(claim), CommandDetail.NONE, mask & ~named);
        }
    }

    /** The coordinator has granted: asks the other first nodes. */
    private void askFirstVoters(Claim claim) {
        if (claim.isInOrder() && !operation.isPlainSetEnough(claim)) {
            claim.registerAtOthers();
        }
        long others = services.thriftyQuorum.of(claim.key) & ~claim.askedMask;
        if (!isThrifty || (others | claim.askedMask) == all) {
            askOthers(claim);
            return;
        }
        services.timers.start(claim.roundTimer, hedgeAtNs(claim, others, services.clock.nanoTime()));
        services.telemetry.rare.onAskedOthers(claim, others);
        askMore(claim, others);
    }

    /** The first nodes have not decided the attempt: asks all others, unless a pause has left it no validity. */
    void hedge(Claim claim) {
        if (!isWinnable(claim)) {
            scheduler.retries.fail(claim, AcquireOutcome.Kind.TOO_SLOW);
            return;
        }
        services.counters.add(ConductorCounters.HEDGED, 1);
        if (claim.isInOrder()) {
            claim.registerAtOthers();
        }
        askOthers(claim);
    }

    private void askOthers(Claim claim) {
        services.timers.start(claim.roundTimer, claim.roundEndNs());
        long others = all & ~claim.askedMask;
        services.telemetry.rare.onAskedOthers(claim, others);
        askMore(claim, others);
    }

    /** The first nodes have not replied in time, or the time of the round is over. */
    void onTimeout(Claim claim) {
        if (!operation.isPartlyAsked(claim)) {
            onRoundTimeout(claim);
            return;
        }
        if (!isCoordinatorAskedOnly(claim)) {
            services.thriftyQuorum.onLate(claim.silentMask());
        }
        hedge(claim);
    }

    private void onRoundTimeout(Claim claim) {
        long pendingMask = claim.round.pending();
        services.telemetry.rare.onSilent(claim, pendingMask);
        for (; pendingMask != 0; pendingMask &= pendingMask - 1) {
            claim.recordFailure(Long.numberOfTrailingZeros(pendingMask), VoteFailure.SILENT);
        }
        claim.round.onTimeout();
        operation.decide(claim);
    }

    /**
     * A refusal of the coordinator ends the attempt: no other node was asked, and the coordinator pushes the next
     * change. Otherwise, a node that did not vote or a last vote that does not decide makes the attempt ask the others.
     */
    void onVote(Claim claim) {
        boolean isCoordinatorAskedOnly = isCoordinatorAskedOnly(claim);
        if (isCoordinatorAskedOnly && claim.round.refused() != 0) {
            scheduler.retries.fail(claim, AcquireOutcome.Kind.CONTENDED);
        } else if (isCoordinatorAskedOnly && claim.round.granted() != 0 && isWinnable(claim)) {
            askFirstVoters(claim);
        } else if ((claim.round.failed() | claim.round.unknown()) != 0 || claim.silentMask() == 0) {
            hedge(claim);
        }
    }

    private boolean isWinnable(Claim claim) {
        return claim.validUntilNs - services.clock.nanoTime() > 0;
    }

    private boolean isCoordinatorAskedOnly(Claim claim) {
        return operation.isPartlyAsked(claim) && Long.bitCount(claim.askedMask) == 1;
    }
}
