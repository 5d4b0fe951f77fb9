package dev.redlock.loadtest.driver;

/**
 * One command to all nodes and their replies.
 *
 * @threading any thread; the votes are counted under its monitor
 */
final class LettuceRound {
    private final LettuceHandle handle;
    private final PeerVerb verb;
    private final byte[] token;
    private final long startNs;
    private final VoteCount votes;
    private final boolean isRollback;
    private long answered;
    private boolean isDecided;
    private boolean isSent;

    LettuceRound(LettuceHandle handle, PeerVerb verb, byte[] token, int nodeCount, boolean isRollback) {
        this.handle = handle;
        this.verb = verb;
        this.token = token;
        this.startNs = System.nanoTime();
        this.votes = new VoteCount(nodeCount);
        this.isRollback = isRollback;
    }

    PeerVerb verb() {
        return verb;
    }

    LettuceHandle handle() {
        return handle;
    }

    byte[] token() {
        return token;
    }

    long startNs() {
        return startNs;
    }

    void onReply(int node, long reply) {
        onVote(node, true, reply);
    }

    void onFailure(int node) {
        onVote(node, false, 0);
    }

    private void onVote(int node, boolean isAnswer, long reply) {
        if (count(node, isAnswer, reply)) {
            handle.onDecided(this, votes);
        }
    }

    /** Counts a node's first reply; true for the deciding vote. */
    private synchronized boolean count(int node, boolean isAnswer, long reply) {
        if (isDecided || (answered & 1L << node) != 0) {
            return false;
        }
        answered |= 1L << node;
        if (isAnswer) {
            votes.onReply(reply);
        } else {
            votes.onFailure();
        }
        isDecided = verb == PeerVerb.ACQUIRE ? votes.isDecided() : votes.isReleaseDecided();
        return isDecided && isSent && !isRollback;
    }

    /**
     * The command has been sent to every node. The outcome is reported only from here on, even if enough nodes have
     * replied before: the release that follows must not overtake the command on its way to the last nodes.
     */
    void onSent() {
        if (markSent()) {
            handle.onDecided(this, votes);
        }
    }

    private synchronized boolean markSent() {
        isSent = true;
        return isDecided && !isRollback;
    }

    synchronized boolean isDecided() {
        return isDecided;
    }

    /** The timeout has passed: a node without a reply counts as failed. */
    void onTimeout(int nodeCount) {
        for (int node = 0; node < nodeCount && !isDecided(); node++) {
            onFailure(node);
        }
    }
}
