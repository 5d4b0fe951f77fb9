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
        private long firstHeldAt;
        private long heldAt;
        private long heldNs;
        private long lostAt;
        /** When an extension has set the lost key again, on the new process of a lone node. */
        private long setAgainAt;
        private long expiredAt;

        /** The key was lost, another token got the grant of the node, and then a new process set the lost key again. */
        private boolean isOvertakenBy(Grant other) {
            return lostAt > 0 && other.firstHeldAt > lostAt && other.firstHeldAt < setAgainAt;
        }
    }

    /** Returns whether a client does not count a grant of a node, because it has detected a clock jump. */
    @FunctionalInterface
    interface Revocations {
        boolean isRevoked(int node, long grantedNs);
    }

    SimGrants(int nodeCount) {
        quorum = nodeCount / 2 + 1;
        for (int i = 0; i < nodeCount; i++) {
            nodes.add(new HashMap<>());
        }
    }

    /**
     * A node has executed a command. A key that an extension sets again is not a grant, but the extension of a thrifty
     * client may be the first command of its token.
     */
    void onExecuted(int node, String verb, String token, long reply, long nowNs, boolean isThrifty) {
        boolean isRefusedExtension = verb.equals("extend") && reply == 0;
        if (!verb.startsWith("acquire") && !verb.equals("extend") || isRefusedExtension) {
            return;
        }
        boolean isFirst = nodes.get(node).get(token) == null;
        Grant grant = nodes.get(node).computeIfAbsent(token, any -> new Grant());
        // With one node, a lease outlives a failover by that.
        boolean isSetAgain = reply == 2 && (isFirst && isThrifty || nodes.size() == 1);
        boolean isGrant = verb.equals("extend") ? reply == 1 || isSetAgain : reply > 0;
        if (isGrant) {
            grant.heldAt = ++sequence;
            grant.heldNs = nowNs;
            grant.firstHeldAt = grant.firstHeldAt == 0 ? sequence : grant.firstHeldAt;
            if (isSetAgain && grant.lostAt > grant.setAgainAt) {
                grant.setAgainAt = sequence;
            }
        }
    }

    void onLost(int node, String token) {
        Grant grant = nodes.get(node).get(token);
        if (grant != null) {
            grant.lostAt = ++sequence;
        }
    }

    /**
     * A key has expired, and was not deleted before. Its client may not know yet that it has expired too early, after a
     * jump of the node's clock, so it counts until then.
     */
    void onExpired(int node, String token, long jumpedNs) {
        Grant grant = nodes.get(node).get(token);
        if (grant != null && grant.heldNs > jumpedNs) {
            grant.expiredAt = ++sequence;
        }
    }

    /** @return a moment before all commands that are executed from now on */
    long now() {
        return sequence;
    }

    /** Returns whether a node has granted a token. */
    boolean hasGranted(int node, String token) {
        Grant grant = nodes.get(node).get(token);
        return grant != null && grant.heldAt > 0;
    }

    /** Counts the nodes that have held a token at some time after a moment. */
    int heldCount(String token, long since) {
        int count = 0;
        for (Map<String, Grant> node : nodes) {
            Grant grant = node.get(token);
            count += grant != null && grant.heldAt > since ? 1 : 0;
        }
        return count;
    }

    boolean isQuorum(int count) {
        return count >= quorum;
    }

    /**
     * Returns whether lost keys explain two holders: each has the grants of a quorum of trusted nodes, which have not
     * expired, and on every node that granted both, the key of one of them was lost. If a lone node loses a key, grants
     * another one and then restarts empty, neither client can tell who comes first: the loss still explains both.
     */
    boolean isExplained(String one, Revocations ones, String other, Revocations others) {
        int oneCount = 0;
        int otherCount = 0;
        boolean isAnyLost = false;
        for (int i = 0; i < nodes.size(); i++) {
            Grant first = trusted(i, one, ones);
            Grant second = trusted(i, other, others);
            if (first != null && second != null && !isLost(first) && !isLost(second) && !first.isOvertakenBy(second)
                    && !second.isOvertakenBy(first)) {
                return false;
            }
            isAnyLost |= first != null && first.lostAt > 0 || second != null && second.lostAt > 0;
            oneCount += first == null ? 0 : 1;
            otherCount += second == null ? 0 : 1;
        }
        return isAnyLost && isQuorum(oneCount) && isQuorum(otherCount);
    }

    private Grant trusted(int node, String token, Revocations revoke) {
        Grant grant = nodes.get(node).get(token);
        boolean isExpired = grant != null && grant.expiredAt > grant.heldAt;
        return grant == null || grant.heldAt == 0 || isExpired || revoke.isRevoked(node, grant.heldNs) ? null : grant;
    }

    private static boolean isLost(Grant grant) {
        return grant.lostAt > grant.heldAt;
    }
}
