package dev.redlock.loadtest.nodes;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The running groups of nodes. One shutdown hook ends them all, so that Ctrl-C or a failing test leaves no server
 * behind.
 *
 * @threading any thread
 */
final class LiveNodes {
    private static final Set<RedisNodes> LIVE = new LinkedHashSet<>();
    private static boolean isEnding;

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(LiveNodes::endAll, "redis-nodes-end"));
    }

    private LiveNodes() {
    }

    /** Fails while the JVM ends, because the hook would miss a new group. */
    static synchronized void add(RedisNodes nodes) {
        if (isEnding) {
            throw new IllegalStateException("no nodes are started: the JVM is ending");
        }
        LIVE.add(nodes);
    }

    static synchronized void remove(RedisNodes nodes) {
        LIVE.remove(nodes);
    }

    private static void endAll() {
        ending().forEach(RedisNodes::endWithJvm);
    }

    private static synchronized List<RedisNodes> ending() {
        isEnding = true;
        return List.copyOf(LIVE);
    }
}
