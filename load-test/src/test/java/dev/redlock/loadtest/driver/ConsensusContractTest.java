package dev.redlock.loadtest.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.loadtest.Await;
import dev.redlock.loadtest.consensus.ConsensusServers;
import dev.redlock.loadtest.consensus.RequiredServices;
import dev.redlock.loadtest.driver.EtcdSession.EtcdLease;
import dev.redlock.loadtest.rig.LoadPlan;
import dev.redlock.loadtest.rig.LoadResult;
import dev.redlock.loadtest.rig.LoadTestRig;
import dev.redlock.transport.NodeAddress;
import io.etcd.jetcd.common.exception.ErrorCode;
import io.etcd.jetcd.common.exception.EtcdExceptionFactory;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** What the drivers of consensus services have to do on real servers: {@link DriverContractTest} without Redis. */
class ConsensusContractTest {
    private static final Duration TTL = Duration.ofSeconds(30);
    private static final Duration LIMIT = Duration.ofSeconds(20);

    @Nested
    class Etcd extends OnThreeServers {
        Etcd() {
            super("etcd", "etcdLeases");
        }

        @Test
        void leaseEndsWhenTheServersOrTheLibraryGiveItUpAndNotWithItsConnection() {
            EtcdLease lease = new EtcdLease(null, 1);
            lease.onError(EtcdExceptionFactory.newEtcdException(ErrorCode.UNAVAILABLE, "connection closed"));
            assertTrue(lease.isAlive());
            lease.onError(EtcdExceptionFactory.newEtcdException(ErrorCode.NOT_FOUND, "lease not found"));
            assertFalse(lease.isAlive());
            EtcdLease late = new EtcdLease(null, 2);
            late.onCompleted();
            assertFalse(late.isAlive());
        }
    }

    @Nested
    class CuratorOnZooKeeper extends OnThreeServers {
        CuratorOnZooKeeper() {
            super("zookeeper", "zookeeperSessions");
        }

        @Test
        void lockOfAnExpiredSessionIsReleasedAsExpired() throws Exception {
            try (LockSession session = open()) {
                BlockingLock lock = new BlockingLock(session, freshResource(), TTL, LIMIT);
                assertEquals(AcquireOutcome.Kind.ACQUIRED, lock.acquire());
                ZooKeeper own = ((ZooKeeperSession) session).client(TTL).getZookeeperClient().getZooKeeper();
                endFromAnotherConnection(servers().addresses().get(0).toString(), own);
                Await.until("an expired session", () -> session.counters().get("zookeeperSessionsExpired") == 1);
                assertEquals(ReleaseOutcome.EXPIRED, lock.release());
                assertEquals(AcquireOutcome.Kind.ACQUIRED, lock.acquire(), "in a new session");
                assertEquals(ReleaseOutcome.RELEASED, lock.release());
            }
        }
    }

    /** A session that another connection closes is over for its owner too. */
    private static void endFromAnotherConnection(String servers, ZooKeeper own) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper other = new ZooKeeper(servers, (int) TTL.toMillis(), event -> {
            if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
            }
        }, own.getSessionId(), own.getSessionPasswd());
        // Before that, close would not reach the servers.
        assertTrue(connected.await(LIMIT.toSeconds(), TimeUnit.SECONDS));
        other.close();
    }

    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    abstract static class OnThreeServers {
        private final LockDriver driver;
        private final String sessionCounter;
        private ConsensusServers servers;
        private int resourceCount;

        OnThreeServers(String driver, String sessionCounter) {
            this.driver = Drivers.named(driver);
            this.sessionCounter = sessionCounter;
        }

        @BeforeAll
        void start() throws Exception {
            servers = RequiredServices.start(driver.service().orElseThrow(), 3);
        }

        @AfterAll
        void stop() {
            if (servers != null) {
                servers.close();
            }
        }

        final ConsensusServers servers() {
            return servers;
        }

        final LockSession open() throws IOException, InterruptedException {
            return driver.open(SessionSpec.of(servers.addresses(), true));
        }

        final String freshResource() {
            return driver.name() + "/" + resourceCount++;
        }

        private static BlockingLock waiting(LockSession session, String resource, Duration budget) {
            return new BlockingLock(session, new LockSpec(resource, TTL, budget, false, true), LIMIT);
        }

        @Test
        void excludesAndReleases() throws Exception {
            try (LockSession one = open(); LockSession two = open()) {
                String resource = freshResource();
                BlockingLock ours = new BlockingLock(one, resource, TTL, LIMIT);
                BlockingLock theirs = new BlockingLock(two, resource, TTL, LIMIT);
                BlockingLock neighbour = new BlockingLock(one, resource, TTL, LIMIT);
                assertEquals(AcquireOutcome.Kind.ACQUIRED, ours.acquire());
                assertEquals(AcquireOutcome.Kind.CONTENDED, theirs.acquire());
                assertEquals(AcquireOutcome.Kind.CONTENDED, neighbour.acquire());
                assertEquals(ReleaseOutcome.RELEASED, ours.release());
                assertEquals(AcquireOutcome.Kind.ACQUIRED, theirs.acquire());
                assertEquals(ReleaseOutcome.RELEASED, theirs.release());
            }
        }

        @Test
        void waiterIsQueuedByTheServersAndGetsTheLock() throws Exception {
            assertEquals(Set.of(DriverOption.WAIT), driver.options());
            try (LockSession one = open(); LockSession two = open()) {
                String resource = freshResource();
                BlockingLock ours = new BlockingLock(one, resource, TTL, LIMIT);
                BlockingLock theirs = waiting(two, resource, Duration.ofSeconds(15));
                assertEquals(AcquireOutcome.Kind.ACQUIRED, ours.acquire());
                CompletableFuture<AcquireOutcome.Kind> waiter = CompletableFuture.supplyAsync(() -> acquire(theirs));
                assertEquals(ReleaseOutcome.RELEASED, ours.release());
                assertEquals(AcquireOutcome.Kind.ACQUIRED, waiter.get(LIMIT.toSeconds(), TimeUnit.SECONDS));
                assertEquals(ReleaseOutcome.RELEASED, theirs.release());
            }
        }

        private static AcquireOutcome.Kind acquire(BlockingLock lock) {
            try {
                return lock.acquire();
            } catch (Exception e) {
                throw new CompletionException(e);
            }
        }

        @Test
        void waiterThatTimesOutLeavesTheQueue() throws Exception {
            try (LockSession one = open(); LockSession two = open(); LockSession three = open()) {
                String resource = freshResource();
                BlockingLock ours = new BlockingLock(one, resource, TTL, LIMIT);
                BlockingLock theirs = waiting(two, resource, Duration.ofMillis(300));
                BlockingLock last = new BlockingLock(three, resource, TTL, LIMIT);
                assertEquals(AcquireOutcome.Kind.ACQUIRED, ours.acquire());
                assertEquals(AcquireOutcome.Kind.TIMED_OUT, theirs.acquire());
                assertEquals(ReleaseOutcome.RELEASED, ours.release());
                assertEquals(AcquireOutcome.Kind.ACQUIRED, last.acquire());
                assertEquals(ReleaseOutcome.RELEASED, last.release());
                assertEquals(AcquireOutcome.Kind.ACQUIRED, theirs.acquire());
                assertEquals(AcquireOutcome.Kind.CONTENDED, last.acquire());
                assertEquals(ReleaseOutcome.RELEASED, theirs.release());
            }
        }

        @Test
        void rivalsOnOneResourceNeverOverlap() throws Exception {
            try (LockSession one = open(); LockSession two = open()) {
                LoadPlan plan = LoadPlan.closed(4)
                        .resources(2)
                        .hold(Duration.ofMillis(1))
                        .duration(Duration.ofMillis(800))
                        .ttl(TTL)
                        .keyPrefix(freshResource());
                LoadResult result = new LoadTestRig(plan, List.of(one, two)).run((elapsedNs, isMeasuring) -> {
                });
                assertEquals(List.of(), result.failures());
                assertTrue(result.tally().holdings() > 5, result::toString);
            }
        }

        @Test
        void oneLeaseOwnsAllLocksOfAClient() throws Exception {
            try (LockSession session = open()) {
                for (int i = 0; i < 5; i++) {
                    BlockingLock lock = new BlockingLock(session, freshResource(), TTL, LIMIT);
                    assertEquals(AcquireOutcome.Kind.ACQUIRED, lock.acquire());
                    assertEquals(ReleaseOutcome.RELEASED, lock.release());
                }
                assertEquals(1, session.counters().get(sessionCounter));
            }
        }

        @Test
        void endOfAClientFreesItsLocks() throws Exception {
            String resource = freshResource();
            try (LockSession two = open()) {
                try (LockSession one = open()) {
                    assertEquals(AcquireOutcome.Kind.ACQUIRED, new BlockingLock(one, resource, TTL, LIMIT).acquire());
                }
                BlockingLock theirs = waiting(two, resource, Duration.ofSeconds(15));
                assertEquals(AcquireOutcome.Kind.ACQUIRED, theirs.acquire());
                assertEquals(ReleaseOutcome.RELEASED, theirs.release());
            }
        }

        @Test
        void reportsItsVersion() {
            assertTrue(driver.version().matches("(jetcd|Curator) [0-9]+\\.[0-9]+\\.[0-9]+"), driver::version);
        }

        /** Kept away from the others' servers. */
        @Test
        void oneOfThreeServersDown() throws Exception {
            try (ConsensusServers own = RequiredServices.start(driver.service().orElseThrow(), 3);
                    LockSession early = driver.open(SessionSpec.of(own.addresses(), true))) {
                own.kill(2);
                awaitCycle(early, "early");
                try (LockSession late = driver.open(SessionSpec.of(own.addresses(), true))) {
                    awaitCycle(late, "late");
                }
            }
        }

        /** The killed server may have been the leader: until there is another one, attempts fail. */
        private void awaitCycle(LockSession session, String resource) throws Exception {
            BlockingLock lock = new BlockingLock(session, resource, TTL, LIMIT);
            Await.until("an acquire of the " + resource + " client",
                    () -> lock.acquire() == AcquireOutcome.Kind.ACQUIRED);
            assertEquals(ReleaseOutcome.RELEASED, lock.release());
        }

        @Test
        void majorityDownIsAnErrorOfOpen() throws Exception {
            NodeAddress nobody = NodeAddress.parse("127.0.0.1:1");
            List<NodeAddress> addresses = List.of(nobody, NodeAddress.parse("127.0.0.1:2"), servers.addresses().get(0));
            IOException failure = assertThrows(IOException.class, () -> driver.open(SessionSpec.of(addresses, true)));
            assertTrue(failure.getMessage().startsWith("only 1 of 3 nodes are ready"), failure::getMessage);
        }
    }
}
