package dev.redlock.engine;

import dev.redlock.node.send.CommandKind;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.quorum.Vote;

/**
 * Passes the failures of claims to the parts of one event loop: commands without a reply, and timeouts of rounds.
 *
 * @threading event-loop-confined
 */
abstract class ClaimFailures implements ClaimEvents {

    // Set before the first claim.
    LeaseKeeper keeper;
    AcquireScheduler scheduler;

    @Override
    public void onNoReply(Claim claim, int nodeIndex, CommandKind kind, int sequence, Vote vote,
            VoteFailure failure) {
        switch (kind) {
            case ACQUIRE, ACQUIRE_FENCED, ACQUIRE_WITH_TICKET, ACQUIRE_FENCED_WITH_TICKET ->
                scheduler.operation.onNoReply(claim, nodeIndex, vote, failure);
            case RAISE -> claim.fenceOrSearch.onNoReply(nodeIndex, vote);
            case REMAINING_TTL -> {
                if (claim.phase == Claim.Phase.SEARCHING) {
                    claim.fenceOrSearch.onNoReply(nodeIndex, vote);
                }
            }
            case EXTEND, EXTEND_MANY -> keeper.extensions.onNoReply(claim, nodeIndex, sequence, vote, failure);
            case CHECK -> keeper.lossWatch.onNoReply(claim, nodeIndex, failure);
            case KEY_TYPE -> scheduler.holderQuery.onNoType(claim, nodeIndex, sequence);
            case TICKETS, SHORTEN -> {
                // The next release asks again, and the key expires with its ttl.
            }
            case RELEASE, RELEASE_FENCED, RELEASE_MANY, RELEASE_MANY_FENCED ->
                onNotReleased(claim, nodeIndex, kind, sequence, vote, failure);
        }
    }

    private void onNotReleased(Claim claim, int nodeIndex, CommandKind kind, int sequence, Vote vote,
            VoteFailure failure) {
        boolean isNotHeld = isNotHeld(kind, failure);
        if (isNotHeld && scheduler.holderQuery.onWrongType(claim, nodeIndex)) {
            return;
        }
        boolean isRolledBack = claim.phase == Claim.Phase.QUERYING_HOLDER;
        keeper.releases.onNoReply(claim, nodeIndex, sequence, isNotHeld ? Vote.REFUSED : vote);
        if (isRolledBack) {
            onRolledBack(claim, nodeIndex, sequence);
        }
    }

    /** A key of another type has no token. With a counter, the counter may be of that type instead. */
    private static boolean isNotHeld(CommandKind kind, VoteFailure failure) {
        return failure == VoteFailure.WRONGTYPE && (kind == CommandKind.RELEASE || kind == CommandKind.RELEASE_MANY);
    }

    @Override
    public void onRefusedAhead(Claim claim, int nodeIndex) {
        keeper.loss.onNotHeld(claim, nodeIndex);
    }

    @Override
    public void onRoundTimeout(Claim claim) {
        switch (claim.phase) {
            case ACQUIRING -> scheduler.operation.partialRound.onTimeout(claim);
            case RAISING, SEARCHING -> claim.fenceOrSearch.onTimeout();
            case QUERYING_HOLDER -> scheduler.holderQuery.end(claim);
            default -> keeper.releases.onTimeout(claim);
        }
    }

    @Override
    public void onHoldTimer(Claim claim, long nowNs) {
        keeper.renewals.onHoldTimer(claim, nowNs);
    }

    final void onRolledBack(Claim claim, int nodeIndex, int sequence) {
        if (sequence != ReleaseOperation.COUNTER_ONLY_SEQUENCE) {
            scheduler.holderQuery.onReleased(claim, nodeIndex);
        }
    }
}
