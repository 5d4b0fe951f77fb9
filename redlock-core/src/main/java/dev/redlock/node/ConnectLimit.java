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
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Limits the connections that the servers of one cluster, or Sentinels and their primary, open at once, since a cluster
 * decides how many servers it names. Further ones wait in the order in which they asked. A look-up that timed out
 * counts until it has ended, because it occupies a thread.
 *
 * @threading event-loop-confined
 */
public final class ConnectLimit {

    /** A connect that hangs ends after a second by default. */
    static final int AT_ONCE_MAX = 64;
    /** Most connects that start in a period. Those that fail at once must not occupy the loop. */
    private static final int STARTED_MAX = 16;
    private static final long PERIOD_NS = 50 * NS_PER_MS;
    static final int LOOKUP_THREADS_MAX = 4;

    private final NodeContext context;
    /** Runs the look-ups of host names. */
    final ThreadPoolExecutor lookups;
    /** Decides which servers get connections, and so credentials. */
    final ClusterServers servers;
    private final Set<Runnable> running = new HashSet<>();
    private final Queue<Runnable> waiting = new ArrayDeque<>();
    private final DeadlineTimer timer = new DeadlineTimer(this::startNext);
    private int startedCount;
    private long periodStartNs;
    private boolean isClosed;

    public ConnectLimit(NodeContext context, String name, String introduction, List<NodeAddress> seeds) {
        this.context = context;
        this.servers = new ClusterServers(introduction, context.options().clusters().servers(), seeds);
        this.lookups = newLookups(
                task -> context.platform().transport().newThread("redlock-lookup-" + name, task));
    }

    /** Whether the user has configured a server on the host of an address. */
    public boolean isSeedHost(NodeAddress server) {
        return servers.isSeedHost(server);
    }

    /** A few threads for look-ups, each of which ends after a second without one. */
    static ThreadPoolExecutor newLookups(ThreadFactory threads) {
        ThreadPoolExecutor lookups = new ThreadPoolExecutor(LOOKUP_THREADS_MAX, LOOKUP_THREADS_MAX, 1, TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(), threads, new ThreadPoolExecutor.DiscardPolicy());
        lookups.allowCoreThreadTimeOut(true);
        return lookups;
    }

    /** Drops the look-ups that wait, and all later ones. */
    static void drop(ThreadPoolExecutor lookups) {
        lookups.getQueue().clear();
        lookups.shutdown();
    }

    /** The look-ups that have not ended. One whose thread is just starting may be missing. */
    static int pendingCount(ThreadPoolExecutor lookups) {
        return lookups.getActiveCount() + lookups.getQueue().size();
    }

    /** Starts a try, now or when the limit permits it. A node has one object for all of its tries. */
    void enter(Runnable start) {
        if (!isClosed) {
            waiting.add(start);
            startNext(context.clock().nanoTime());
        }
    }

    /** Whether a try has not started yet. */
    boolean isWaiting(Runnable start) {
        return waiting.contains(start);
    }

    /** A try has ended, or is not wanted any more. */
    void leave(Runnable start) {
        if (!running.remove(start)) {
            waiting.remove(start);
        }
    }

    /** No further try starts. */
    public void close() {
        isClosed = true;
        waiting.clear();
        context.timers().stop(timer);
        drop(lookups);
    }

    private void startNext(long nowNs) {
        if (startedCount == 0 || nowNs - periodStartNs >= PERIOD_NS) {
            periodStartNs = nowNs;
            startedCount = 0;
        }
        try {
            while (!waiting.isEmpty() && hasRoom()) {
                startedCount++;
                running.add(waiting.element());
                waiting.remove().run();
            }
        } finally {
            if (!waiting.isEmpty() && !timer.isStarted()) {
                context.timers().start(timer, nowNs + PERIOD_NS);
            }
        }
    }

    private boolean hasRoom() {
        return !isClosed && startedCount < STARTED_MAX && running.size() < AT_ONCE_MAX
                && pendingCount(lookups) < AT_ONCE_MAX;
    }
}
