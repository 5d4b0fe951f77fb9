package dev.redlock.quorum;

/**
 * Counts the votes of one fan-out and decides as early as the answer is certain.
 *
 * <p>Votes are bit masks, node i being bit i; counting one is a few instructions and allocates nothing. A node votes
 * once: a second vote of the same node is ignored, so a straggler can never be counted twice.
 *
 * @threading caller-confined
 */
public final class Round {

    private final int nodeCount;
    private final int quorum;
    private long granted;
    private long refused;
    private long failed;
    private long unknown;

    /**
     * A round over a fixed set of nodes, with no vote yet.
     *
     * @param nodeCount configured nodes, 1 to {@link Quorum#NODES_MAX}
     */
    public Round(final int nodeCount) {
        this.nodeCount = nodeCount;
        this.quorum = Quorum.sizeOf(nodeCount);
    }

    /** Forgets every vote. */
    public void reset() {
        granted = 0;
        refused = 0;
        failed = 0;
        unknown = 0;
    }

    /**
     * Counts one node's vote, unless it has voted already.
     *
     * @param nodeIndex which node, 0 to nodeCount - 1
     * @param vote      its answer
     * @return true if it was counted
     */
    public boolean onVote(final int nodeIndex, final Vote vote) {
        assert nodeIndex >= 0 && nodeIndex < nodeCount : nodeIndex;
        final long bit = 1L << nodeIndex;
        if ((answered() & bit) != 0) {
            return false;
        }
        switch (vote) {
            case GRANTED -> granted |= bit;
            case REFUSED -> refused |= bit;
            case FAILED -> failed |= bit;
            case UNKNOWN -> unknown |= bit;
        }
        return true;
    }

    /**
     * Lets a node that was counted as silent change its vote when its answer arrives late. The decision that was taken
     * stands; only what is known about the node's key gets better.
     *
     * @param nodeIndex which node
     * @param vote      what it answered after all
     */
    public void onLateVote(final int nodeIndex, final Vote vote) {
        unknown &= ~(1L << nodeIndex);
        onVote(nodeIndex, vote);
    }

    /** Time is up: every node that has not answered is counted as unknown. */
    public void onTimeout() {
        unknown |= pending();
    }

    /**
     * Takes a node's grant back, because it can no longer be trusted to keep it.
     *
     * @param nodeIndex which node
     * @return true if there was a grant, which is an unknown vote now
     */
    public boolean revoke(final int nodeIndex) {
        final long bit = 1L << nodeIndex;
        if ((granted & bit) == 0) {
            return false;
        }
        granted &= ~bit;
        unknown |= bit;
        return true;
    }

    /**
     * The decision so far. Once it is not {@link Decision#OPEN}, later votes cannot turn a win into a loss or a loss
     * into a win.
     *
     * @return the decision
     */
    public Decision decision() {
        if (Long.bitCount(granted) >= quorum) {
            return Decision.WON;
        }
        final int silent = Long.bitCount(failed | unknown);
        if (silent > nodeCount - quorum) {
            return Decision.NO_QUORUM;
        }
        return silent + Long.bitCount(refused) > nodeCount - quorum ? Decision.CONTENDED : Decision.OPEN;
    }

    /**
     * Whether enough nodes refused for a quorum to be out of reach for ever, whatever the silent ones would say.
     *
     * @return true if no quorum of grants can exist
     */
    public boolean isRefusedForCertain() {
        return Long.bitCount(refused) > nodeCount - quorum;
    }

    /** @return nodes that granted, as a mask */
    public long granted() {
        return granted;
    }

    /** @return nodes that refused, as a mask */
    public long refused() {
        return refused;
    }

    /** @return nodes that did not execute the command, as a mask */
    public long failed() {
        return failed;
    }

    /** @return nodes whose answer is missing although time is up or their connection is gone, as a mask */
    public long unknown() {
        return unknown;
    }

    /** @return nodes that may still answer, as a mask */
    public long pending() {
        return Quorum.allOf(nodeCount) & ~answered();
    }

    /** @return configured nodes */
    public int nodeCount() {
        return nodeCount;
    }

    /** @return grants needed to win */
    public int quorum() {
        return quorum;
    }

    private long answered() {
        return granted | refused | failed | unknown;
    }

    @Override
    public String toString() {
        return "Round{granted=" + Long.bitCount(granted) + ", refused=" + Long.bitCount(refused) + ", failed="
                + Long.bitCount(failed) + ", unknown=" + Long.bitCount(unknown) + ", pending="
                + Long.bitCount(pending()) + ", quorum=" + quorum + "}";
    }
}
