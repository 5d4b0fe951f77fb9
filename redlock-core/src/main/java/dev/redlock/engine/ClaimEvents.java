package dev.redlock.engine;

import dev.redlock.node.send.CommandKind;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.quorum.Vote;

/**
 * Receives what happens to claims.
 *
 * @threading event-loop-confined
 */
interface ClaimEvents {

    void onReply(Claim claim, int nodeIndex, CommandKind kind, int detail, long value);

    /** A node has failed, or has certainly not executed the command. */
    void onNoReply(Claim claim, int nodeIndex, CommandKind kind, int detail, Vote vote, VoteFailure failure);

    /** A node has refused an extension before its reply. */
    void onRefusedAhead(Claim claim, int nodeIndex);

    void onRoundTimeout(Claim claim);

    void onHoldTimer(Claim claim, long nowNs);

    /**
     * An event of the claim threw, and its receiver has not completed it.
     *
     * @param owner the acquisition that the claim had before the event; null if it had none
     */
    void onThrown(Claim claim, PendingAcquire owner);

    /** An abandoned claim has got its last reply. */
    void onLastReply(Claim claim);

    /** The client closes, and the last claim has returned to its pool. */
    void onIdle();
}
