package dev.redlock.loadtest.driver;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Curator's {@code InterProcessMutex} on ZooKeeper, with blocking calls. Its session is what owns locks there; the ttl
 * of a lock is the timeout of the session, so handles with another ttl have a session of their own.
 *
 * @threading any thread
 */
final class ZooKeeperSession implements LockSession {
    private static final String ROOT = "/load-test-locks/";
    private static final Duration DEFAULT_TTL = Duration.ofSeconds(30);
    private static final int CONNECT_LIMIT_MS = 2_000;
    private static final int READY_LIMIT_SECONDS = 10;
    private static final int RETRY_DELAY_MS = 20;
    private static final int RETRIES_MAX = 5;

    private final String servers;
    private final Map<Duration, Connection> connections = new ConcurrentHashMap<>();
    private final Queue<CallerThreads> threads = new ConcurrentLinkedQueue<>();
    private final AtomicInteger threadCount = new AtomicInteger();

    private ZooKeeperSession(String servers) {
        this.servers = servers;
    }

    /** @threading immutable */
    static final class Opening implements Drivers.Opener {
        @Override
        public LockSession open(SessionSpec spec) throws IOException, InterruptedException {
            ZooKeeperSession session = new ZooKeeperSession(
                    spec.nodes().stream().map(NodeAddress::toString).collect(Collectors.joining(",")));
            Majority.of(session, spec.nodes(), ZooKeeperSession::requireListening);
            if (!session.client(DEFAULT_TTL).blockUntilConnected(READY_LIMIT_SECONDS, TimeUnit.SECONDS)) {
                session.close();
                throw new IOException("there is no session after " + READY_LIMIT_SECONDS + " s");
            }
            return session;
        }
    }

    private static void requireListening(NodeAddress address) throws IOException {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(address.host(), address.port()), CONNECT_LIMIT_MS);
        }
    }

    private Connection connection(Duration ttl) {
        return connections.computeIfAbsent(ttl, timeout -> new Connection(servers, timeout));
    }

    @Override
    public LockHandle handle(LockSpec spec, LockListener listener) {
        return new Handle(spec, connection(spec.ttl()), thread(), listener);
    }

    /** Curator's locks belong to threads, so each handle keeps to one. */
    private CallerThreads thread() {
        if (threadCount.incrementAndGet() > CallerThreads.THREADS_MAX) {
            throw new IllegalStateException("a client of zookeeper carries at most " + CallerThreads.THREADS_MAX
                    + " handles, each with a thread of its own: ask for fewer in flight or fewer keys");
        }
        CallerThreads own = CallerThreads.one("zookeeper");
        threads.add(own);
        return own;
    }

    /** The library's client for locks with this ttl. */
    CuratorFramework client(Duration ttl) {
        return connection(ttl).client;
    }

    /** The sessions of this client, and those of them that have expired. */
    @Override
    public Map<String, Long> counters() {
        long expired = connections.values().stream().mapToLong(connection -> connection.lostCount.get()).sum();
        return Map.of("zookeeperSessions", (long) connections.size(), "zookeeperSessionsExpired", expired);
    }

    /** Ends the sessions, which deletes every lock that is still held. */
    @Override
    public void close() {
        threads.forEach(CallerThreads::close);
        connections.values().forEach(connection -> connection.client.close());
    }

    /**
     * A connected client of Curator, which counts the sessions that have expired.
     *
     * @threading any thread
     */
    private static final class Connection {
        private final CuratorFramework client;
        private final AtomicInteger lostCount = new AtomicInteger();

        Connection(String servers, Duration timeout) {
            client = CuratorFrameworkFactory.builder()
                    .connectString(servers)
                    .sessionTimeoutMs((int) timeout.toMillis())
                    .connectionTimeoutMs(CONNECT_LIMIT_MS)
                    .retryPolicy(new ExponentialBackoffRetry(RETRY_DELAY_MS, RETRIES_MAX))
                    .build();
            client.getConnectionStateListenable().addListener((own, state) -> {
                if (state == ConnectionState.LOST) {
                    lostCount.incrementAndGet();
                }
            });
            client.start();
        }
    }

    /** @threading caller-confined between a call and its outcome */
    private static final class Handle extends BlockingHandle {
        private final LockSpec spec;
        private final Connection connection;
        private final InterProcessMutex mutex;
        private int lostBefore;

        Handle(LockSpec spec, Connection connection, CallerThreads thread, LockListener listener) {
            super(thread, listener);
            this.spec = spec;
            this.connection = connection;
            this.mutex = new InterProcessMutex(connection.client,
                    ROOT + URLEncoder.encode(spec.resource(), StandardCharsets.UTF_8));
        }

        @Override
        AcquireOutcome.Kind tryAcquire() throws InterruptedException {
            long startNs = System.nanoTime();
            lostBefore = connection.lostCount.get();
            try {
                if (!mutex.acquire(spec.waitBudget().toMillis(), TimeUnit.MILLISECONDS)) {
                    return spec.waitBudget().isZero() ? AcquireOutcome.Kind.CONTENDED : AcquireOutcome.Kind.TIMED_OUT;
                }
                validUntil(startNs, spec.ttl());
                return AcquireOutcome.Kind.ACQUIRED;
            } catch (InterruptedException e) {
                throw e;
            } catch (Exception e) {
                // The library declares no narrower type.
                return AcquireOutcome.Kind.NO_QUORUM;
            }
        }

        @Override
        ReleaseOutcome tryRelease() {
            try {
                mutex.release();
                return connection.lostCount.get() == lostBefore ? ReleaseOutcome.RELEASED : ReleaseOutcome.EXPIRED;
            } catch (Exception e) {
                // As above. The library deletes the lock later, in the background.
                return ReleaseOutcome.UNKNOWN;
            }
        }
    }
}
