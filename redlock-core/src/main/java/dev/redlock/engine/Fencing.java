package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.node.NodeView;
import dev.redlock.node.send.CommandDetail;
import dev.redlock.node.send.CommandKind;
import dev.redlock.node.send.FreeList;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.quorum.FenceRule;
import dev.redlock.quorum.Round;
import dev.redlock.quorum.Vote;

/**
 * Gives fenced locks their tokens. A fenced acquire increments a counter on each node that grants, and {@link
 * FenceRule} decides the token from these counters. If they differ, a raise round raises the lower ones to the highest.
 *
 * @threading event-loop-confined
 */
final class Fencing {

    private final LoopServices services;
    private final AcquireScheduler scheduler;
    private final FenceGuard guard;
    private final long counterTtlMs;
    private final FreeList<Fence> free = new FreeList<>(LoopServices.POOLED_MIN);

    Fencing(LoopServices services, AcquireScheduler scheduler) {
        this.services = services;
        this.scheduler = scheduler;
        this.counterTtlMs = services.config.terms().fenceCounterTtlMs();
        this.guard = new FenceGuard(services);
    }

    /** Returns the counters of a claim whose acquire starts. */
    FenceOrSearch take(Claim claim) {
        Fence pooled = free.poll();
        Fence fence = pooled == null ? new Fence() : pooled;
        fence.reset(claim);
        return fence;
    }

    void trim() {
        free.trim();
    }

    /** A node votes, for the first time or again. */
    void onVoting() {
        guard.onVoting();
    }

    /**
     * The counters of one claim.
     *
     * @threading event-loop-confined
     */
    private final class Fence implements FenceOrSearch {

        private final FenceRule rule = new FenceRule(services.majority);
        private final Round raiseRound = new Round(services.majority);
        private Claim claim;
        private long token;
        private long floor;
        /** The value to which the raise round raises lower counters. */
        private long raiseTarget;
        /** A late reply has shown a counter that differs from the others. */
        private boolean isCounterLagging;
        /** The value that a plain release assumed for all counters; 0 if none was sent. */
        private long assumedToken;

        private void reset(Claim newClaim) {
            rule.reset();
            claim = newClaim;
            floor = guard.floor();
            token = FenceRule.NONE;
            isCounterLagging = false;
            assumedToken = 0;
        }

        @Override
        public void onRecycled() {
            claim = null;
            free.push(this);
        }

        @Override
        public CommandKind acquireKind(boolean hasTicket) {
            return hasTicket ? CommandKind.ACQUIRE_FENCED_WITH_TICKET : CommandKind.ACQUIRE_FENCED;
        }

        @Override
        public long token() {
            return token;
        }

        @Override
        public long number() {
            return claim.phase == Claim.Phase.RAISING ? raiseTarget : rule.highest();
        }

        @Override
        public long counterFloor() {
            return floor;
        }

        @Override
        public long counterTtlMs() {
            return counterTtlMs;
        }

        // ---- the acquire round ----------------------------------------------------------------------------------

        @Override
        public void onAnswer(int nodeIndex, long value) {
            if (assumedToken != 0 && value < assumedToken) {
                raiseAfterRelease(nodeIndex);
            }
        }

        @Override
        public void onNotExecuted(int nodeIndex) {
            if (assumedToken != 0) {
                raiseAfterRelease(nodeIndex);
            }
        }

        /** A late reply contradicts {@link #assumedToken}: raises the counter of its node after the release. */
        private void raiseAfterRelease(int nodeIndex) {
            claim.addPendingReplies(1);
            services.fanOut
                    .send(claim, CommandKind.RELEASE_FENCED, CommandDetail.COUNTER_ONLY, 1L << nodeIndex);
        }

        /** Returns false for a value out of range. Until the round is decided, only the absolute limit applies. */
        @Override
        public boolean onGrant(int nodeIndex, long value) {
            if (value > FenceRule.VALUE_MAX) {
                // The scripts of this client never return such a value.
                return false;
            }
            if (claim.phase == Claim.Phase.ACQUIRING) {
                rule.onGrant(nodeIndex, value);
                return true;
            }
            return value == rule.highest() || recordLate(value);
        }

        /** The release raises the other counters to a late value, if a clock can have produced it. */
        private boolean recordLate(long value) {
            isCounterLagging = true;
            long clockLimit = guard.clockLimit();
            if (value > clockLimit) {
                return value <= rule.limit(clockLimit);
            }
            rule.recordSeen(value);
            return true;
        }

        @Override
        public void onGrantRejected(int nodeIndex, long value) {
            guard.log(view(nodeIndex), value);
        }

        private NodeView view(int nodeIndex) {
            return services.node(nodeIndex, claim).view();
        }

        @Override
        public boolean onQuorum() {
            token = rule.lagging() == 0 ? rule.highest() : rule.agreed();
            if (token != FenceRule.NONE) {
                if (rule.highest() != token) {
                    dropOutOfRange();
                }
                return true;
            }
            if (PartialRound.silentMask(claim) == 0) {
                dropOutOfRange();
                raiseOrFail();
            }
            return false;
        }

        /** Revokes the grants of an attempt whose counters are out of range. */
        private void dropOutOfRange() {
            long droppedMask = rule.dropOutOfRange(guard.clockLimit());
            for (long leftMask = droppedMask; leftMask != 0; leftMask &= leftMask - 1) {
                int nodeIndex = Long.numberOfTrailingZeros(leftMask);
                if (claim.round.revoke(nodeIndex)) {
                    claim.recordFailure(nodeIndex, VoteFailure.FENCE_OUT_OF_RANGE);
                }
            }
            for (long leftMask = droppedMask; leftMask != 0; leftMask &= leftMask - 1) {
                int nodeIndex = Long.numberOfTrailingZeros(leftMask);
                guard.log(view(nodeIndex), rule.valueOf(nodeIndex));
            }
        }

        private void raiseOrFail() {
            switch (claim.round.decision()) {
                case WON -> raise();
                case CONTENDED -> scheduler.retries.fail(claim, AcquireOutcome.Kind.CONTENDED);
                // A counter of the first nodes is out of range.
                case OPEN -> scheduler.operation.partialRound.hedge(claim);
                case NO_QUORUM -> scheduler.retries.fail(claim, AcquireOutcome.Kind.NO_QUORUM);
            }
        }

        // ---- the raise round ------------------------------------------------------------------------------------

        /** Raises the lower counters to the highest. That value is the token if a quorum of counters has it then. */
        private void raise() {
            claim.beginRaise();
            raiseTarget = rule.highest();
            raiseRound.reset();
            long atTargetMask = rule.nodesAt(raiseTarget);
            long laggingMask = rule.lagging();
            for (int i = 0; i < services.voters.length; i++) {
                long bit = 1L << i;
                if ((laggingMask & bit) == 0) {
                    raiseRound.onVote(i, (atTargetMask & bit) != 0 ? Vote.GRANTED : Vote.FAILED);
                }
            }
            services.counters.add(ConductorCounters.RAISED, 1);
            services.timers.start(claim.roundTimer,
                    services.clock.nanoTime() + services.config.terms().nodeTimeoutNs(claim.ttlMs));
            claim.addPendingReplies(Long.bitCount(laggingMask));
            services.fanOut.send(claim, CommandKind.RAISE, CommandDetail.NONE, laggingMask);
        }

        @Override
        public void onReply(int nodeIndex, long value) {
            if (value == 1) {
                rule.onRaised(nodeIndex, raiseTarget);
            }
            onNoReply(nodeIndex, value == 1 ? Vote.GRANTED : Vote.REFUSED);
        }

        @Override
        public void onNoReply(int nodeIndex, Vote vote) {
            if (claim.phase == Claim.Phase.RAISING) {
                raiseRound.onVote(nodeIndex, vote);
                decide();
            }
        }

        @Override
        public void onTimeout() {
            raiseRound.onTimeout();
            decide();
        }

        private void decide() {
            switch (raiseRound.decision()) {
                case OPEN -> {
                    // Wait for more replies or the timeout.
                }
                case WON -> {
                    token = rule.agreed();
                    scheduler.operation.succeed(claim);
                }
                case CONTENDED -> scheduler.retries.fail(claim, AcquireOutcome.Kind.CONTENDED);
                case NO_QUORUM -> scheduler.retries.fail(claim, AcquireOutcome.Kind.NO_QUORUM);
            }
        }

        // ---- the release ----------------------------------------------------------------------------------------

        /**
         * A fenced release raises lagging counters. If all replies so far are grants with one value, the cheaper plain
         * release suffices. It assumes that the silent nodes have this value too; {@link #onAnswer} corrects it.
         */
        @Override
        public CommandKind releaseKind() {
            if (rule.highest() == 0) {
                return CommandKind.RELEASE;
            }
            boolean mayCountersDiffer = mayCountersDiffer();
            if (mayCountersDiffer || claim.phase != Claim.Phase.RELEASING) {
                // No quorum has agreed on the highest value: it may be out of range.
                dropOutOfRange();
                mayCountersDiffer = mayCountersDiffer();
            }
            if (mayCountersDiffer) {
                return rule.highest() == 0 ? CommandKind.RELEASE : CommandKind.RELEASE_FENCED;
            }
            assumedToken = rule.highest();
            return CommandKind.RELEASE;
        }

        private boolean mayCountersDiffer() {
            Round round = claim.round;
            return isCounterLagging || rule.lagging() != 0
                    || (round.refused() | round.failed() | round.unknown()) != 0;
        }
    }
}
