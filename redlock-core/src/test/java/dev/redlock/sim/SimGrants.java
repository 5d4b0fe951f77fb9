package dev.redlock.sim;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Knows what each node has granted to which token, and which keys were lost without a crash: the truth against which
 * two holders are judged. Keys that were lost explain them only where no node stands for both, and only as far as each
 * of the two has been granted the lock by a quorum.
 */
final class SimGrants {

    private final List<Map<String, Grant>> nodes = new ArrayList<>();
    private final int quorum;
    private long sequence;

    private static final class Grant {
        private long heldAt;
        private long lostAt;
    }

    SimGrants(final int nodeCount) {
        quorum = nodeCount / 2 + 1;
        for (int i = 0; i < nodeCount; i++) {
            nodes.add(new HashMap<>());
        }
    }

    /** A node has executed a command about a token; a key that an extension puts back is not granted by that. */
    void onExecuted(final int node, final String verb, final String token, final long reply) {
        if (verb.startsWith("acquire") && reply > 0 || verb.equals("extend") && reply == 1) {
            nodes.get(node).computeIfAbsent(token, any -> new Grant()).heldAt = ++sequence;
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

    private static boolean isStanding(final Grant grant) {
        return grant != null && grant.lostAt < grant.heldAt;
    }

    /** Whether keys that were lost are the reason why two hold. */
    boolean isExplained(final String one, final String other) {
        boolean isAnyLost = false;
        for (final Map<String, Grant> node : nodes) {
            final Grant ones = node.get(one);
            final Grant others = node.get(other);
            if (isStanding(ones) && isStanding(others)) {
                return false;
            }
            isAnyLost |= ones != null && ones.lostAt > 0 || others != null && others.lostAt > 0;
        }
        return isAnyLost && isQuorum(heldCount(one, 0)) && isQuorum(heldCount(other, 0));
    }
}
