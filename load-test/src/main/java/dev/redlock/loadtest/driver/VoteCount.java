package dev.redlock.loadtest.driver;

import java.time.Duration;

/**
 * Counts the answers of N independent nodes to one command, for the peers that are written by hand here.
 *
 * @threading caller-confined
 */
final class VoteCount {
    private static final int DRIFT_DIVISOR = 100;
    private static final long DRIFT_NS = 2_000_000;

    private final int nodeCount;
    private int granted;
    private int refused;
    private int failed;

    VoteCount(int nodeCount) {
        this.nodeCount = nodeCount;
    }

    /** A node's answer: 1 is a vote for us. */
    void onReply(long reply) {
        if (reply == 1) {
            granted++;
        } else {
            refused++;
        }
    }

    void onFailure() {
        failed++;
    }

    private int quorum() {
        return nodeCount / 2 + 1;
    }

    boolean isWon() {
        return granted >= quorum();
    }

    /** The answer is certain: further votes cannot change it. */
    boolean isDecided() {
        return isWon() || nodeCount - refused - failed < quorum();
    }

    /** What a lost acquire is: others hold it, or too few nodes answered. */
    AcquireVerdict lost() {
        return nodeCount - refused < quorum() || refused > failed
                ? AcquireVerdict.CONTENDED
                : AcquireVerdict.NO_QUORUM;
    }

    ReleaseVerdict released() {
        if (isWon()) {
            return ReleaseVerdict.RELEASED;
        }
        return refused >= quorum() ? ReleaseVerdict.EXPIRED : ReleaseVerdict.UNKNOWN;
    }

    /** A release is certain once a majority deleted the key, or had nothing to delete, or neither can be any more. */
    boolean isReleaseDecided() {
        return isWon() || refused >= quorum() || granted + refused + failed == nodeCount;
    }

    /** What may be relied on, by the algorithm's rule: the ttl less the time spent less the drift of the clocks. */
    static long validityNs(Duration ttl, long spentNs) {
        return ttl.toNanos() - spentNs - ttl.toNanos() / DRIFT_DIVISOR - DRIFT_NS;
    }
}
