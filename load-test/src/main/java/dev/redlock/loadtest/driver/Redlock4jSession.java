package dev.redlock.loadtest.driver;

import dev.redlock.loadtest.nodes.NodeAddress;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;

/**
 * A manager, and with it connections, for each ttl: the library has one ttl for all of a manager's locks. A lock
 * belongs to the thread that acquired it, so each handle has a thread.
 *
 * @threading any thread
 */
final class Redlock4jSession implements LockSession {
    private static final Duration FIRST_TTL = Duration.ofSeconds(30);

    private final Redlock4jApi api;
    private final List<NodeAddress> nodes;
    private final Map<Duration, AutoCloseable> managers = new ConcurrentHashMap<>();
    private final Queue<CallerThreads> threads = new ConcurrentLinkedQueue<>();

    private Redlock4jSession(Redlock4jApi api, List<NodeAddress> nodes) {
        this.api = api;
        this.nodes = nodes;
    }

    static Redlock4jSession open(Redlock4jApi api, List<NodeAddress> nodes) throws IOException {
        for (NodeAddress node : nodes) {
            if (node.user().isPresent()) {
                throw new IOException("redlock4j has no user names, only passwords: give node " + node
                        + " without a user, or leave redlock4j out");
            }
        }
        Redlock4jSession session = new Redlock4jSession(api, nodes);
        int ready = 0;
        String problem = "none answered";
        try {
            AutoCloseable manager = api.manager(nodes, FIRST_TTL);
            session.managers.put(FIRST_TTL, manager);
            ready = api.connectedNodes(manager);
        } catch (IOException e) {
            problem = e.getMessage();
        }
        if (ready < nodes.size() / 2 + 1) {
            session.close();
            throw new IOException("only " + ready + " of " + nodes.size() + " nodes are ready: " + problem);
        }
        return session;
    }

    @Override
    public LockHandle handle(String resource, Duration ttl, LockListener listener) {
        CallerThreads thread = CallerThreads.one("redlock4j");
        threads.add(thread);
        try {
            return new Handle(api.lock(managers.computeIfAbsent(ttl, this::manager), resource), thread, listener);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private AutoCloseable manager(Duration ttl) {
        try {
            return api.manager(nodes, ttl);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        threads.forEach(CallerThreads::close);
        managers.values().forEach(manager -> {
            try {
                manager.close();
            } catch (Exception e) {
                throw new IllegalStateException("redlock4j cannot be closed: " + e.getMessage(), e);
            }
        });
    }

    /**
     * One lock. It says neither why an acquire was refused nor how a release ended: refusals are told as contention,
     * and a release as done if the lock was valid before it.
     *
     * @threading caller-confined between a call and its outcome
     */
    private final class Handle extends BlockingHandle {
        private final Lock lock;

        Handle(Lock lock, CallerThreads thread, LockListener listener) {
            super(thread, listener);
            this.lock = lock;
        }

        @Override
        AcquireVerdict tryAcquire() throws InterruptedException {
            if (!lock.tryLock(0, TimeUnit.MILLISECONDS)) {
                return AcquireVerdict.CONTENDED;
            }
            validFor(TimeUnit.MILLISECONDS.toNanos(api.validityMs(lock)));
            return AcquireVerdict.ACQUIRED;
        }

        @Override
        ReleaseVerdict tryRelease() {
            boolean isHeld = api.isHeld(lock);
            lock.unlock();
            return isHeld ? ReleaseVerdict.RELEASED : ReleaseVerdict.EXPIRED;
        }
    }
}
