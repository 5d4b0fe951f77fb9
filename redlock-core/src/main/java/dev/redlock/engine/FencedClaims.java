package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.engine.fence.Fence;
import dev.redlock.engine.fence.FenceGuard;
import dev.redlock.engine.fence.FenceOrSearch;
import dev.redlock.engine.fence.FencedRound;
import dev.redlock.engine.watch.ConductorCounters;
import dev.redlock.node.NodeView;
import dev.redlock.node.send.CommandDetail;
import dev.redlock.node.send.CommandKind;
import dev.redlock.node.send.FreeList;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.quorum.Round;
import dev.redlock.transport.ClusterAddress;

/**
 * Gives claims their fences, and does for a fence what it wants of its claim and of the nodes.
 *
 * @threading event-loop-confined
 */
final class FencedClaims {

    private final LoopServices services;
    private final Attempts attempts;
    private final FenceGuard guard;
    private final FreeList<FencedClaim> free = new FreeList<>(LoopServices.POOLED_MIN);

    /**
     * What a fence decides about its attempt.
     *
     * @threading event-loop-confined
     */
    interface Attempts {

        /** The claim has its fencing token. */
        void succeed(Claim claim);

        void fail(Claim claim, AcquireOutcome.Kind reason);

        /** The claim needs the answers of more nodes. */
        void askOthers(Claim claim);
    }

    FencedClaims(LoopServices services, Attempts attempts) {
        this.services = services;
        this.attempts = attempts;
        boolean hasClusters = services.config.nodes().addresses().stream().anyMatch(ClusterAddress.class::isInstance);
        boolean mayLoseCounts = services.config.nodes().options().guards().mode() != RestartGuardMode.OFF;
        this.guard = new FenceGuard(services.voters, services.majority, services.clock, services.loop, hasClusters,
                mayLoseCounts);
    }

    /** Returns the counters of a claim whose acquire starts. */
    FenceOrSearch take(Claim claim) {
        FencedClaim pooled = free.poll();
        FencedClaim fenced = pooled == null ? new FencedClaim() : pooled;
        fenced.claim = claim;
        fenced.fence.reset();
        return fenced.fence;
    }

    void trim() {
        free.trim();
    }

    /** A node votes, for the first time or again. */
    void onVoting() {
        guard.onVoting();
    }

    /**
     * A fence with its claim.
     *
     * @threading event-loop-confined
     */
    private final class FencedClaim implements FencedRound {

        private final Fence fence = new Fence(this, guard, services.majority, services.voters.length,
                services.config.terms().fenceCounterTtlMs());
        private Claim claim;

        @Override
        public boolean isAcquiring() {
            return claim.phase == Claim.Phase.ACQUIRING;
        }

        @Override
        public boolean isRaising() {
            return claim.phase == Claim.Phase.RAISING;
        }

        @Override
        public boolean isReleasing() {
            return claim.phase == Claim.Phase.RELEASING;
        }

        @Override
        public Round votes() {
            return claim.round;
        }

        @Override
        public boolean isAnySilent() {
            return claim.silentMask() != 0;
        }

        @Override
        public NodeView node(int nodeIndex) {
            return services.node(nodeIndex, claim).view();
        }

        @Override
        public String counterText() {
            return claim.key.counterText();
        }

        @Override
        public void recordFailure(int nodeIndex, VoteFailure failure) {
            claim.recordFailure(nodeIndex, failure);
        }

        @Override
        public void raise(long laggingMask) {
            claim.beginRaise();
            services.counters.add(ConductorCounters.RAISED, 1);
            services.timers.start(claim.roundTimer,
                    services.clock.nanoTime() + services.config.terms().nodeTimeoutNs(claim.ttlMs));
            claim.addPendingReplies(Long.bitCount(laggingMask));
            services.fanOut.send(claim, CommandKind.RAISE, CommandDetail.NONE, laggingMask);
        }

        @Override
        public void raiseAfterRelease(int nodeIndex) {
            claim.addPendingReplies(1);
            services.fanOut.send(claim, CommandKind.RELEASE_FENCED, CommandDetail.COUNTER_ONLY, 1L << nodeIndex);
        }

        @Override
        public void succeed() {
            attempts.succeed(claim);
        }

        @Override
        public void fail(AcquireOutcome.Kind reason) {
            attempts.fail(claim, reason);
        }

        @Override
        public void askOthers() {
            attempts.askOthers(claim);
        }

        @Override
        public void onRecycled() {
            claim = null;
            free.push(this);
        }
    }
}
