package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.cli.AdminClient;
import dev.redlock.node.cluster.DeposedMaster;
import dev.redlock.testing.Await;
import dev.redlock.trial.nodes.Data;
import dev.redlock.trial.nodes.FreePorts;
import dev.redlock.trial.nodes.RedisCluster;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * A real cluster with a replica as one voter of three: slots move under load, masters end and replicas take over. Most
 * of the time passes in silences, so tests overlap.
 */
@Timeout(120)
@Execution(ExecutionMode.CONCURRENT)
class ClustersOnNodesTest {

    private static final int MASTERS = 3;
    private static final int NODE_TIMEOUT_MS = 1_500;
    private static final Duration TTL = Duration.ofSeconds(1);
    private static final Duration MAX_TTL = Duration.ofSeconds(1);
    /** Some commands fit into it, also on a busy machine. */
    private static final Duration LONG_TTL = Duration.ofSeconds(6);

    private RedisNodes single;
    private RedisNodes nodes;
    private RedisCluster cluster;
    private RedisNode replica;
    private final List<Redlock> clients = new ArrayList<>();

    @BeforeEach
    void start() {
        single = RequiredNodes.start(Source.PATH, 2);
        nodes = RequiredNodes.start(RedisCluster.enabled(
                new RedisNodesContext().source(Source.PATH).count(MASTERS + 1), NODE_TIMEOUT_MS));
        cluster = RedisCluster.form(nodes.nodes(), MASTERS);
        replica = nodes.node(MASTERS);
        cluster.replicate(replica, nodes.node(0));
    }

    @AfterEach
    void stop() {
        clients.forEach(Redlock::close);
        if (nodes != null) {
            nodes.close();
        }
        if (single != null) {
            single.close();
        }
    }

    private Redlock client() {
        return client(MAX_TTL);
    }

    private Redlock client(Duration maxTtl) {
        Redlock client = Redlock.connect(new RedlockContext().nodes(single.addresses())
                .nodes(cluster.address())
                .maxTtl(maxTtl)
                .unansweredTimeout(Duration.ofSeconds(1))
                .clockSampleInterval(Duration.ofMillis(500))
                .nodeTimeout(Duration.ofMillis(500))
                .restartGuard(RestartGuardMode.OFF));
        clients.add(client);
        Await.until(() -> "all masters ready: " + client.nodes(), () -> client.nodes().size() == 2 + MASTERS
                && client.nodes().stream().allMatch(node -> node.state() == NodeState.READY));
        return client;
    }

    private static Lease acquire(Redlock client, String resource) throws InterruptedException {
        return acquire(client, resource, TTL);
    }

    private static Lease acquire(Redlock client, String resource, Duration ttl) throws InterruptedException {
        AcquireOutcome outcome = client.acquire(resource, AcquireOptions.ofTtl(ttl).tryOnce());
        assertTrue(outcome.isAcquired(), () -> resource + ": " + outcome);
        return outcome.lease();
    }

    /** A resource whose slot is owned by a master. */
    private String resourceOf(RedisNode owner) {
        for (int i = 0;; i++) {
            if (cluster.ownerOf("resource-" + i) == owner) {
                return "resource-" + i;
            }
        }
    }

    @Test
    void locksStayAvailableWhileSlotsMoveUnderLoad() throws InterruptedException {
        Redlock client = client();
        RedisNode from = nodes.node(0);
        RedisNode to = nodes.node(1);
        String tagged = resourceOf(from);
        int slot = RedisCluster.slotOf(tagged);
        AtomicBoolean isOver = new AtomicBoolean();
        AtomicInteger acquiredCount = new AtomicInteger();
        List<String> failures = new ArrayList<>();
        Thread load = new Thread(() -> {
            for (int i = 0; !isOver.get(); i++) {
                try {
                    Lease lease = acquire(client, "{" + tagged + "}" + i % 50);
                    acquiredCount.incrementAndGet();
                    ReleaseOutcome released = lease.release();
                    if (released != ReleaseOutcome.RELEASED) {
                        failures.add("release: " + released);
                    }
                } catch (InterruptedException | AssertionError e) {
                    failures.add(String.valueOf(e.getMessage()));
                }
            }
        });
        load.start();
        awaitCount(acquiredCount, 500);
        cluster.startMove(slot, from, to);
        awaitCount(acquiredCount, 500);
        cluster.moveKeys(slot, from, to);
        awaitCount(acquiredCount, 500);
        cluster.moveKeys(slot, from, to);
        cluster.endMove(slot, from, to);
        awaitCount(acquiredCount, 500);
        isOver.set(true);
        load.join();
        assertEquals(List.of(), failures);
        for (int i = 0; i < 50; i++) {
            assertNull(to.call("GET", "{" + tagged + "}" + i), "no key is left at the new owner");
        }
    }

    private static void awaitCount(AtomicInteger count, int more) {
        int wanted = count.get() + more;
        Await.until(() -> count + " of " + wanted, () -> count.get() >= wanted);
    }

    @Test
    void aMovedSlotVotesAgainAfterItsSilence() throws Exception {
        Redlock client = client();
        String resource = resourceOf(nodes.node(0));
        cluster.move(RedisCluster.slotOf(resource), nodes.node(0), nodes.node(1));
        acquire(client, resource).release();
        assertNull(nodes.node(1).call("GET", resource));
        long startNs = System.nanoTime();
        try (AdminClient owner = nodes.node(1).connect()) {
            Await.until(() -> "a key at the new owner", () -> isSet(client, resource, owner));
        }
        long silentMs = (System.nanoTime() - startNs) / 1_000_000;
        assertTrue(silentMs > MAX_TTL.toMillis() + DeposedMaster.servedMsMax(NODE_TIMEOUT_MS) - 1_000,
                silentMs + " ms of silence");
    }

    private static boolean isSet(Redlock client, String resource, AdminClient owner) {
        try {
            Lease lease = acquire(client, resource);
            boolean isSet = owner.call("GET", resource) != null;
            lease.release();
            return isSet;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return true;
        }
    }

    @Test
    void aReplicaTakesOverFromALostMaster() throws InterruptedException {
        Redlock client = client();
        String resource = resourceOf(nodes.node(0));
        Lease lease = acquire(client, resource);
        nodes.node(0).kill();
        assertEquals(ReleaseOutcome.RELEASED, lease.release());
        Await.until(() -> "promoted: " + replica.call("ROLE"), () -> cluster.ownerOf(resource) == replica);
        acquire(client, resource).release();
        Await.until(() -> "the replica votes: " + client.nodes(), () -> client.nodes()
                .stream()
                .anyMatch(node -> node.address().endsWith(":" + replica.address().port())
                        && node.state() == NodeState.READY));
        acquire(client, resource).release();
    }

    @Test
    void aPromotionThatLosesALockGivesNoSecondHolder() throws InterruptedException {
        Redlock client = client(LONG_TTL);
        Redlock other = client(LONG_TTL);
        String resource = resourceOf(nodes.node(0));
        Lease lease = acquireWithoutFirstNode(client, other, resource);
        // The replica has not got the key.
        nodes.node(0).call("DEL", resource);
        cluster.promote(replica, true);
        assertNoSecondHolder(other, resource, lease);
    }

    @Test
    void anAbortedMigrationGivesNoSecondHolder() throws InterruptedException {
        Redlock client = client(LONG_TTL);
        Redlock other = client(LONG_TTL);
        String resource = resourceOf(nodes.node(0));
        int slot = RedisCluster.slotOf(resource);
        Lease lease = acquireWithoutFirstNode(client, other, resource);
        cluster.startMove(slot, nodes.node(0), nodes.node(1));
        cluster.moveKeys(slot, nodes.node(0), nodes.node(1));
        assertFalse(other.acquire(resource, AcquireOptions.ofTtl(TTL).tryOnce()).isAcquired(), "the client meets ASK");
        cluster.abortMove(slot, nodes.node(0), nodes.node(1));
        assertNoSecondHolder(other, resource, lease);
    }

    /** The lock has the votes of the cluster and of one more voter; the third one is free. */
    private Lease acquireWithoutFirstNode(Redlock client, Redlock other, String resource) throws InterruptedException {
        single.node(0).kill();
        Lease lease = acquire(client, resource, LONG_TTL);
        single.node(0).restart(Data.LOST);
        Await.until(() -> "reconnected: " + other.nodes(),
                () -> other.nodes().get(0).state() == NodeState.READY);
        return lease;
    }

    private static void assertNoSecondHolder(Redlock other, String resource, Lease lease) throws InterruptedException {
        assertTrue(lease.isHeld());
        while (lease.isHeld()) {
            AcquireOutcome outcome = other.acquire(resource, AcquireOptions.ofTtl(TTL).tryOnce());
            assertFalse(outcome.isAcquired() && lease.isHeld(), () -> "two holders: " + outcome);
        }
    }

    @Test
    void aMasterThatChangesItsPortVotesAgain() throws Exception {
        Redlock client = client();
        RedisNode moved = nodes.node(0);
        String resource = resourceOf(moved);
        int port = FreePorts.next();
        try (AdminClient admin = moved.connect()) {
            admin.call("CONFIG", "SET", "port", Integer.toString(port));
            admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
            Await.until(() -> "connected to port " + port + ": " + client.nodes(), () -> client.nodes()
                    .stream()
                    .anyMatch(node -> node.address().endsWith(":" + port) && node.state() == NodeState.READY));
            Await.until(() -> "a key at the new port", () -> isSet(client, resource, admin));
        }
    }

    @Test
    void aClusterThatIsDownIsOneFailedVote() throws InterruptedException {
        Redlock client = client();
        String resource = resourceOf(nodes.node(1));
        nodes.node(1).kill();
        nodes.node(2).kill();
        acquire(client, resource).release();
        acquire(client, resourceOfRunning()).release();
        single.node(0).kill();
        assertFalse(client.acquire(resource, AcquireOptions.ofTtl(TTL).tryOnce()).isAcquired());
    }

    private String resourceOfRunning() {
        return resourceOf(nodes.node(0));
    }
}
