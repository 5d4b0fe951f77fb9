package dev.redlock.engine.fence;

import dev.redlock.node.send.CommandKind;
import dev.redlock.quorum.FenceRule;
import dev.redlock.quorum.Vote;

/**
 * What a claim needs beside a quorum of keys: a fencing token, or a search for a free permit. It keeps its own state,
 * and may have a round of its own. A plain lock has none, so each of these events costs it one branch. The default of
 * each is what a plain lock does.
 *
 * @threading event-loop-confined
 */
public interface FenceOrSearch {

    // ---- a round of its own -----------------------------------------------------------------------------------------

    /** A node has answered in its own round. */
    void onReply(int nodeIndex, long value);

    /** A node has not answered in its own round. */
    void onNoReply(int nodeIndex, Vote vote);

    /** Its own round has lasted for too long. */
    void onTimeout();

    /** Returns the number in its commands. */
    long number();

    /** Returns the expiry of the counters in the commands of a fenced lock, milliseconds. */
    default long counterTtlMs() {
        return 0;
    }

    /** Returns the number from which a lower counter continues, in the acquire of a fenced lock. */
    default long counterFloor() {
        return 0;
    }

    /** The claim returns to its pool. */
    void onRecycled();

    // ---- the acquire round ------------------------------------------------------------------------------------------

    /**
     * Returns the command of the attempt.
     *
     * @param isInOrder whether the node decides whose turn it is
     */
    default CommandKind acquireKind(boolean isInOrder) {
        return isInOrder ? CommandKind.ACQUIRE_IN_ORDER : CommandKind.ACQUIRE;
    }

    /** A node has answered the acquire with a value, perhaps late. */
    default void onAnswer(int nodeIndex, long value) {
    }

    /** The answer is a grant. Returns false if it does not count: then the node may have the key, but has no vote. */
    default boolean onGrant(int nodeIndex, long value) {
        return true;
    }

    /** A grant that does not count is recorded. */
    default void onGrantRejected(int nodeIndex, long value) {
    }

    /** A node certainly has not executed the acquire. */
    default void onNotExecuted(int nodeIndex) {
    }

    /** A quorum has granted. Returns false if the attempt has to wait for more answers or for its own round. */
    default boolean onQuorum() {
        return true;
    }

    /** Returns the fencing token of the lease. The attempt succeeds. */
    default long token() {
        return FenceRule.NONE;
    }

    // ---- the release ------------------------------------------------------------------------------------------------

    /** Returns the command of the release, which is about to be sent. */
    default CommandKind releaseKind() {
        return CommandKind.RELEASE;
    }
}
