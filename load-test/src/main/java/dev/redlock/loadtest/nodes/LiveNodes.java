package dev.redlock.loadtest.nodes;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The groups that run now; one shutdown hook ends them all, so that Ctrl-C or a failing test leaves no server behind.
 *
 * @threading any thread
 */
final class LiveNodes {
    private static final Set<RedisNodes> LIVE = ConcurrentHashMap.newKeySet();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(LiveNodes::endAll, "redis-nodes-end"));
    }

    private LiveNodes() {
    }

    static void add(RedisNodes nodes) {
        LIVE.add(nodes);
    }

    static void remove(RedisNodes nodes) {
        LIVE.remove(nodes);
    }

    private static void endAll() {
        LIVE.forEach(RedisNodes::close);
    }
}
