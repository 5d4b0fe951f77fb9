package dev.redlock.engine;

import dev.redlock.node.LockRequest;
import dev.redlock.node.CommandKind;
import dev.redlock.node.VoteFailure;
import dev.redlock.quorum.FenceRule;
import dev.redlock.quorum.LateExtensions;
import dev.redlock.quorum.Round;
import dev.redlock.quorum.Token;
import dev.redlock.quorum.Vote;
import dev.redlock.time.DeadlineTimer;

/**
 * The life of one token: an acquire round, extension rounds if it won, and the release that ends it in any case. Pooled
 * by the conductor; it goes back to the pool when nobody owns it any more and every node has answered every command, so
 * a late answer always finds the attempt that it belongs to.
 *
 * @threading event-loop-confined
 */
final class Claim extends LockRequest {

    /**
     * Where the token stands.
     *
     * @threading immutable
     */
    enum Phase {
        /** In the pool. */
        FREE,
        /** Acquire sent, not decided. */
        ACQUIRING,
        /** A quorum granted a fenced lock, but the counters differ: the lower ones are being raised. */
        RAISING,
        /** Refused and released; those who refused are asked how long the holder's key will stand. */
        QUERYING_TTL,
        /** A quorum granted; a lease owns it. */
        HELD,
        /** Release sent for a lease that waits for its outcome. */
        RELEASING,
        /** Release sent, nobody waits; answers are still out. */
        ABANDONED
    }

    final Round acquireRound;
    final Round extendRound;
    final Round releaseRound;
    final Round raiseRound;
    final FenceRule fence;
    final LateExtensions lateExtensions = new LateExtensions();
    final Token token = new Token();
    /** The run of hand-overs that its lease belongs to, while it is held. */
    final HandoffStreak streak = new HandoffStreak();
    /** Reason of each node's failed or unknown vote in the acquire round, as ordinals of VoteFailure; else stale. */
    final byte[] failures;
    final DeadlineTimer roundTimer;
    final DeadlineTimer extendTimer;
    final DeadlineTimer holdTimer;

    Phase phase = Phase.FREE;
    /** Who wants the lock, while it is being acquired. */
    PendingAcquire pending;
    /** Who holds the lock, while it is held or being released. */
    LeaseHandle lease;
    LockKey key;
    long ttlMs;
    /** Local end of validity if the acquire round wins. */
    long validUntilNs;
    /** Local end of validity if the extension round wins. */
    long extendedUntilNs;
    /** Local end of validity before the extension round. */
    long validBeforeExtensionNs;
    long shortestRemainingTtlMs;
    /** Nodes on which the token may stand. */
    long mayHoldMask;
    /**
     * Nodes that the lease rests on: each has proved that its key stands for the validity at least. They change by
     * proof alone, and fewer than a quorum of them end the lease.
     */
    long holderMask;
    /** Nodes that have been asked how long the holder's key will stand, and have not answered. */
    long askedMask;
    int extendSequence;
    boolean isFenced;
    /** A refusal shall tell how long the holder's key will stand, which costs the nodes a script. */
    boolean isRemainingTtlWanted;
    /** The value that lower counters are raised to. */
    long raiseTo;
    /** A node that answered late stands at another number than the others. */
    boolean isCounterLagging;
    /** The number at which all counters were presumed to stand when the release was sent without it; else 0. */
    long assumedFenceToken;
    boolean isExtending;
    /** The acquire is being handed to the nodes: nothing is decided yet. */
    boolean isSending;
    /** The longest ttl that was sent: how long a key can stand on a node that missed what came later. */
    long ttlMsMax;
    private final Conductor conductor;
    private int unanswered;

    Claim(final Conductor conductor, final int nodeCount) {
        this.conductor = conductor;
        this.acquireRound = new Round(nodeCount);
        this.extendRound = new Round(nodeCount);
        this.releaseRound = new Round(nodeCount);
        this.raiseRound = new Round(nodeCount);
        this.fence = new FenceRule(nodeCount);
        this.failures = new byte[nodeCount];
        this.roundTimer = new DeadlineTimer(this::onRoundTimeout);
        this.extendTimer = new DeadlineTimer(nowNs -> conductor.extending().onTimeout(this));
        this.holdTimer = new DeadlineTimer(nowNs -> conductor.keeper().onHoldTimer(this, nowNs));
    }

    void reset() {
        assert phase == Phase.FREE && unanswered == 0 : "slot is free when it is taken";
        acquireRound.reset();
        fence.reset();
        shortestRemainingTtlMs = -1;
        mayHoldMask = 0;
        holderMask = 0;
        if (extendSequence != 0) {
            extendSequence = 0;
            lateExtensions.reset();
        }
        isExtending = false;
        isCounterLagging = false;
        assumedFenceToken = 0;
    }

    /** Counts answers that will come, before the command is sent. */
    void expect(final int answerCount) {
        unanswered += answerCount;
    }

    boolean isAnswered() {
        return unanswered == 0;
    }

    private void onRoundTimeout(final long nowNs) {
        switch (phase) {
            case ACQUIRING -> conductor.acquiring().onTimeout(this);
            case RAISING -> conductor.raising().onTimeout(this);
            case QUERYING_TTL -> conductor.holderTtlQuery().end(this);
            default -> conductor.releasing().onTimeout(this);
        }
    }

    private void answered() {
        unanswered--;
        conductor.claims().recycleIfDone(this);
    }

    void recordRemainingTtl(final long remainingTtlMs) {
        if (shortestRemainingTtlMs < 0 || remainingTtlMs < shortestRemainingTtlMs) {
            shortestRemainingTtlMs = remainingTtlMs;
        }
    }

    void recordFailure(final int nodeIndex, final VoteFailure failure) {
        failures[nodeIndex] = (byte) failure.ordinal();
    }

    @Override
    public void onReply(final int nodeIndex, final CommandKind kind, final int sequence, final long value) {
        try {
            switch (kind) {
                case ACQUIRE, ACQUIRE_FENCED -> conductor.acquiring().onReply(this, nodeIndex, value);
                case RAISE -> conductor.raising().onReply(this, nodeIndex, value);
                case REMAINING_TTL -> conductor.holderTtlQuery().onReply(this, nodeIndex, value);
                case EXTEND -> conductor.extending().onReply(this, nodeIndex, sequence, value);
                case RELEASE, RELEASE_FENCED, RELEASE_MANY, RELEASE_MANY_FENCED -> conductor.releasing()
                        .onReply(this, nodeIndex, sequence, value);
            }
        } finally {
            answered();
        }
    }

    @Override
    public void onError(final int nodeIndex, final CommandKind kind, final int sequence, final VoteFailure failure) {
        onNoReply(nodeIndex, kind, sequence, Vote.FAILED, failure);
    }

    @Override
    public void onRefusedAhead(final int nodeIndex) {
        conductor.extending().onNotHeld(this, nodeIndex);
    }

    @Override
    public void onMayShortenLate(final int nodeIndex, final int sequence) {
        lateExtensions.onUnanswered(nodeIndex, sequence == extendSequence);
    }

    @Override
    public void onUnknown(final int nodeIndex, final CommandKind kind, final int sequence) {
        onNoReply(nodeIndex, kind, sequence, Vote.UNKNOWN, VoteFailure.CONNECTION_LOST);
    }

    @Override
    public void onNotSent(final int nodeIndex, final CommandKind kind, final int sequence, final VoteFailure failure) {
        onNoReply(nodeIndex, kind, sequence, Vote.FAILED, failure);
    }

    private void onNoReply(final int nodeIndex, final CommandKind kind, final int sequence, final Vote vote,
            final VoteFailure failure) {
        try {
            switch (kind) {
                case ACQUIRE, ACQUIRE_FENCED -> conductor.acquiring().onNoReply(this, nodeIndex, vote, failure);
                case RAISE -> conductor.raising().onNoReply(this, nodeIndex, vote);
                case REMAINING_TTL -> conductor.holderTtlQuery().onNoReply(this, nodeIndex);
                case EXTEND -> conductor.extending().onNoReply(this, nodeIndex, sequence, vote, failure);
                case RELEASE, RELEASE_FENCED, RELEASE_MANY, RELEASE_MANY_FENCED -> conductor.releasing()
                        .onNoReply(this, nodeIndex, sequence, vote);
            }
        } finally {
            answered();
        }
    }

    @Override
    public boolean isSecondTryWanted(final CommandKind kind, final int sequence) {
        return switch (kind) {
            case ACQUIRE, ACQUIRE_FENCED -> phase == Phase.ACQUIRING;
            case RAISE -> phase == Phase.RAISING;
            case REMAINING_TTL -> false;
            // Also when the others have decided the round: one more node that holds the token is worth its message.
            case EXTEND -> phase == Phase.HELD && sequence == extendSequence;
            case RELEASE, RELEASE_FENCED, RELEASE_MANY, RELEASE_MANY_FENCED -> true;
        };
    }

    @Override
    public byte[] resourceBulk() {
        return key.bulk();
    }

    @Override
    public int resourceHash() {
        return key.hashCode();
    }

    @Override
    public boolean isRemainingTtlWanted() {
        return isRemainingTtlWanted;
    }

    @Override
    public byte[] counterBulk() {
        return key.counterBulk();
    }

    @Override
    public long counterTtlMs() {
        return conductor.config().terms().fenceCounterTtlMs();
    }

    @Override
    public long highestFence() {
        return phase == Phase.RAISING ? raiseTo : fence.highest();
    }

    @Override
    public Token token() {
        return token;
    }

    @Override
    public long ttlMs() {
        return ttlMs;
    }
}
