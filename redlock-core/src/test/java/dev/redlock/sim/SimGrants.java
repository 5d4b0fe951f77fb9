package dev.redlock.sim;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Knows what each node has granted to which token, and which keys were lost without a crash: the truth against which
 * two holders are judged.
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

    /** Whether a client counts a grant of a node for nothing, because it has seen the node's clock jump. */
    @FunctionalInterface
    interface Distrust {
        boolean isDistrusted(int node, long grantedNs);
    }

    SimGrants(final int nodeCount) {
        quorum = nodeCount / 2 + 1;
        for (int i = 0; i < nodeCount; i++) {
            nodes.add(new HashMap<>());
        }
    }

    /** A node has executed a command about a token; a key that an extension puts back is not granted by that. */
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

    /** @return a moment that is before everything that is executed from here on */
    long now() {
        return sequence;
    }

    /** Nodes that have held a token at some time behind a moment. */
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
     * Whether keys that were lost are the reason why two hold: each has the grants of a quorum that it can trust, and
     * wherever both have one, the key of one of them was lost.
     */
    boolean isExplained(final String one, final Distrust ones, final String other, final Distrust others) {
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

    private Grant trusted(final int node, final String token, final Distrust revoke) {
        final Grant grant = nodes.get(node).get(token);
        return grant == null || revoke.isDistrusted(node, grant.heldNs) ? null : grant;
    }

    private static boolean isLost(final Grant grant) {
        return grant.lostAt > grant.heldAt;
    }
}
