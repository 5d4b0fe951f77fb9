package dev.redlock.engine.fence;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.node.send.CommandKind;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.quorum.FenceRule;
import dev.redlock.quorum.Majority;
import dev.redlock.quorum.Round;
import dev.redlock.quorum.Vote;

/**
 * Gives one fenced lock its token. A fenced acquire increments a counter on each node that grants, and {@link
 * FenceRule} decides the token from these counters. If they differ, a raise round raises the lower ones to the highest.
 *
 * @threading event-loop-confined
 */
public final class Fence implements FenceOrSearch {

    private final FencedRound round;
    private final FenceGuard guard;
    private final int nodeCount;
    private final long counterTtlMs;
    private final FenceRule rule;
    private final Round raiseRound;
    private long token;
    private long floor;
    /** The value to which the raise round raises lower counters. */
    private long raiseTarget;
    /** A late reply has shown a counter that differs from the others. */
    private boolean isCounterLagging;
    /** The value that a plain release assumed for all counters; 0 if none was sent. */
    private long assumedToken;

    /**
     * Creates a fence, which serves one claim after the other.
     *
     * @param round        the claim that it is of
     * @param guard        the limits of counters
     * @param majority     the quorum of the nodes
     * @param nodeCount    the count of nodes
     * @param counterTtlMs the expiry of a counter after its last change, milliseconds
     */
    public Fence(FencedRound round, FenceGuard guard, Majority majority, int nodeCount, long counterTtlMs) {
        this.round = round;
        this.guard = guard;
        this.nodeCount = nodeCount;
        this.counterTtlMs = counterTtlMs;
        this.rule = new FenceRule(majority);
        this.raiseRound = new Round(majority);
    }

    /** The acquire of another claim starts. */
    public void reset() {
        rule.reset();
        floor = guard.floor();
        token = FenceRule.NONE;
        isCounterLagging = false;
        assumedToken = 0;
    }

    @Override
    public void onRecycled() {
        round.onRecycled();
    }

    @Override
    public CommandKind acquireKind(boolean isInOrder) {
        return isInOrder ? CommandKind.ACQUIRE_FENCED_IN_ORDER : CommandKind.ACQUIRE_FENCED;
    }

    @Override
    public long token() {
        return token;
    }

    @Override
    public long number() {
        return round.isRaising() ? raiseTarget : rule.highest();
    }

    @Override
    public long counterFloor() {
        return floor;
    }

    @Override
    public long counterTtlMs() {
        return counterTtlMs;
    }

    // ---- the acquire round ------------------------------------------------------------------------------------------

    @Override
    public void onAnswer(int nodeIndex, long value) {
        if (assumedToken != 0 && value < assumedToken) {
            round.raiseAfterRelease(nodeIndex);
        }
    }

    @Override
    public void onNotExecuted(int nodeIndex) {
        if (assumedToken != 0) {
            round.raiseAfterRelease(nodeIndex);
        }
    }

    /** Returns false for a value out of range. Until the round is decided, only the absolute limit applies. */
    @Override
    public boolean onGrant(int nodeIndex, long value) {
        if (value > FenceRule.VALUE_MAX) {
            // The scripts of this client never return such a value.
            return false;
        }
        if (round.isAcquiring()) {
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
        guard.log(round, nodeIndex, value);
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
        if (!round.isAnySilent()) {
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
            if (round.votes().revoke(nodeIndex)) {
                round.recordFailure(nodeIndex, VoteFailure.FENCE_OUT_OF_RANGE);
            }
        }
        for (long leftMask = droppedMask; leftMask != 0; leftMask &= leftMask - 1) {
            int nodeIndex = Long.numberOfTrailingZeros(leftMask);
            guard.log(round, nodeIndex, rule.valueOf(nodeIndex));
        }
    }

    private void raiseOrFail() {
        switch (round.votes().decision()) {
            case WON -> raise();
            case CONTENDED -> round.fail(AcquireOutcome.Kind.CONTENDED);
            // A counter of the first nodes is out of range.
            case OPEN -> round.askOthers();
            case NO_QUORUM -> round.fail(AcquireOutcome.Kind.NO_QUORUM);
        }
    }

    // ---- the raise round --------------------------------------------------------------------------------------------

    /** Raises the lower counters to the highest. That value is the token if a quorum of counters has it then. */
    private void raise() {
        raiseTarget = rule.highest();
        raiseRound.reset();
        long atTargetMask = rule.nodesAt(raiseTarget);
        long laggingMask = rule.lagging();
        for (int i = 0; i < nodeCount; i++) {
            long bit = 1L << i;
            if ((laggingMask & bit) == 0) {
                raiseRound.onVote(i, (atTargetMask & bit) != 0 ? Vote.GRANTED : Vote.FAILED);
            }
        }
        round.raise(laggingMask);
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
        if (round.isRaising()) {
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
                round.succeed();
            }
            case CONTENDED -> round.fail(AcquireOutcome.Kind.CONTENDED);
            case NO_QUORUM -> round.fail(AcquireOutcome.Kind.NO_QUORUM);
        }
    }

    // ---- the release ------------------------------------------------------------------------------------------------

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
        if (mayCountersDiffer || !round.isReleasing()) {
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
        Round votes = round.votes();
        return isCounterLagging || rule.lagging() != 0
                || (votes.refused() | votes.failed() | votes.unknown()) != 0;
    }
}
