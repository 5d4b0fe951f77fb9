package dev.redlock.quorum;

/**
 * Counts the votes of one fan-out and decides as soon as the result is certain.
 *
 * <p>Votes are bit masks, node i as bit i. Counting a vote takes a few instructions and allocates nothing. A node votes
 * once: a second vote of the same node is ignored.
 *
 * @threading caller-confined
 */
public final class Round {

    private final Majority majority;
    private long granted;
    private long refused;
    private long failed;
    private long unknown;

    /**
     * A round over a fixed set of nodes, with no vote yet.
     *
     * @param majority the nodes that win
     */
    public Round(Majority majority) {
        this.majority = majority;
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
     * @param vote      its vote
     * @return true if it was counted
     */
    public boolean onVote(int nodeIndex, Vote vote) {
        assert nodeIndex >= 0 && nodeIndex < majority.nodeCount() : nodeIndex;
        long bit = 1L << nodeIndex;
        if (((granted | refused | failed | unknown) & bit) != 0) {
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
     * Replaces the unknown vote of a node whose reply arrives late. The decision does not change; the late vote shows
     * whether the node holds the key.
     *
     * @param nodeIndex which node
     * @param vote      its vote
     */
    public void onLateVote(int nodeIndex, Vote vote) {
        unknown &= ~(1L << nodeIndex);
        onVote(nodeIndex, vote);
    }

    /**
     * Counts nodes that were not asked, because they certainly do not have the key.
     *
     * @param mask nodes without a vote
     */
    public void onNotAsked(long mask) {
        assert (pending() & mask) == mask : "a node votes once";
        refused |= mask;
    }

    /** The time limit has passed: every pending vote is unknown. */
    public void onTimeout() {
        unknown |= pending();
    }

    /**
     * Revokes a node's grant, because the node may have lost the key.
     *
     * @param nodeIndex which node
     * @return true if there was a grant; its vote is unknown now
     */
    public boolean revoke(int nodeIndex) {
        long bit = 1L << nodeIndex;
        if ((granted & bit) == 0) {
            return false;
        }
        granted &= ~bit;
        unknown |= bit;
        return true;
    }

    /**
     * The decision so far. When it is not {@link Decision#OPEN}, later votes cannot turn a win into a loss or a loss
     * into a win.
     *
     * @return the decision
     */
    public Decision decision() {
        if (majority.second != 0 || majority.shared != null && majority.shared.mask != 0) {
            return decisionByMasks();
        }
        if (Long.bitCount(granted) >= majority.firstSize) {
            return Decision.WON;
        }
        // Most grants that the other votes can add up to.
        int possible = majority.nodeCount - Long.bitCount(failed | unknown);
        if (possible < majority.firstSize) {
            return Decision.NO_QUORUM;
        }
        return possible - Long.bitCount(refused) < majority.firstSize ? Decision.CONTENDED : Decision.OPEN;
    }

    private Decision decisionByMasks() {
        if (majority.isReachedBy(granted)) {
            return Decision.WON;
        }
        if (majority.isPreventedBy(failed | unknown)) {
            return Decision.NO_QUORUM;
        }
        return majority.isPreventedBy(failed | unknown | refused) ? Decision.CONTENDED : Decision.OPEN;
    }

    /**
     * Whether so many nodes refused that no quorum is possible, whatever the other votes are.
     *
     * @return true if no quorum of grants can exist
     */
    public boolean isRefusedForCertain() {
        return majority.isPreventedBy(refused);
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

    /** @return nodes whose vote is unknown: no reply in time, or the connection was lost; as a mask */
    public long unknown() {
        return unknown;
    }

    /** @return nodes whose vote is pending, as a mask */
    public long pending() {
        return majority.all & ~(granted | refused | failed | unknown);
    }

    /** @return configured nodes */
    public int nodeCount() {
        return majority.nodeCount();
    }

    @Override
    public String toString() {
        return "Round{granted=" + Long.bitCount(granted) + ", refused=" + Long.bitCount(refused) + ", failed="
                + Long.bitCount(failed) + ", unknown=" + Long.bitCount(unknown) + ", pending="
                + Long.bitCount(pending()) + ", needed=" + majority + "}";
    }
}
