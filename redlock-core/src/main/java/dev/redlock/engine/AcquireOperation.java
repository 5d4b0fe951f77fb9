package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.watch.LoopTelemetry;
import dev.redlock.node.Voter;
import dev.redlock.node.send.CommandDetail;
import dev.redlock.node.send.CommandKind;
import dev.redlock.node.send.FanOut;
import dev.redlock.node.send.LockKind;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.quorum.Decision;
import dev.redlock.quorum.Vote;
import dev.redlock.time.NanoClock;
import dev.redlock.time.TimerWheel;

/**
 * Runs the acquire round of an attempt. It decides as soon as the votes allow one outcome only, and rolls back an
 * attempt that fails.
 *
 * @threading event-loop-confined
 */
final class AcquireOperation implements FencedClaims.Attempts {

    private final LoopServices services;
    private final AcquireScheduler scheduler;
    private final NanoClock clock;
    private final TimerWheel timers;
    private final LoopTelemetry telemetry;
    private final ClaimPool claims;
    private final FanOut fanOut;
    private final long all;
    private final Voter[] voters;
    private final CommandMode commandMode;
    private final boolean isThrifty;
    /** Set once. */
    private PartialRound partialRound;
    /** Its commands are being sent to the nodes: the round waits for the last send before it decides. */
    Claim asking;

    AcquireOperation(LoopServices services, ClaimPool claims, AcquireScheduler scheduler) {
        this.services = services;
        this.scheduler = scheduler;
        this.clock = services.clock;
        this.timers = services.timers;
        this.telemetry = services.telemetry;
        this.claims = claims;
        this.fanOut = services.fanOut;
        this.all = services.all;
        this.voters = services.voters;
        this.commandMode = services.config.attempts().commandMode();
        this.isThrifty = services.config.attempts().isThrifty();
    }

    void connect(PartialRound asking) {
        partialRound = asking;
    }

    /** The nodes that are asked have not decided the attempt in time. */
    void onTimeout(Claim claim) {
        partialRound.onTimeout(claim);
    }

    /**
     * Starts the round of a new attempt, with a new token. The key is that of the lease, or a permit of a semaphore.
     */
    void start(PendingAcquire pending, LockKey key) {
        LeaseHandle lease = pending.lease;
        Claim claim = claims.take();
        claim.beginAcquire(pending, key);
        claim.isWakeUpWanted = pending.plan() != PendingAcquire.Plan.UNCONTENDED
                && scheduler.registrations.isPossible(pending);
        // Readers always run a script, whose refusal has the ttl.
        claim.isRemainingTtlWanted = claim.isWakeUpWanted || key.kind == LockKind.READ || isRemainingTtlWanted(lease);
        if (lease.spec.isFenced) {
            claim.fenceOrSearch = scheduler.fencing.take(claim);
        }
        // t1: read before the first byte goes to a socket.
        long t1Ns = clock.nanoTime();
        services.tokens.next(claim.token, t1Ns);
        if (key.kind != LockKind.PLAIN && scheduler.queues.count != 0) {
            scheduler.registrations.prepare(claim);
            scheduler.reservations.prepare(pending, claim, t1Ns);
        }
        claim.validUntilNs = t1Ns + lease.times.validityNs;
        if (lease.waitNs <= 0 && !pending.isStarted()) {
            pending.start(t1Ns, telemetry.onAcquireStarted(t1Ns));
        }
        if (isThrifty || pending.plan() != PendingAcquire.Plan.UNCONTENDED) {
            partialRound.ask(claim, t1Ns);
        } else {
            askAll(claim, t1Ns);
        }
    }

    /** Asks all nodes at once. */
    void askAll(Claim claim, long t1Ns) {
        timers.start(claim.roundTimer, claim.roundEndNs());
        claim.number = telemetry.onAttempt(claim.key, t1Ns, all);
        ask(claim, all);
    }

    /** Sends the acquire to nodes. The decision waits for the last send: a rollback has the result of each. */
    void ask(Claim claim, long mask) {
        boolean isReserving = claim.reservation() != null && claim.lockKind() == LockKind.SET;
        if (isReserving) {
            // First, because it may throw: a reply that is counted has to come.
            partialRound.beforeSend(claim, mask);
        }
        claim.addAsked(mask);
        claim.addPendingReplies(Long.bitCount(mask));
        // A send may send others first, of which one may fail and be tried again meanwhile.
        Claim outer = asking;
        asking = claim;
        try {
            if (isReserving) {
                partialRound.send(claim, mask);
            } else if (claim.pending.lease.spec.retainNsMax > 0) {
                scheduler.keeper.retention.ask(claim, mask);
            } else {
                send(fanOut, claim, mask);
            }
        } finally {
            // Also if it throws: a claim that stayed here would not be decided when the pool gives it out again.
            asking = outer;
        }
        decide(claim);
    }

    /** Sends the command of a claim. A second one leaves alone: in a command with others, their keys could delay it. */
    static void send(FanOut fanOut, Claim claim, long mask) {
        if (claim.askedMask == mask) {
            fanOut.send(claim, kindOf(claim), CommandDetail.NONE, mask);
        } else {
            fanOut.sendAlone(claim, kindOf(claim), CommandDetail.NONE, mask);
        }
    }

    /** A client that waits for a plain lock has a place at the coordinator, or gets one. */
    static CommandKind kindOf(Claim claim) {
        boolean isInOrder = claim.isInOrder() && Long.bitCount(claim.askedMask) == 1;
        if (claim.fenceOrSearch != null) {
            return claim.fenceOrSearch.acquireKind(isInOrder);
        }
        return isInOrder ? CommandKind.ACQUIRE_IN_ORDER : CommandKind.ACQUIRE;
    }

    boolean isPartlyAsked(Claim claim) {
        return claim.askedMask != all;
    }

    void onReply(Claim claim, int nodeIndex, long value) {
        noteAnswer(nodeIndex);
        if (claim.fenceOrSearch != null) {
            claim.fenceOrSearch.onAnswer(nodeIndex, value);
        }
        if (value > 0) {
            onGrant(claim, nodeIndex, value);
            return;
        }
        recordNotHeld(claim, nodeIndex);
        scheduler.registrations.onRefused(claim, nodeIndex, value);
        vote(claim, nodeIndex, Vote.REFUSED, VoteFailure.NONE);
    }

    /** Only a thrifty client waits for some nodes first, so only there a node can be late. */
    private void noteAnswer(int nodeIndex) {
        if (isThrifty) {
            services.thriftyQuorum.onAnswered(nodeIndex);
        }
    }

    /**
     * Whether the nodes that follow the coordinator's grant may get a plain {@code SET}, which neither registers nor
     * reports the ttl. They rarely refuse. If they do, {@link Crowd#watchRefusing} asks those that push.
     */
    boolean isPlainSetEnough(Claim claim) {
        if (claim.fenceOrSearch != null || commandMode == CommandMode.SCRIPTS) {
            return false;
        }
        long others = services.readyMask(claim) & ~claim.askedMask;
        return services.pushingMask(claim, others) == others;
    }

    /** In AUTO mode only retries pay for the script: their refusals give the retry policy the holder's ttl. */
    private boolean isRemainingTtlWanted(LeaseHandle lease) {
        return switch (commandMode) {
            case SCRIPTS -> true;
            case NATIVE -> false;
            case AUTO -> lease.attemptCount > 0;
        };
    }

    private void onGrant(Claim claim, int nodeIndex, long value) {
        if (claim.phase == Claim.Phase.ACQUIRING && claim.pending.isReserving()) {
            scheduler.reservations.onGrant(claim, nodeIndex);
        }
        if (claim.fenceOrSearch != null && !claim.fenceOrSearch.onGrant(nodeIndex, value)) {
            onGrantRejected(claim, nodeIndex, value);
        } else if (fanOut.isVoting(nodeIndex) || voters[nodeIndex].isGrantCounted(claim)) {
            vote(claim, nodeIndex, Vote.GRANTED, VoteFailure.NONE);
        } else {
            onGrantNotCounted(claim, nodeIndex);
        }
    }

    /** The fence cannot use the grant. The node has set the key, so it still gets the release. */
    private void onGrantRejected(Claim claim, int nodeIndex, long value) {
        if (claim.phase == Claim.Phase.ACQUIRING) {
            claim.recordFailure(nodeIndex, VoteFailure.FENCE_OUT_OF_RANGE);
        }
        vote(claim, nodeIndex, Vote.UNKNOWN, VoteFailure.FENCE_OUT_OF_RANGE);
        claim.fenceOrSearch.onGrantRejected(nodeIndex, value);
    }

    /** After a clock jump of the node, the granted key may have expired early. */
    private void onGrantNotCounted(Claim claim, int nodeIndex) {
        boolean isSilent = voters[nodeIndex].isSilentFor(claim);
        VoteFailure failure = isSilent ? VoteFailure.SLOT_MOVED : VoteFailure.CLOCK_JUMPED;
        claim.recordFailure(nodeIndex, failure);
        vote(claim, nodeIndex, Vote.UNKNOWN, failure);
    }

    void onNoReply(Claim claim, int nodeIndex, Vote vote, VoteFailure failure) {
        noteAnswer(nodeIndex);
        if (vote == Vote.FAILED) {
            recordNotHeld(claim, nodeIndex);
            if (claim.fenceOrSearch != null) {
                claim.fenceOrSearch.onNotExecuted(nodeIndex);
            }
        }
        if (claim.phase == Claim.Phase.ACQUIRING) {
            claim.recordFailure(nodeIndex, failure);
        }
        vote(claim, nodeIndex, vote, failure);
    }

    /** The acquire did not set the key, but a later extension may have. */
    private static void recordNotHeld(Claim claim, int nodeIndex) {
        if (claim.extension == null || claim.extension.number == 0) {
            claim.removePossibleHolder(nodeIndex);
        }
    }

    private void vote(Claim claim, int nodeIndex, Vote vote, VoteFailure failure) {
        telemetry.onVote(claim, nodeIndex, vote, failure);
        if (claim.phase == Claim.Phase.ACQUIRING) {
            claim.round.onVote(nodeIndex, vote);
            decide(claim);
        } else if (claim.phase == Claim.Phase.HELD || claim.phase == Claim.Phase.RAISING) {
            // A late vote does not change the decision, but a late grant adds a holder.
            claim.round.onLateVote(nodeIndex, vote);
            if (vote == Vote.GRANTED && !isExtended(claim)) {
                claim.addHolders(1L << nodeIndex);
                if (claim.isLossWatched()) {
                    scheduler.keeper.lossWatch.onLateReply(claim, nodeIndex);
                }
            }
        }
        // Otherwise, the release follows on the same connection and undoes a late grant.
    }

    /** An extended lease outlives the keys that the acquire has set, so a late grant proves too little. */
    private static boolean isExtended(Claim claim) {
        return claim.phase == Claim.Phase.HELD && claim.lease.validUntilNs - claim.validUntilNs > 0;
    }

    /** A node may have lost the key: revokes its vote in a round that is not decided. */
    void revoke(Claim claim, int nodeIndex, VoteFailure failure) {
        if (claim.round.revoke(nodeIndex)) {
            claim.recordFailure(nodeIndex, failure);
        }
    }

    void decide(Claim claim) {
        if (claim == asking) {
            return;
        }
        switch (claim.round.decision()) {
            case OPEN -> {
                if (isPartlyAsked(claim)) {
                    partialRound.onVote(claim);
                }
                // Otherwise, wait for more votes or the timeout.
            }
            case WON -> {
                if (claim.fenceOrSearch == null || claim.fenceOrSearch.onQuorum()) {
                    succeed(claim);
                }
            }
            case CONTENDED -> scheduler.retries.fail(claim, AcquireOutcome.Kind.CONTENDED);
            case NO_QUORUM -> scheduler.retries.fail(claim, AcquireOutcome.Kind.NO_QUORUM);
        }
    }

    @Override
    public void fail(Claim claim, AcquireOutcome.Kind reason) {
        scheduler.retries.fail(claim, reason);
    }

    @Override
    public void askOthers(Claim claim) {
        partialRound.hedge(claim);
    }

    /** A quorum has granted and the fence, if there is one, is ready: succeeds if enough validity is left. */
    @Override
    public void succeed(Claim claim) {
        // t2: read again, so that a pause of this thread after the reply reduces the validity.
        long t2Ns = clock.nanoTime();
        if (claim.validUntilNs - t2Ns < Math.max(1, claim.pending.lease.times.minValidityNs)) {
            scheduler.retries.fail(claim, AcquireOutcome.Kind.TOO_SLOW);
            return;
        }
        if (claim.round.decision() != Decision.WON) {
            // A clock jump during the raise has revoked a grant.
            scheduler.retries.fail(claim, AcquireOutcome.Kind.NO_QUORUM);
            return;
        }
        PendingAcquire pending = claim.pending;
        // First, because it may need memory: if it throws, the end of the round decides again.
        pending.lease.recordVotes(claim);
        timers.stop(claim.roundTimer);
        if (isPartlyAsked(claim)) {
            services.thriftyQuorum.onInTime(claim.askedMask);
        }
        claim.hold();
        if (claim.fenceOrSearch != null) {
            pending.lease.fencingToken = claim.fenceOrSearch.token();
        }
        telemetry.onAcquired(claim, t2Ns);
        scheduler.onAcquired(pending, claim, claim.startNs(pending.lease), t2Ns);
    }
}
