package dev.redlock.trial.nodes;

import org.junit.jupiter.api.Assumptions;

/**
 * Nodes for a test, or a skipped test where this machine has no such server. With {@code -Dtests.requireServers=true}
 * nothing is skipped: a missing server fails the test. Containers have a switch of their own,
 * {@code -Dtests.requireContainers=true}, because a Docker engine cannot be had everywhere. A server that was built
 * without TLS skips the tests of TLS with {@code -Dtests.withoutTls=true}.
 */
public final class RequiredNodes {
    private RequiredNodes() {
    }

    public static RedisNodes start(Source source, int count) {
        return start(new RedisNodesContext().source(source).count(count));
    }

    public static RedisNodes start(RedisNodesContext context) {
        try {
            return RedisNodes.start(context);
        } catch (NodesUnavailableException e) {
            if (isRequired(context)) {
                throw e;
            }
            return Assumptions.abort(e.getMessage());
        }
    }

    private static boolean isRequired(RedisNodesContext context) {
        if (context.tls && Boolean.getBoolean("tests.withoutTls")) {
            return false;
        }
        boolean isContainer = context.source().filter(Source.CONTAINER::equals).isPresent();
        return Boolean.getBoolean(isContainer ? "tests.requireContainers" : "tests.requireServers");
    }
}
