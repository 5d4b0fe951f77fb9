package dev.redlock.engine;

import dev.redlock.api.ExtendOutcome;
import dev.redlock.engine.watch.LoopTelemetry;
import dev.redlock.node.NodeView;
import dev.redlock.node.send.CommandDetail;
import dev.redlock.node.send.CommandKind;
import dev.redlock.node.send.FanOut;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.quorum.Decision;
import dev.redlock.quorum.Vote;
import dev.redlock.time.NanoClock;
import dev.redlock.time.TimerWheel;

/**
 * Runs the extension rounds of a lease, one at a time; the number identifies the replies of older rounds. A node
 * counts if it still held the token, or if it was never asked before and has set the key. A node that had lost the
 * token sets the key again, which helps the next round only.
 *
 * <p>A reply that the node does not hold the token removes it from the holder nodes, also if its round is older or
 * decided: the node executed the commands in order, so the reply is newer than its grant. With fewer than a quorum of
 * holder nodes the lease is lost immediately. Nodes that the round has asked first do not replace a holder node that
 * lost the token before: another client may have held the lock in between.
 *
 * <p>A lease that outlives its only node is {@link Unclaimed}: there a node that has set the key counts too.
 *
 * @threading event-loop-confined
 */
final class ExtendOperation {

    private static final long HELD_REPLY = 1;
    /** The key was missing and is set. */
    private static final long SET_REPLY = 2;

    private final LoopServices services;
    private final LeaseKeeper keeper;
    private final NanoClock clock;
    private final TimerWheel timers;
    private final LoopTelemetry telemetry;
    private final FanOut fanOut;

    ExtendOperation(LoopServices services, LeaseKeeper keeper) {
        this.services = services;
        this.keeper = keeper;
        this.clock = services.clock;
        this.timers = services.timers;
        this.telemetry = services.telemetry;
        this.fanOut = services.fanOut;
    }

    /** Starts the extension round of a held lease. */
    void start(Claim claim, long ttlMs) {
        LeaseHandle lease = claim.lease;
        Extension extension = extensionOf(claim);
        extension.begin(ttlMs, lease.extendState == LeaseHandle.ExtendState.STARTED, claim.holderMask);
        claim.ttlMs = ttlMs;
        long t1Ns = clock.nanoTime();
        telemetry.onExtensionStarted(claim, t1Ns);
        extension.setValidity(lease.validUntilNs, claim.validUntilNs(t1Ns));
        if (extension.untilNs - lease.validUntilNs < 0) {
            // The new ttl ends earlier, and each node shortens its key as soon as the command arrives.
            lease.setValidUntilNs(extension.untilNs);
            timers.start(claim.holdTimer, extension.untilNs);
        }
        timers.start(extension.timer, t1Ns + claim.nodeTimeoutNs());
        claim.possibleHolderMask = services.all;
        claim.addPendingReplies(services.voters.length);
        send(claim, services.all);
    }

    /** Returns the rounds of a claim, whose ttl is about to change. They stay with a claim that is pooled. */
    Extension extensionOf(Claim claim) {
        if (claim.extension == null) {
            claim.extension = new Extension(services.majority, nowNs -> onTimeout(claim));
        }
        claim.extension.use();
        return claim.extension;
    }

    /** Whether the vote of a node is one for the lease: another server of its cluster may have the slot. */
    boolean isOf(Claim claim, NodeView node) {
        return services.isNodeOf(claim, node);
    }

    /** Whether a node that was asked renews leases, and is no holder of this one. */
    boolean isAnyWithoutKey(Claim claim) {
        return (fanOut.extendingMask(claim) & claim.askedMask & ~claim.holderMask) != 0;
    }

    /** Whether enough nodes without these renew leases, and have the key of this one. */
    boolean isQuorumWithout(Claim claim, long nodes) {
        return services.majority.isReachedBy(fanOut.extendingMask(claim) & claim.holderMask & ~nodes);
    }

    /** A batch does not report the nodes that it was sent to, so it is for claims that have asked all nodes before. */
    private void send(Claim claim, long all) {
        claim.extension.firstAskedMask = 0;
        if ((all & ~claim.askedMask) == 0 && fanOut.extend(claim, claim.extension.number, all)) {
            return;
        }
        long sent = fanOut.send(claim, CommandKind.EXTEND, claim.extension.number, all);
        claim.extension.firstAskedMask = sent & ~claim.askedMask;
        claim.askedMask |= sent;
    }

    /** Brings the expiry of the keys forward, on each node that gets the command now. No extension follows. */
    void shorten(Claim claim, long ttlMs) {
        extensionOf(claim);
        claim.ttlMs = ttlMs;
        claim.addPendingReplies(Long.bitCount(claim.askedMask));
        fanOut.send(claim, CommandKind.SHORTEN, CommandDetail.NONE, claim.askedMask);
    }

    void onReply(Claim claim, int nodeIndex, int number, long value) {
        if (value == HELD_REPLY || value == SET_REPLY && Unclaimed.is(claim)) {
            vote(claim, nodeIndex, number, Vote.GRANTED);
        } else {
            onNotHeldBefore(claim, nodeIndex, number, value);
        }
        if (claim.isLossWatched()) {
            keeper.lossWatch.onLateReply(claim, nodeIndex);
        }
    }

    /** The node did not have the token. It may have set the key again. */
    private void onNotHeldBefore(Claim claim, int nodeIndex, int number, long value) {
        boolean isFirstAsked = (claim.extension.firstAskedMask & 1L << nodeIndex) != 0;
        if (value == SET_REPLY && isFirstAsked && number == claim.extension.number) {
            vote(claim, nodeIndex, number, Vote.GRANTED);
            return;
        }
        // After an older extension, a later one may have set the key again.
        if (value == 0 && number == claim.extension.number) {
            claim.removePossibleHolder(nodeIndex);
        }
        keeper.loss.onNotHeld(claim, nodeIndex);
        vote(claim, nodeIndex, number, Vote.REFUSED);
        if (value == SET_REPLY && claim.phase == Claim.Phase.HELD) {
            keeper.renewals.onKeySetAgain(claim, nodeIndex, number, clock.nanoTime());
        }
    }

    void onNoReply(Claim claim, int nodeIndex, int number, Vote vote,
            VoteFailure failure) {
        if (failure == VoteFailure.WRONGTYPE) {
            // Another client has replaced the key by a value of another type.
            keeper.loss.onNotHeld(claim, nodeIndex);
        }
        vote(claim, nodeIndex, number, vote);
    }

    private void onTimeout(Claim claim) {
        claim.extension.round.onTimeout();
        decide(claim);
    }

    private void vote(Claim claim, int nodeIndex, int number, Vote answer) {
        if (number != claim.extension.number) {
            return;
        }
        Vote vote = answer == Vote.GRANTED && !isProof(claim, nodeIndex) ? Vote.UNKNOWN : answer;
        if (claim.phase == Claim.Phase.HELD && vote == Vote.GRANTED) {
            recordHolder(claim, nodeIndex);
        }
        if (claim.extension.isInProgress) {
            claim.extension.round.onVote(nodeIndex, vote);
            decide(claim);
        }
    }

    private static void recordHolder(Claim claim, int nodeIndex) {
        long bit = 1L << nodeIndex;
        boolean isFirstAsked = (claim.extension.firstAskedMask & bit) != 0;
        claim.extension.continuousMask |= isFirstAsked ? 0 : bit;
        // Also without a decision: the current validity never exceeds the one that this reply proves. A node that was
        // asked first is a holder by the decision, which the holders from before may still prevent.
        claim.addHolders(isFirstAsked && claim.extension.isInProgress ? 0 : bit);
        claim.extension.unclaimedBecause = null;
    }

    /** Returns whether a renewed key certainly lasts for the ttl. */
    private boolean isProof(Claim claim, int nodeIndex) {
        return (fanOut.isExtending(nodeIndex) || services.voters[nodeIndex].isGrantCounted(claim))
                && (claim.extension.late == null || !claim.extension.late.mayShorten(nodeIndex, claim.ttlMs));
    }

    private void decide(Claim claim) {
        Decision decision = claim.extension.round.decision();
        if (decision == Decision.WON) {
            onWon(claim);
        } else if (decision == Decision.NO_QUORUM || claim.extension.round.pending() == 0) {
            end(claim, ExtendOutcome.NOT_EXTENDED);
        }
    }

    private void onWon(Claim claim) {
        long nowNs = clock.nanoTime();
        LeaseHandle lease = claim.lease;
        if (claim.extension.validBeforeNs - nowNs <= 0 || claim.extension.untilNs - nowNs <= 0) {
            keeper.loss.expire(claim);
            return;
        }
        claim.holderMask = claim.extension.round.granted();
        lease.setValidUntilNs(claim.extension.untilNs);
        end(claim, ExtendOutcome.EXTENDED);
    }

    private void end(Claim claim, ExtendOutcome outcome) {
        stop(claim);
        keeper.onExtended(claim, outcome);
    }

    /** Ends a round without an outcome, because the lease ends: later replies do not count. */
    void stop(Claim claim) {
        if (claim.isExtending()) {
            timers.stop(claim.extension.timer);
            claim.extension.end();
        }
    }
}
