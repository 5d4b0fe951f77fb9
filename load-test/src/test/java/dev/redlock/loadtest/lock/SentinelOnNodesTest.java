package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Credentials;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.cli.Main;
import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RedisSentinels;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** One voter behind three real Sentinels: a primary and two replicas. Most of a test is waiting, so tests overlap. */
@Execution(ExecutionMode.CONCURRENT)
@Timeout(240)
class SentinelOnNodesTest {

    private static final Duration MAX_TTL = Duration.ofSeconds(2);
    private static final String KEY = "orders";
    private static final int LIMIT_MS = 90_000;

    private static RedisNodesContext servers() {
        return new RedisNodesContext().source(Source.PATH)
                .count(3)
                .config("repl-diskless-sync-delay 0")
                .config("min-replicas-to-write 1")
                .config("min-replicas-max-lag 2");
    }

    private static RedlockContext context(String address) {
        return new RedlockContext().nodes(address)
                .maxTtl(MAX_TTL)
                .nodeTimeout(Duration.ofSeconds(1))
                .unansweredTimeout(Duration.ofSeconds(1));
    }

    private static NodeStatus status(Redlock redlock) {
        return redlock.nodes().get(0);
    }

    private static void awaitReady(Redlock redlock) throws Exception {
        Await.until("ready: " + redlock.nodes(), LIMIT_MS, () -> status(redlock).state() == NodeState.READY);
    }

    private static void awaitServer(Redlock redlock, RedisNode server) throws Exception {
        int port = server.tlsAddress().orElse(server.address()).port();
        Await.until("connected to " + server, LIMIT_MS,
                () -> String.valueOf(status(redlock).serverAddress()).endsWith(":" + port)
                        && status(redlock).state().isConnected());
    }

    private static AcquireOutcome tryAcquire(Redlock redlock) {
        return redlock.acquireAsync(KEY, AcquireOptions.ofTtl(MAX_TTL).tryOnce()).toCompletableFuture().join();
    }

    private static boolean isLocked(Redlock redlock) {
        AcquireOutcome outcome = tryAcquire(redlock);
        if (outcome.isAcquired()) {
            outcome.lease().release();
        }
        return outcome.isAcquired();
    }

    /** The promoted server has lost the lock, as it may if the failover is no orderly one. */
    @Test
    void aFailoverIsFollowedAndTheSuccessorGrantsNoHeldLock() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(servers());
                RedisSentinels group = RedisSentinels.watch(nodes, null);
                Redlock redlock = Redlock.connect(context(group.address("")))) {
            awaitReady(redlock);
            awaitServer(redlock, nodes.node(0));
            Lease held = tryAcquire(redlock).lease();
            assertTrue(redlockJar("locks", "list", "--nodes", group.address("")).contains(KEY));
            RedisNode successor = group.failOver();
            awaitServer(redlock, successor);
            successor.call("DEL", KEY);
            assertEquals(NodeState.QUARANTINED, status(redlock).state(), () -> status(redlock).toString());
            try (Redlock late = Redlock.connect(context(group.address("")))) {
                awaitServer(late, successor);
                assertFalse(tryAcquire(late).isAcquired());
                assertFalse(tryAcquire(redlock).isAcquired());
                awaitReady(late);
                awaitReady(redlock);
                assertFalse(held.isHeld());
                Lease next = tryAcquire(late).lease();
                assertFalse(tryAcquire(redlock).isAcquired());
                next.release();
            }
            // Back to a server that this client knows, which was a replica in between.
            RedisNode third = group.failOver();
            awaitServer(redlock, third);
            awaitReady(redlock);
            tryAcquire(redlock).lease().release();
            String shown = redlockJar("nodes", "--nodes", group.address("") + "," + nodes.addresses()[1]);
            assertTrue(shown.contains(group.address("") + System.lineSeparator()), shown);
        }
    }

    /** A promoted server votes with the mark of a client that has waited, which is under the prefix of the client. */
    @Test
    void theProgramSeesThatAPromotedServerVotesForClientsWithAPrefix() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(servers());
                RedisSentinels group = RedisSentinels.watch(nodes, null);
                Redlock redlock = Redlock.connect(context(group.address("")).keyPrefix("lock:"))) {
            awaitReady(redlock);
            RedisNode successor = group.failOver();
            awaitServer(redlock, successor);
            awaitReady(redlock);
            String shown = redlockJar("nodes", "--nodes", group.address(""), "--key-prefix", "lock:");
            assertTrue(shown.contains("A quorum votes."), shown);
            String other = redlockJar("nodes", "--nodes", group.address(""));
            assertTrue(other.contains("Too few nodes vote"), other);
            assertTrue(other.contains("--key-prefix '' and "), other);
        }
    }

    private static String redlockJar(String... words) {
        StringWriter text = new StringWriter();
        PrintWriter out = new PrintWriter(text, true);
        Main.run(out, out, words);
        return text.toString();
    }

    /** Its ttl is longer than the former primary may serve. The promoted server has lost the lock. */
    @Test
    void aLeaseThatIsExtendedOutlivesAFailover() throws Exception {
        Duration ttl = Duration.ofSeconds(15);
        try (RedisNodes nodes = RequiredNodes.start(servers());
                RedisSentinels group = RedisSentinels.watch(nodes, null);
                Redlock redlock = Redlock.connect(context(group.address("")).maxTtl(ttl));
                Redlock other = Redlock.connect(context(group.address("")).maxTtl(ttl))) {
            awaitReady(redlock);
            awaitReady(other);
            awaitServer(redlock, nodes.node(0));
            Lease held = redlock.acquire(KEY, AcquireOptions.ofTtl(ttl).autoExtend()).lease();
            Object value = nodes.node(0).call("GET", KEY);
            RedisNode successor = group.failOver();
            awaitServer(redlock, successor);
            successor.call("DEL", KEY);
            Await.until("the key is at the new primary", LIMIT_MS, () -> value.equals(successor.call("GET", KEY)));
            awaitReady(other);
            awaitReady(redlock);
            assertTrue(held.isHeld());
            assertFalse(tryAcquire(other).isAcquired());
            held.release();
            assertTrue(isLocked(other));
        }
    }

    /** Workers of two clients lock while the primary stops and returns as a primary that is deposed. */
    @Test
    void locksExcludeEachOtherWhileThePrimaryIsDeposed() throws Exception {
        assertExclusionWhileReplaced(false);
    }

    @Test
    @Tag("release")
    void locksExcludeEachOtherWhileThePrimaryDies() throws Exception {
        assertExclusionWhileReplaced(true);
    }

    private static void assertExclusionWhileReplaced(boolean isKilled) throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(servers());
                RedisSentinels group = RedisSentinels.watch(nodes, null);
                Redlock one = Redlock.connect(context(group.address("")));
                Redlock two = Redlock.connect(context(group.address("")))) {
            awaitReady(one);
            awaitReady(two);
            Workers workers = new Workers(one, two);
            try {
                workers.awaitLocks(20);
                RedisNode first = nodes.node(0);
                if (isKilled) {
                    first.kill();
                } else {
                    first.pause();
                }
                RedisNode successor = group.awaitSuccessor(first);
                if (!isKilled) {
                    first.resume();
                }
                awaitServer(one, successor);
                awaitServer(two, successor);
                workers.awaitLocks(20);
            } finally {
                workers.end();
            }
            workers.assertExclusion();
        }
    }

    @Test
    void locksGoOnWithoutSentinels() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(servers());
                RedisSentinels group = RedisSentinels.watch(nodes, null);
                Redlock redlock = Redlock.connect(context(group.address("")))) {
            awaitReady(redlock);
            group.sentinels().forEach(RedisNode::kill);
            Await.until("the problem", LIMIT_MS,
                    () -> String.valueOf(status(redlock).problem()).startsWith("no Sentinel names the primary"));
            for (int i = 0; i < 100; i++) {
                tryAcquire(redlock).lease().release();
            }
            nodes.node(0).call("CLIENT", "KILL", "TYPE", "pubsub");
            Await.until("a lock over another connection", LIMIT_MS,
                    () -> status(redlock).disconnectCount() > 0 && isLocked(redlock));
            group.sentinels().get(2).start();
            Await.until("no problem of the Sentinels", LIMIT_MS,
                    () -> !String.valueOf(status(redlock).problem()).contains("Sentinel"));
        }
    }

    /** With the rights that the documentation names, and no others. */
    @Test
    void sentinelsAndServersMayHaveTlsAndUsersOfTheirOwn() throws Exception {
        assertLocksOverTls(true);
    }

    @Test
    @Tag("release")
    void sentinelsAndServersWithAddressesMayHaveTlsAndUsersOfTheirOwn() throws Exception {
        assertLocksOverTls(false);
    }

    private static void assertLocksOverTls(boolean areHostsNamed) throws Exception {
        RedisNodesContext servers = servers().tls(true)
                .config("tls-replication yes")
                .config("replica-announce-ip " + (areHostsNamed ? "localhost" : "127.0.0.1"))
                .config("requirepass s3rver")
                .config("masterauth s3rver");
        try (RedisNodes nodes = RequiredNodes.start(servers);
                RedisSentinels group = RedisSentinels.watch(nodes, "s3rver",
                        areHostsNamed
                                ? new String[]{userOfTheDocs(), RedisSentinels.RESOLVE_HOSTS,
                                    RedisSentinels.ANNOUNCE_HOSTS}
                                : new String[]{userOfTheDocs()})) {
            RedlockContext context = context(group.address(":s3rver@")).tls(nodes.tls().options())
                    .sentinelCredentials(sentinel -> Credentials.of("redlock", "w4tch".toCharArray()));
            try (Redlock redlock = Redlock.connect(context)) {
                awaitReady(redlock);
                tryAcquire(redlock).lease().release();
                RedisNode successor = group.failOver();
                awaitServer(redlock, successor);
                awaitReady(redlock);
                tryAcquire(redlock).lease().release();
                assertFalse(redlock.nodes().toString().contains("s3rver"));
                String host = areHostsNamed ? "rediss://localhost:" : "rediss://127.0.0.1:";
                assertTrue(status(redlock).serverAddress().startsWith(host), status(redlock)::serverAddress);
            }
        }
    }

    private static String userOfTheDocs() throws IOException {
        return Files.readAllLines(Path.of("../docs/guides/one-endpoint.md"))
                .stream()
                .filter(line -> line.startsWith("user redlock on >PASSWORD "))
                .findFirst()
                .orElseThrow()
                .replace("PASSWORD", "w4tch");
    }

    /** Two workers of each client, which hold a lock for a random part of its validity. */
    private static final class Workers {

        private final AtomicBoolean isEnding = new AtomicBoolean();
        private final AtomicLong lockCount = new AtomicLong();
        /** The start and the end of each holding. */
        private final List<long[]> holdings = new ArrayList<>();
        private final ExecutorService threads = Executors.newFixedThreadPool(4);
        private final List<Future<?>> running = new ArrayList<>();

        Workers(Redlock... clients) {
            for (Redlock client : clients) {
                for (int i = 0; i < 2; i++) {
                    running.add(threads.submit(() -> work(client)));
                }
            }
        }

        private Void work(Redlock client) throws InterruptedException {
            while (!isEnding.get()) {
                AcquireOutcome outcome = client.acquire(KEY,
                        AcquireOptions.ofTtl(MAX_TTL).waitUpTo(Duration.ofMillis(200)));
                if (outcome.isAcquired()) {
                    hold(outcome.lease());
                }
            }
            return null;
        }

        private void hold(Lease lease) throws InterruptedException {
            long startNs = System.nanoTime();
            long validUntilNs = startNs + lease.remainingValidityNs();
            long count = lockCount.incrementAndGet();
            // Each tenth lock is held until its validity ends.
            for (int i = 0; (count % 10 == 0 || i < 3) && lease.isHeld(); i++) {
                new CountDownLatch(1).await(1, TimeUnit.MILLISECONDS);
            }
            long endNs = System.nanoTime();
            lease.release();
            synchronized (holdings) {
                holdings.add(new long[]{startNs, endNs - validUntilNs < 0 ? endNs : validUntilNs});
            }
        }

        void assertExclusion() {
            synchronized (holdings) {
                holdings.sort(Comparator.comparingLong(holding -> holding[0]));
                for (int i = 1; i < holdings.size(); i++) {
                    assertTrue(holdings.get(i)[0] - holdings.get(i - 1)[1] >= 0, "two holders at once");
                }
            }
        }

        void awaitLocks(int more) throws Exception {
            long before = lockCount.get();
            Await.until("locks", LIMIT_MS, () -> lockCount.get() >= before + more);
        }

        void end() throws Exception {
            isEnding.set(true);
            for (Future<?> worker : running) {
                worker.get();
            }
            threads.shutdown();
            assertTrue(threads.awaitTermination(60, TimeUnit.SECONDS));
        }
    }
}
