package dev.redlock.engine;

import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.CommandDetail;
import dev.redlock.node.send.CommandKind;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.quorum.Vote;

/**
 * Passes what happens to the claims of one event loop, their replies, failures and timeouts, to the part that owns the
 * round of the command.
 *
 * @threading event-loop-confined
 */
final class ClaimRouter implements ClaimEvents {

    private ClaimPool claims;
    private AcquireScheduler scheduler;
    private KeyChanges keyChanges;
    private LeaseKeeper keeper;
    private Shutdown shutdown;

    /** The parts need the pool, whose claims need this object: it knows them before the first claim. */
    void connect(ClaimPool ofLoop, AcquireScheduler acquiring, KeyChanges changes, LeaseKeeper held, Shutdown end) {
        claims = ofLoop;
        scheduler = acquiring;
        keyChanges = changes;
        keeper = held;
        shutdown = end;
    }

    // ---- replies ----------------------------------------------------------------------------------------------------

    @Override
    public void onReply(Claim claim, int nodeIndex, CommandKind kind, int detail, long value) {
        if (scheduler.registrations.count != 0) {
            keyChanges.onOwnReply(claim, nodeIndex, kind, value);
        }
        switch (kind) {
            case ACQUIRE, ACQUIRE_FENCED -> scheduler.operation.onReply(claim, nodeIndex, value);
            case EXTEND, EXTEND_MANY -> keeper.extensions.onReply(claim, nodeIndex, detail, value);
            case RELEASE, RELEASE_FENCED, RELEASE_MANY, RELEASE_MANY_FENCED -> {
                if (claim.phase == Claim.Phase.QUERYING_HOLDER) {
                    onRolledBack(claim, nodeIndex, detail);
                } else {
                    keeper.releases.onReply(claim, nodeIndex, detail, value);
                }
            }
            default -> onRareReply(claim, nodeIndex, kind, detail, value);
        }
    }

    private void onRareReply(Claim claim, int nodeIndex, CommandKind kind, int detail, long value) {
        switch (kind) {
            case ACQUIRE_IN_ORDER, ACQUIRE_FENCED_IN_ORDER ->
                scheduler.operation.onReply(claim, nodeIndex, scheduler.crowd.onReply(claim, nodeIndex, value));
            case RAISE -> claim.fenceOrSearch.onReply(nodeIndex, value);
            case REMAINING_TTL -> onRemainingTtl(claim, nodeIndex, value);
            case WAITING -> scheduler.fairness.onWaiting(claim.key, value);
            case PLACE -> scheduler.crowd.onRank(claim, value);
            case KEY_TYPE -> scheduler.holderQuery.onType(claim, nodeIndex, detail, value);
            case CHECK -> keeper.lossWatch.onReply(claim, nodeIndex, value);
            case MARK -> scheduler.fairness.onMarked(claim.key.lock());
            default -> {
                // SHORTEN: without effect on a node, its key expires later.
            }
        }
    }

    private void onRemainingTtl(Claim claim, int nodeIndex, long value) {
        LockKey key = claim.key;
        if (claim.phase == Claim.Phase.SEARCHING) {
            claim.fenceOrSearch.onReply(nodeIndex, value);
        } else if (key.lock() != key) {
            if (WaitMarks.isLeft(value)) {
                scheduler.fairness.onReported(key.lock());
            }
        } else if (claim.phase == Claim.Phase.ABANDONED) {
            scheduler.waitTimers.onChecked(claim, nodeIndex, value);
        } else {
            scheduler.holderQuery.onReply(claim, value);
        }
    }

    @Override
    public void onLastReply(Claim claim) {
        claims.recycle(claim);
    }

    @Override
    public void onIdle() {
        shutdown.onProgress();
    }

    // ---- failures ---------------------------------------------------------------------------------------------------

    @Override
    public void onNoReply(Claim claim, int nodeIndex, CommandKind kind, int detail, Vote vote,
            VoteFailure failure) {
        switch (kind) {
            case ACQUIRE, ACQUIRE_FENCED, ACQUIRE_IN_ORDER, ACQUIRE_FENCED_IN_ORDER -> {
                onNotExecuted(claim.key, nodeIndex, vote, failure);
                scheduler.operation.onNoReply(claim, nodeIndex, vote, failure);
            }
            case RAISE -> claim.fenceOrSearch.onNoReply(nodeIndex, vote);
            case REMAINING_TTL -> {
                if (claim.phase == Claim.Phase.SEARCHING) {
                    claim.fenceOrSearch.onNoReply(nodeIndex, vote);
                } else if (claim.phase == Claim.Phase.ABANDONED) {
                    scheduler.waitTimers.onNotChecked(claim, nodeIndex);
                }
            }
            case EXTEND, EXTEND_MANY -> keeper.extensions.onNoReply(claim, nodeIndex, detail, vote, failure);
            case CHECK -> keeper.lossWatch.onNoReply(claim, nodeIndex, failure);
            case KEY_TYPE -> scheduler.holderQuery.onNoType(claim, nodeIndex, detail);
            case WAITING, MARK -> onNotExecuted(claim.key.lock(), nodeIndex, vote, failure);
            case PLACE, LEAVE_QUEUE, SHORTEN -> {
                // The next refusal asks again, an entry ends with its turn, and the key expires.
            }
            case RELEASE, RELEASE_FENCED, RELEASE_MANY, RELEASE_MANY_FENCED ->
                onNotReleased(claim, nodeIndex, kind, detail, vote, failure);
        }
    }

    private void onNotExecuted(LockKey key, int nodeIndex, Vote vote, VoteFailure failure) {
        if (vote == Vote.FAILED && scheduler.queues.count != 0) {
            scheduler.fairness.onNotExecuted(key, nodeIndex, failure);
        }
    }

    private void onNotReleased(Claim claim, int nodeIndex, CommandKind kind, int detail, Vote vote,
            VoteFailure failure) {
        boolean isNotHeld = isNotHeld(kind, failure);
        if (isNotHeld && scheduler.holderQuery.onWrongType(claim, nodeIndex)) {
            return;
        }
        boolean isRolledBack = claim.phase == Claim.Phase.QUERYING_HOLDER;
        keeper.releases.onNoReply(claim, nodeIndex, detail, isNotHeld ? Vote.REFUSED : vote);
        if (isRolledBack) {
            onRolledBack(claim, nodeIndex, detail);
        }
    }

    /** A key of another type has no token. With a counter, the counter may be of that type instead. */
    private static boolean isNotHeld(CommandKind kind, VoteFailure failure) {
        return failure == VoteFailure.WRONGTYPE && (kind == CommandKind.RELEASE || kind == CommandKind.RELEASE_MANY);
    }

    @Override
    public void onRefusedAhead(Claim claim, int nodeIndex) {
        // The key of an unclaimed lease may be missing: the script that follows sets it.
        if (!Unclaimed.is(claim)) {
            keeper.loss.onNotHeld(claim, nodeIndex);
        }
    }

    private void onRolledBack(Claim claim, int nodeIndex, int detail) {
        if (detail != CommandDetail.COUNTER_ONLY) {
            scheduler.holderQuery.onReleased(claim, nodeIndex);
        }
    }

    // ---- timers -----------------------------------------------------------------------------------------------------

    @Override
    public void onRoundTimeout(Claim claim) {
        switch (claim.phase) {
            case ACQUIRING -> scheduler.operation.onTimeout(claim);
            case RAISING, SEARCHING -> claim.fenceOrSearch.onTimeout();
            case QUERYING_HOLDER -> scheduler.holderQuery.end(claim);
            default -> keeper.releases.onTimeout(claim);
        }
    }

    @Override
    public void onThrown(Claim claim, PendingAcquire owner) {
        if (owner != null) {
            scheduler.retries.endIfStuck(owner, claim);
        }
    }

    @Override
    public void onHoldTimer(Claim claim, long nowNs) {
        keeper.renewals.onHoldTimer(claim, nowNs);
    }

}
