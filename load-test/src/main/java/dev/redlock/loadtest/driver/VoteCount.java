package dev.redlock.loadtest.driver;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import java.time.Duration;

/**
 * Counts the replies of N independent nodes to one command, for the hand-written peers.
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

    /** Counts a node's reply: 1 is a vote. */
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

    /** Whether further votes cannot change the outcome. */
    boolean isDecided() {
        return isWon() || nodeCount - refused - failed < quorum();
    }

    /** The outcome of a lost acquire: other clients hold the lock, or too few nodes replied. */
    AcquireOutcome.Kind lost() {
        return nodeCount - refused < quorum() || refused > failed
                ? AcquireOutcome.Kind.CONTENDED
                : AcquireOutcome.Kind.NO_QUORUM;
    }

    ReleaseOutcome released() {
        if (isWon()) {
            return ReleaseOutcome.RELEASED;
        }
        return refused >= quorum() ? ReleaseOutcome.EXPIRED : ReleaseOutcome.UNKNOWN;
    }

    /**
     * Whether a release is decided: a majority deleted the key, or did not have it, or neither is possible any more.
     */
    boolean isReleaseDecided() {
        return isWon() || refused >= quorum() || granted + refused + failed == nodeCount;
    }

    /** The validity by the algorithm's rule: the ttl less the time spent less the drift of the clocks. */
    static long validityNs(Duration ttl, long spentNs) {
        return ttl.toNanos() - spentNs - ttl.toNanos() / DRIFT_DIVISOR - DRIFT_NS;
    }
}
