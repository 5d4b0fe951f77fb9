package dev.redlock.engine;

import dev.redlock.node.CommandKind;
import dev.redlock.quorum.Vote;

/**
 * A part that a claim needs beside its quorum of keys, such as a fencing token. It keeps its own state, and has a round
 * of its own in phase {@link Claim.Phase#RAISING}. A plain lock has none, so each of these events costs it one branch.
 *
 * @threading event-loop-confined
 */
interface Guest {

    /**
     * Returns the command of the attempt.
     *
     * @param hasTicket whether the client that waits gets a ticket
     */
    CommandKind acquireKind(boolean hasTicket);

    /** A node has answered the acquire with a value, perhaps late. */
    void onAnswer(int nodeIndex, long value);

    /** The answer is a grant; false if it does not count: then the node may have the key, but has no vote. */
    boolean onGrant(int nodeIndex, long value);

    /** A grant that does not count is recorded. */
    void onGrantRejected(int nodeIndex, long value);

    /** A node certainly has not executed the acquire. */
    void onNotExecuted(int nodeIndex);

    /** A quorum has granted. Returns false if the attempt has to wait for further answers or for a round of the guest. */
    boolean onQuorum();

    /** A node has answered in the round of the guest. */
    void onReply(int nodeIndex, long value);

    /** A node has not answered in the round of the guest. */
    void onNoReply(int nodeIndex, Vote vote);

    /** The round of the guest has lasted for a node timeout. */
    void onTimeout();

    /** Returns the fencing token of the lease. The attempt succeeds. */
    long token();

    /** Returns the command of the release, which is about to be sent. */
    CommandKind releaseKind();

    /** Returns the counter in the commands of the guest. */
    long counter();

    /** The claim returns to its pool. */
    void onRecycled();
}
