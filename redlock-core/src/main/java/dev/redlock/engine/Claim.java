package dev.redlock.engine;

import dev.redlock.engine.crowd.QueueReply;
import dev.redlock.engine.fence.FenceOrSearch;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.watch.ClaimView;
import dev.redlock.engine.watch.ConductorCounters;
import dev.redlock.node.send.CommandKind;
import dev.redlock.node.send.LockKind;
import dev.redlock.node.send.LockRequest;
import dev.redlock.node.send.ScriptArguments;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.quorum.Majority;
import dev.redlock.quorum.Round;
import dev.redlock.quorum.Token;
import dev.redlock.quorum.Vote;
import dev.redlock.telemetry.ReleaseEvent;
import dev.redlock.telemetry.SharedStarts;
import dev.redlock.time.DeadlineTimer;

/**
 * Tracks the life of one token: the acquire round, extension rounds while a lease holds it, and the release. The pool
 * reuses a claim after its last pending reply, so a late reply never reaches another claim.
 *
 * @threading event-loop-confined
 */
final class Claim extends LockRequest implements ScriptArguments, ClaimView {

    /**
     * The phase of a token's life.
     *
     * @threading immutable
     */
    enum Phase {
        /** In the pool. */
        FREE,
        /** The acquire round is in progress. */
        ACQUIRING,
        /** A quorum has granted a fenced lock with different counters; the raise round is in progress. */
        RAISING,
        /** The attempt is refused and released; a query for the ttl or the type of the holder's key is in progress. */
        QUERYING_HOLDER,
        /** A node is asked for a free permit of a semaphore; the attempt follows with another claim. */
        SEARCHING,
        /** A lease holds the lock. */
        HELD,
        /** The release round of a lease is in progress. */
        RELEASING,
        /** No pending acquire or lease owns it; replies are pending. */
        ABANDONED;

        boolean mayBecome(Phase next) {
            return switch (this) {
                case FREE -> next == ACQUIRING || next == SEARCHING || next == ABANDONED;
                case ACQUIRING -> next == RAISING || next == QUERYING_HOLDER || next == HELD || next == ABANDONED;
                case SEARCHING -> next == QUERYING_HOLDER || next == ABANDONED;
                case RAISING -> next == HELD || next == ABANDONED;
                case HELD -> next == RELEASING || next == ABANDONED;
                case QUERYING_HOLDER, RELEASING -> next == ABANDONED;
                case ABANDONED -> next == FREE;
            };
        }
    }

    /** The votes of the acquire, and from the release on those of the release. */
    final Round round;
    /** The extension rounds; null before the first one of this object. */
    Extension extension;
    /**
     * Why each failed or unknown vote of the acquire round failed, as ordinals of VoteFailure; stale for
     * other votes.
     */
    final byte[] failures;
    final DeadlineTimer roundTimer;
    final DeadlineTimer holdTimer;

    Phase phase = Phase.FREE;
    /** Its owner while the lock is being acquired. */
    PendingAcquire pending;
    /** Its owner while the lock is held or being released. */
    LeaseHandle lease;
    LockKey key;
    /** Local end of the validity if the acquire round wins. */
    long validUntilNs;
    /** Nodes that may have a key with the token. */
    long possibleHolderMask;
    /**
     * Nodes that have proved that their key outlives the validity of the lease. With fewer than a quorum of them, the
     * lease is lost.
     */
    long holderMask;
    /** The number of the attempt in the flight recorder. */
    int number;
    /** What it needs beside a quorum of keys; null for nothing. */
    FenceOrSearch fenceOrSearch;
    /** What it needs if others compete; null before the first time for this object. */
    private Contention contention;
    /** Nodes that the acquire was sent to, or could not be sent to, and those that an extension was sent to. */
    long askedMask;
    /** Times the release for JFR; null if its event is off. */
    SharedStarts.Start<ReleaseEvent> releaseStart;
    private final ClaimEvents events;
    private final ConductorCounters counters;
    int pendingReplyCount;

    Claim(ClaimEvents events, ConductorCounters counters, Majority majority, byte[] tokenLabel, int nodeCount) {
        super(new Token(tokenLabel));
        this.events = events;
        this.counters = counters;
        this.round = new Round(majority);
        this.failures = new byte[nodeCount];
        this.roundTimer = new DeadlineTimer(nowNs -> onRoundTimeout());
        this.holdTimer = new DeadlineTimer(nowNs -> events.onHoldTimer(this, nowNs));
    }

    void reset() {
        assert phase == Phase.FREE && pendingReplyCount == 0 && fenceOrSearch == null
                : "a claim in the pool is free and has no pending replies";
        round.reset();
        possibleHolderMask = 0;
        holderMask = 0;
        askedMask = 0;
        if (extension != null && extension.isUsed) {
            extension.reset();
        }
        if (contention != null) {
            contention.reset();
        }
    }

    // ---- transitions ------------------------------------------------------------------------------------------------

    private void enter(Phase next) {
        assert phase.mayBecome(next) : phase + " never becomes " + next;
        phase = next;
    }

    /** An attempt of an acquisition begins. Its key is that of the lease, or a permit of a semaphore. */
    void beginAcquire(PendingAcquire owner, LockKey newKey) {
        enter(Phase.ACQUIRING);
        setOwner(owner, newKey);
    }

    /** A search for a free permit begins. */
    void beginSearch(PendingAcquire owner) {
        enter(Phase.SEARCHING);
        setOwner(owner, owner.lease.key.searchKey());
    }

    private void setOwner(PendingAcquire owner, LockKey newKey) {
        pending = owner;
        owner.claim = this;
        key = newKey;
        ttlMs = owner.lease.spec.ttlMs;
    }

    /** A command without a round begins: nobody owns the claim or waits for its replies. */
    void beginAbandoned(LockKey newKey, long newTtlMs) {
        enter(Phase.ABANDONED);
        key = newKey;
        ttlMs = newTtlMs;
        isRemainingTtlWanted = false;
        isWakeUpWanted = false;
    }

    void beginRaise() {
        enter(Phase.RAISING);
    }

    void beginHolderQuery() {
        enter(Phase.QUERYING_HOLDER);
    }

    /** A quorum has granted. The lease owns the claim as soon as it is {@linkplain #belongTo tracked}. */
    void hold() {
        enter(Phase.HELD);
        leavePending();
        holderMask = round.granted();
    }

    /** A lease owns the claim from now on, and another one that may have owned it does not. */
    void belongTo(LeaseHandle owner) {
        assert phase == Phase.HELD : "a lease gets a claim that is held: " + phase;
        leaveLease();
        lease = owner;
        owner.claim = this;
    }

    void beginRelease() {
        enter(Phase.RELEASING);
    }

    /** Nobody owns the claim any more: later replies do not count. */
    void abandon() {
        enter(Phase.ABANDONED);
        if (pending != null) {
            leavePending();
        }
        leaveLease();
    }

    private void leavePending() {
        pending.claim = null;
        pending = null;
    }

    /** The lease has ended, and its handle may be used again. The keys are released or left to their expiry. */
    void leaveLease() {
        if (lease != null) {
            lease.claim = null;
            lease = null;
        }
    }

    /** It returns to its pool. */
    void free() {
        assert pendingReplyCount == 0 : "a claim with pending replies stays out of its pool";
        enter(Phase.FREE);
        key = null;
        if (fenceOrSearch != null) {
            fenceOrSearch.onRecycled();
            fenceOrSearch = null;
        }
    }

    // ---- nodes ------------------------------------------------------------------------------------------------------

    /** The acquire is about to be sent to nodes, which may execute it although the send fails. */
    void addAsked(long mask) {
        addAsked(mask, mask);
    }

    void addAsked(long mask, long possibleHolders) {
        askedMask |= mask;
        possibleHolderMask |= possibleHolders;
    }

    /** A node has certainly no key with the token. */
    void removePossibleHolder(int nodeIndex) {
        possibleHolderMask &= ~(1L << nodeIndex);
    }

    void addHolders(long mask) {
        holderMask |= mask;
    }

    void removeHolder(int nodeIndex) {
        holderMask &= ~(1L << nodeIndex);
    }

    // ---- rounds -----------------------------------------------------------------------------------------------------

    boolean isExtending() {
        return extension != null && extension.isInProgress;
    }

    private boolean hasUsedExtension() {
        return extension != null && extension.isUsed;
    }

    /** What the claim needs if others compete. It stays with a claim that is pooled. */
    Contention contention() {
        if (contention == null) {
            contention = new Contention();
        }
        return contention;
    }

    /** Call it before the send, because a send may complete with a failure. */
    void addPendingReplies(int count) {
        pendingReplyCount += count;
        counters.add(ConductorCounters.COMMANDS, count);
    }

    /** Keeps the claim out of its pool until {@link #removePendingReply}, as a reply would. */
    void addPendingReply() {
        pendingReplyCount++;
    }

    /** One reply less is pending; after the last one, an abandoned claim returns to its pool. */
    void removePendingReply() {
        pendingReplyCount--;
        if (pendingReplyCount == 0 && phase == Phase.ABANDONED) {
            events.onLastReply(this);
        }
    }

    // ---- telemetry --------------------------------------------------------------------------------------------------

    @Override
    public int number() {
        return number;
    }

    @Override
    public LockKey key() {
        return key;
    }

    @Override
    public Round votes() {
        return round;
    }

    @Override
    public long validUntilNs() {
        return validUntilNs;
    }

    @Override
    public long ttlMs() {
        return ttlMs;
    }

    /** Returns what times the release, which ends; null if nothing does. */
    SharedStarts.Start<ReleaseEvent> takeReleaseStart() {
        SharedStarts.Start<ReleaseEvent> start = releaseStart;
        releaseStart = null;
        return start;
    }

    // ---- times ------------------------------------------------------------------------------------------------------

    /** Returns when its attempt for a lease started: t1. */
    long startNs(LeaseHandle owner) {
        return validUntilNs - owner.times.validityNs;
    }

    /** Returns the local end of its acquire round. */
    long roundEndNs() {
        return startNs(pending.lease) + pending.lease.times.nodeTimeoutNs;
    }

    /** Returns the end of the validity of its ttl, usually that of the lease, if it is sent at t1. */
    long validUntilNs(long t1Ns) {
        LeaseTimes times = lease.times;
        return ttlMs == times.ttlMs ? t1Ns + times.validityNs : times.terms.validUntilNs(t1Ns, ttlMs);
    }

    /** Returns the timeout of a round for its ttl, usually that of the lease. */
    long nodeTimeoutNs() {
        LeaseTimes times = lease.times;
        return ttlMs == times.ttlMs ? times.nodeTimeoutNs : times.terms.nodeTimeoutNs(ttlMs);
    }

    /** Returns the shortest remaining ttl of the keys that have refused it, milliseconds; -1 if it is not known. */
    long shortestRemainingTtlMs() {
        return contention == null ? -1 : contention.shortestRemainingTtlMs;
    }

    void recordFailure(int nodeIndex, VoteFailure failure) {
        failures[nodeIndex] = (byte) failure.ordinal();
    }

    boolean isLossWatched() {
        return phase == Phase.HELD && lease.spec.isLossWatched;
    }

    @Override
    public void onReply(int nodeIndex, CommandKind kind, int detail, long value) {
        PendingAcquire owner = pending;
        try {
            events.onReply(this, nodeIndex, kind, detail, value);
        } catch (Throwable e) {
            events.onThrown(this, owner);
            throw e;
        } finally {
            removePendingReply();
        }
    }

    private void onRoundTimeout() {
        PendingAcquire owner = pending;
        try {
            events.onRoundTimeout(this);
        } catch (Throwable e) {
            events.onThrown(this, owner);
            throw e;
        }
    }

    @Override
    public void onFailed(int nodeIndex, CommandKind kind, int detail, VoteFailure failure) {
        onNoReply(nodeIndex, kind, detail, Vote.FAILED, failure);
    }

    @Override
    public void onRefusedAhead(int nodeIndex) {
        events.onRefusedAhead(this, nodeIndex);
    }

    @Override
    public boolean isKeyMissing() {
        return extension != null && extension.unclaimedBecause != null;
    }

    @Override
    public void onMayShortenLate(int nodeIndex, int detail) {
        extension.onUnanswered(nodeIndex, detail);
    }

    @Override
    public void onUnknown(int nodeIndex, CommandKind kind, int detail) {
        onNoReply(nodeIndex, kind, detail, Vote.UNKNOWN, VoteFailure.CONNECTION_LOST);
    }

    private void onNoReply(int nodeIndex, CommandKind kind, int detail, Vote vote, VoteFailure failure) {
        PendingAcquire owner = pending;
        try {
            events.onNoReply(this, nodeIndex, kind, detail, vote, failure);
        } catch (Throwable e) {
            events.onThrown(this, owner);
            throw e;
        } finally {
            removePendingReply();
        }
    }

    @Override
    public boolean isSecondTryWanted(CommandKind kind, int detail) {
        return switch (kind) {
            case ACQUIRE, ACQUIRE_FENCED, ACQUIRE_IN_ORDER, ACQUIRE_FENCED_IN_ORDER -> phase == Phase.ACQUIRING;
            // Also for a held lock: its release follows on the same connection. An extension has changed the ttl.
            case ACQUIRE_MANY -> phase == Phase.ACQUIRING || phase == Phase.HELD && !hasUsedExtension();
            case RAISE -> phase == Phase.RAISING;
            // Some kinds read it by a script: for a search, a query, or a registration, which has no owner.
            case REMAINING_TTL -> key.kind.isTtlReadByScript()
                    && (phase == Phase.SEARCHING || phase == Phase.QUERYING_HOLDER || phase == Phase.ABANDONED);
            // Also after the decision: one more holder is worth a message.
            case EXTEND, EXTEND_MANY -> phase == Phase.HELD && detail == extension.number;
            case CHECK -> phase == Phase.HELD;
            case WAITING, PLACE, MARK, KEY_TYPE -> false;
            default -> true;
        };
    }

    @Override
    public byte[] resourceBulk() {
        return key.bulk;
    }

    @Override
    public byte[] resourceBulk(int index) {
        return key.resourceKey(index).bulk;
    }

    @Override
    public LockKind lockKind() {
        return key.kind;
    }

    @Override
    public int keyCount() {
        return key.resourceCount;
    }

    @Override
    public int resourceHash(int index) {
        return key.resourceKey(index).hashCode();
    }

    @Override
    public int slot() {
        return key.slot();
    }

    @Override
    public byte[] counterBulk() {
        return key.counterBulk;
    }

    // ---- arguments of scripts ---------------------------------------------------------------------------------------

    @Override
    public ScriptArguments arguments() {
        return this;
    }

    @Override
    public boolean isTicketWanted() {
        return pending != null && isCoordinatorAskedToWait();
    }

    @Override
    public int ticket(int index) {
        return pending.queue.resources.get(index).ticket;
    }

    /** The nodes that were asked and have not voted, as a mask. */
    long silentMask() {
        return round.pending() & askedMask;
    }

    /** The coordinator alone is asked, and pushes the next change if it refuses. */
    boolean isCoordinatorAskedToWait() {
        return isWakeUpWanted && Long.bitCount(askedMask) == 1;
    }

    /** The next command names this client in a queue. */
    void nameWaiter(byte[] bulk) {
        contention().nameWaiter(bulk);
    }

    /** A node alone is asked whether it is the turn of this client. It registers for no push. */
    void askInOrder(int node, byte[] waiter) {
        contention().askInOrder(node, waiter);
        isWakeUpWanted = false;
        isRemainingTtlWanted = false;
    }

    /** The other nodes are asked too, and push the next change if they refuse. */
    void registerAtOthers() {
        isWakeUpWanted = true;
        isRemainingTtlWanted = true;
    }

    boolean isInOrder() {
        return contention != null && contention.orderNode() >= 0;
    }

    /** Whether a node alone is asked whether it is the turn of this client. */
    boolean isInOrderAt(int nodeIndex) {
        return contention != null && contention.orderNode() == nodeIndex;
    }

    @Override
    public byte[] waiterBulk() {
        return contention == null ? null : contention.waiterBulk();
    }

    @Override
    public long waitedUs() {
        if (pending == null || pending.queue == null) {
            return 0;
        }
        return Math.max(0, startNs(pending.lease) - pending.queue.waitsSinceNs(pending.startNs)) / 1000;
    }

    @Override
    public byte queueMode() {
        if (pending == null || pending.queue == null) {
            return QueueReply.FIRST;
        }
        return pending.plan() == PendingAcquire.Plan.PASSING ? QueueReply.PASS : pending.queue.mode();
    }

    @Override
    public int wantedCount() {
        return fenceOrSearch == null ? 1 : (int) fenceOrSearch.number();
    }

    @Override
    public long counterFloor() {
        return fenceOrSearch.counterFloor();
    }

    @Override
    public long counterTtlMs() {
        return fenceOrSearch.counterTtlMs();
    }

    @Override
    public long highestFence() {
        return fenceOrSearch.number();
    }

    @Override
    public Token reservation() {
        return contention == null ? null : contention.reservation;
    }

    @Override
    public boolean isReservationLeft() {
        return key.kind != LockKind.SET || pending != null && pending.hasReservedNode();
    }
}
