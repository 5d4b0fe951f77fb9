package dev.redlock.sim;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Records the grants of each node to each token, and the keys that were lost without a crash: the true history, against
 * which overlaps are judged.
 */
final class SimGrants {

    private final List<Map<String, Grant>> nodes = new ArrayList<>();
    private final int quorum;
    private long sequence;

    private static final class Grant {
        private long heldAt;
        private long heldNs;
        private long lostAt;
    }

    /** Returns whether a client does not count a grant of a node, because it has detected a clock jump. */
    @FunctionalInterface
    interface Revocations {
        boolean isRevoked(int node, long grantedNs);
    }

    SimGrants(final int nodeCount) {
        quorum = nodeCount / 2 + 1;
        for (int i = 0; i < nodeCount; i++) {
            nodes.add(new HashMap<>());
        }
    }

    /** A node has executed a command; a key that an extension sets again is not a grant. */
    void onExecuted(final int node, final String verb, final String token, final long reply, final long nowNs) {
        if (verb.startsWith("acquire") && reply > 0 || verb.equals("extend") && reply == 1) {
            final Grant grant = nodes.get(node).computeIfAbsent(token, any -> new Grant());
            grant.heldAt = ++sequence;
            grant.heldNs = nowNs;
        }
    }

    void onLost(final int node, final String token) {
        final Grant grant = nodes.get(node).get(token);
        if (grant != null) {
            grant.lostAt = ++sequence;
        }
    }

    /** @return a moment before all commands that are executed from now on */
    long now() {
        return sequence;
    }

    /** Counts the nodes that have held a token at some time after a moment. */
    int heldCount(final String token, final long since) {
        int count = 0;
        for (final Map<String, Grant> node : nodes) {
            final Grant grant = node.get(token);
            count += grant != null && grant.heldAt > since ? 1 : 0;
        }
        return count;
    }

    boolean isQuorum(final int count) {
        return count >= quorum;
    }

    /**
     * Returns whether lost keys explain two holders: each has the grants of a quorum of trusted nodes, and on every
     * node that granted both, the key of one of them was lost.
     */
    boolean isExplained(final String one, final Revocations ones, final String other, final Revocations others) {
        int oneCount = 0;
        int otherCount = 0;
        boolean isAnyLost = false;
        for (int i = 0; i < nodes.size(); i++) {
            final Grant first = trusted(i, one, ones);
            final Grant second = trusted(i, other, others);
            if (first != null && second != null && !isLost(first) && !isLost(second)) {
                return false;
            }
            isAnyLost |= first != null && first.lostAt > 0 || second != null && second.lostAt > 0;
            oneCount += first == null ? 0 : 1;
            otherCount += second == null ? 0 : 1;
        }
        return isAnyLost && isQuorum(oneCount) && isQuorum(otherCount);
    }

    private Grant trusted(final int node, final String token, final Revocations revoke) {
        final Grant grant = nodes.get(node).get(token);
        return grant == null || revoke.isRevoked(node, grant.heldNs) ? null : grant;
    }

    private static boolean isLost(final Grant grant) {
        return grant.lostAt > grant.heldAt;
    }
}
