package dev.redlock.engine;

import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.watch.LoopTelemetry;
import dev.redlock.node.send.CommandDetail;
import dev.redlock.node.send.CommandKind;
import dev.redlock.node.send.FanOut;
import dev.redlock.quorum.Decision;
import dev.redlock.quorum.Vote;
import dev.redlock.time.NanoClock;
import dev.redlock.time.TimerWheel;

/**
 * Runs the release round, which goes to all nodes that were asked, whatever their vote on the acquire. It follows the
 * acquire on the same connection, so it also undoes an acquire in flight. A failed send becomes an undelivered release
 * of the node.
 *
 * @threading event-loop-confined
 */
final class ReleaseOperation {

    private final LoopServices services;
    private final NanoClock clock;
    private final TimerWheel timers;
    private final LoopTelemetry telemetry;
    final ClaimPool claims;
    private final FanOut fanOut;
    private final LeaseKeeper keeper;
    private final ReleaseTally tally;
    /** While the client closes. */
    private boolean hasUnconfirmed;

    ReleaseOperation(LoopServices services, ClaimPool claims, LeaseKeeper keeper, ReleaseTally tally) {
        this.services = services;
        this.clock = services.clock;
        this.timers = services.timers;
        this.telemetry = services.telemetry;
        this.claims = claims;
        this.fanOut = services.fanOut;
        this.keeper = keeper;
        this.tally = tally;
    }

    /** Releases a held lease; a lease that has ended reports its earlier outcome again. */
    void release(LeaseHandle lease) {
        Claim claim = lease.claim;
        if (claim == null) {
            ReleaseOutcome before = lease.releaseOutcome;
            lease.completeRelease(before == null ? ReleaseOutcome.EXPIRED : before);
            return;
        }
        if (claim.phase != Claim.Phase.HELD) {
            return;
        }
        if (lease.isToBeKept(clock)) {
            keeper.kept.keep(lease);
        } else if (lease.spec.retainNsMax <= 0 || !keeper.retention.retain(lease)) {
            releaseNow(lease);
        }
    }

    /** Releases a held lease, also before its shortest hold has passed. */
    void releaseNow(LeaseHandle lease) {
        Claim claim = lease.claim;
        // A callback may reuse the lease for another resource, and the claim returns to its pool.
        LockKey key = lease.key;
        LockKey lockedKey = claim.key;
        keeper.untrack(lease);
        lease.setState(LeaseState.RELEASING);
        try {
            start(claim, key);
        } finally {
            if (lease.isExtensionAccepted()) {
                lease.completeExtend(ExtendOutcome.NOT_HELD);
            }
            keeper.waiters.handOff(key, lockedKey);
        }
    }

    /** What throws here, as the clock may, must not keep the release back. */
    private void start(Claim claim, LockKey key) {
        claim.beginRelease();
        try {
            // The kind depends on the votes of the acquire round, so it is chosen before the round of the release.
            CommandKind kind = kindOf(claim);
            LeaseHandle lease = claim.lease;
            long refusedMask = claim.round.refused();
            claim.round.reset();
            claim.round.onNotAsked(services.all & ~claim.askedMask);
            long nowNs = clock.nanoTime();
            int askedNode = keeper.waiters.onEnding(key, lease, refusedMask, nowNs);
            claim.releaseStart = telemetry.onReleaseStarted(claim, nowNs);
            timers.start(claim.roundTimer, nowNs + claim.nodeTimeoutNs());
            if (askedNode != Coordinator.NONE) {
                ask(claim, key, askedNode);
            }
            send(claim, kind);
        } catch (RuntimeException | Error e) {
            keeper.loss.onSendFailed(claim);
            throw e;
        }
    }

    /**
     * Asks a node whether another client waits, before the release is collected: a later command for its resource would
     * end the batch of the duty cycle.
     */
    private void ask(Claim claim, LockKey key, int node) {
        if (key.markKey() != null) {
            keeper.waiters.askForMark(key, node);
            return;
        }
        claim.addPendingReplies(1);
        fanOut.send(claim, CommandKind.WAITING, CommandDetail.NONE, 1L << node);
    }

    /** Releases a token without an owner: its outcome is not reported. */
    void abandon(Claim claim) {
        claim.abandon();
        send(claim);
    }

    /** Leaves the keys of a token to their expiry. */
    void leaveToExpiry(Claim claim) {
        claim.abandon();
        claims.recycleIfDone(claim);
    }

    /** Sends the release to all nodes that were asked; the replies count as votes in phase RELEASING only. */
    void send(Claim claim) {
        send(claim, kindOf(claim));
    }

    private static CommandKind kindOf(Claim claim) {
        return claim.fenceOrSearch == null ? CommandKind.RELEASE : claim.fenceOrSearch.releaseKind();
    }

    private void send(Claim claim, CommandKind kind) {
        claim.addPendingReply();
        claim.addPendingReplies(Long.bitCount(claim.askedMask));
        fanOut.release(claim, kind, claim.askedMask);
        claim.removePendingReply();
    }

    void onReply(Claim claim, int nodeIndex, int detail, long value) {
        if (detail == CommandDetail.COUNTER_ONLY) {
            return;
        }
        Vote vote = value == 1 ? Vote.GRANTED : Vote.REFUSED;
        if (hasUnconfirmed) {
            tally.onLateVote(claim, nodeIndex, vote);
        }
        vote(claim, nodeIndex, vote);
    }

    void onNoReply(Claim claim, int nodeIndex, int detail, Vote vote) {
        if (detail == CommandDetail.COUNTER_ONLY) {
            return;
        }
        if (vote != Vote.REFUSED && (claim.possibleHolderMask & 1L << nodeIndex) != 0) {
            services.node(nodeIndex, claim).redeliverLater(claim);
        }
        vote(claim, nodeIndex, vote);
    }

    void onTimeout(Claim claim) {
        claim.round.onTimeout();
        decide(claim);
    }

    private void vote(Claim claim, int nodeIndex, Vote vote) {
        if (claim.phase == Claim.Phase.RELEASING) {
            if (vote != Vote.GRANTED) {
                telemetry.rare.onNotDeleted(claim, nodeIndex, vote);
            }
            claim.round.onVote(nodeIndex, vote);
            decide(claim);
        }
    }

    private void decide(Claim claim) {
        Decision decision = claim.round.decision();
        if (decision == Decision.WON) {
            end(claim, ReleaseOutcome.RELEASED);
        } else if (decision != Decision.OPEN) {
            decideWithoutQuorum(claim, decision);
        }
    }

    private void decideWithoutQuorum(Claim claim, Decision decision) {
        if (claim.round.isRefusedForCertain()) {
            end(claim, ReleaseOutcome.EXPIRED);
        } else if (decision == Decision.NO_QUORUM || claim.round.pending() == 0) {
            end(claim, ReleaseOutcome.UNKNOWN);
        }
    }

    /** Counts the end of a lease that the closing client has not released. */
    void count(Object owner, String resource, ReleaseOutcome outcome) {
        tally.record(owner, resource, outcome);
    }

    void end(Claim claim, ReleaseOutcome outcome) {
        LeaseHandle lease = claim.lease;
        timers.stop(claim.roundTimer);
        claim.abandon();
        telemetry.onReleaseEnded(claim, claim.takeReleaseStart(), outcome);
        if (services.isClosing) {
            tally.record(claim, lease.resource(), outcome);
            hasUnconfirmed |= outcome == ReleaseOutcome.UNKNOWN;
        }
        lease.endRelease(outcome);
    }
}
