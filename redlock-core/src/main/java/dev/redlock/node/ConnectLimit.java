package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.time.DeadlineTimer;
import dev.redlock.transport.ClusterServers;
import dev.redlock.transport.NodeAddress;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;

/**
 * Limits the connections that the servers of one cluster open at once, since a cluster decides how many servers it
 * names. Further ones wait in the order in which they asked. A look-up that timed out counts until it has ended,
 * because it occupies a thread.
 *
 * @threading event-loop-confined
 */
final class ConnectLimit {

    /** A connect that hangs ends after a second by default. */
    static final int AT_ONCE_MAX = 64;
    /** Most connects that start in a period. Those that fail at once must not occupy the loop. */
    private static final int STARTED_MAX = 16;
    private static final long PERIOD_NS = 50 * NS_PER_MS;

    private final NodeContext context;
    private final LookupThreads lookups;
    private final ClusterServers servers;
    private final Set<Runnable> running = new HashSet<>();
    private final Queue<Runnable> waiting = new ArrayDeque<>();
    private final DeadlineTimer timer = new DeadlineTimer(nowNs -> startNext());
    private int startedCount;
    private long periodStartNs;
    private boolean isClosed;

    ConnectLimit(NodeContext context, String name, List<NodeAddress> seeds) {
        this.context = context;
        this.servers = new ClusterServers(context.options().clusters().servers(), seeds);
        this.lookups = new LookupThreads(
                task -> context.platform().transport().newThread("redlock-lookup-" + name, task));
    }

    /** Runs the look-ups of host names. */
    LookupThreads lookups() {
        return lookups;
    }

    /** Decides which servers get connections, and so credentials. */
    ClusterServers servers() {
        return servers;
    }

    /** Starts a try, now or when the limit permits it. A node has one object for all of its tries. */
    void enter(Runnable start) {
        if (!isClosed) {
            waiting.add(start);
            startNext();
        }
    }

    /** A try has ended, or is not wanted any more. */
    void leave(Runnable start) {
        if (!running.remove(start)) {
            waiting.remove(start);
        }
    }

    /** No further try starts. */
    void close() {
        isClosed = true;
        waiting.clear();
        context.timers().stop(timer);
        lookups.close();
    }

    private void startNext() {
        long nowNs = context.clock().nanoTime();
        if (startedCount == 0 || nowNs - periodStartNs >= PERIOD_NS) {
            periodStartNs = nowNs;
            startedCount = 0;
        }
        while (!waiting.isEmpty() && hasRoom()) {
            startedCount++;
            Runnable next = waiting.remove();
            running.add(next);
            next.run();
        }
        if (!waiting.isEmpty() && !timer.isStarted()) {
            context.timers().start(timer, nowNs + PERIOD_NS);
        }
    }

    private boolean hasRoom() {
        return !isClosed && startedCount < STARTED_MAX && running.size() < AT_ONCE_MAX
                && lookups.pendingCount() < AT_ONCE_MAX;
    }
}
