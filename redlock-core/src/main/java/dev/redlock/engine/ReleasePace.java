package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.node.send.FanOut;

/**
 * The pace at which a client that closes releases its leases: no faster than the nodes accept the commands. A node
 * with too much to answer would not get the others, and their keys would stay until they expire.
 *
 * <p>It ends in time: after half of the close's timeout all leases are released in one turn, and the rest of the time
 * is for the replies. A node that accepts nothing for an eighth of it is not waited for any more.
 *
 * @threading event-loop-confined
 */
final class ReleasePace {

    /** So many releases are 16 script calls for each node. The replies to them are read in the next turn. */
    private static final int PER_TURN = 1024;
    private static final long CONGESTED_DELAY_NS = NS_PER_MS;

    private final FanOut fanOut;
    /** False also for a loop that ends before its client is closed. */
    private boolean isLimited;
    private int left;
    private long endNs;
    private long patienceNs;
    private long turnNs;
    private long releasedNs;
    private long congestedMask;
    private long ignoredMask;

    ReleasePace(FanOut fanOut) {
        this.fanOut = fanOut;
    }

    /** The client starts to close, which may take a time. */
    void start(long nowNs, long limitNs) {
        endNs = nowNs + limitNs / 2;
        patienceNs = limitNs / 8;
        releasedNs = nowNs;
    }

    void startTurn(long nowNs) {
        turnNs = nowNs;
        left = PER_TURN;
        isLimited = endNs - nowNs > 0;
        if (nowNs - releasedNs >= patienceNs) {
            ignoredMask |= congestedMask;
        }
    }

    void end() {
        isLimited = false;
    }

    /** Whether a lease may be released in this turn. The answer yes counts. */
    boolean admits(Claim next) {
        if (!isLimited) {
            return true;
        }
        congestedMask = fanOut.congestedMask(next) & ~ignoredMask;
        if (left == 0 || congestedMask != 0) {
            return false;
        }
        left--;
        releasedNs = turnNs;
        return true;
    }

    /** When the next lease may be released. */
    long nextTurnNs() {
        return congestedMask == 0 ? turnNs : turnNs + CONGESTED_DELAY_NS;
    }
}
