package dev.redlock.engine.fence;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.node.NodeView;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.quorum.Round;

/**
 * What a {@link Fence} needs of the claim that it is of, and of the nodes.
 *
 * @threading event-loop-confined
 */
public interface FencedRound {

    // ---- questions --------------------------------------------------------------------------------------------------

    /** @return whether the acquire round is in progress */
    boolean isAcquiring();

    /** @return whether the raise round is in progress */
    boolean isRaising();

    /** @return whether the release of a lease is in progress */
    boolean isReleasing();

    /** @return the votes of the acquire round, and from the release on those of the release */
    Round votes();

    /** @return whether a node that was asked has not answered */
    boolean isAnySilent();

    /** @return a node, for a log line */
    NodeView node(int nodeIndex);

    /** @return the key of its counter, or those of a set, for a log line: escaped and truncated */
    String counterText();

    // ---- commands ---------------------------------------------------------------------------------------------------

    /** The grant of a node does not count, for a reason. */
    void recordFailure(int nodeIndex, VoteFailure failure);

    /** Starts the raise round: nodes with a lower counter raise it to {@link Fence#number}. */
    void raise(long laggingMask);

    /** Raises the counter of a node to {@link Fence#number} after the release. The reply is no vote. */
    void raiseAfterRelease(int nodeIndex);

    // ---- outcomes ---------------------------------------------------------------------------------------------------

    /** A quorum of counters agrees. */
    void succeed();

    void fail(AcquireOutcome.Kind reason);

    /** Too few of the nodes that were asked first count: asks the others. */
    void askOthers();

    /** The claim returns to its pool, and the fence may serve another one. */
    void onRecycled();
}
