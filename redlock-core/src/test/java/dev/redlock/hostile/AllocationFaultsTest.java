package dev.redlock.hostile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.CommandMode;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.FakeTransport;
import dev.redlock.sim.LiveNodes;
import dev.redlock.sim.ScarceAllocator;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Await;
import dev.redlock.testing.VirtualTest;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * All parts of a process share its direct memory: a client works with less of it, and fully once it is available again.
 */
class AllocationFaultsTest extends VirtualTest {

    /**
     * Netty logs exceptions of in-process channels that real sockets would not throw. A field, because a logger without
     * references loses its level.
     */
    private static final Logger NETTY = Logger.getLogger("io.netty");

    private final ScarceAllocator allocator = new ScarceAllocator();
    private VirtualWorld.Client client;
    private int allocationsBefore;

    @BeforeAll
    static void quietNetty() {
        NETTY.setLevel(Level.OFF);
    }

    @AfterAll
    static void restoreNetty() {
        NETTY.setLevel(null);
    }

    /** The cleaner of a JDK that a framework has changed may throw. */
    @Test
    void aCloseEndsAlthoughNoMemoryCanBeReleased() {
        world = new VirtualWorld(3);
        client = client(context(), allocator);
        assertEquals(ReleaseOutcome.RELEASED, release(lease(client)));
        world.runMs(10);
        allocator.failFree(true);
        List<String> logged = exceptionsLoggedBy(() -> {
            CompletableFuture<CloseReport> report = client.engine().close(Duration.ofSeconds(1));
            world.await("closed", 2_000, report::isDone);
            allocator.failFree(false);
            assertEquals(List.of(), get(report).unreleased());
        });
        assertTrue(logged.stream().anyMatch(line -> line.contains("cannot be released")), logged::toString);
    }

    /** The exceptions of the allocator. */
    enum Thrown {
        OUT_OF_MEMORY {
            @Override
            Throwable make() {
                return new OutOfMemoryError("direct memory is used up, thrown by a test");
            }
        },
        BUG {
            @Override
            Throwable make() {
                return new IllegalStateException("a bug of the allocator, thrown by a test");
            }
        };

        abstract Throwable make();
    }

    private void scarceWorld(CommandMode commands) {
        world = new VirtualWorld(3);
        client = client(context().commands(commands).restartGuard(RestartGuardMode.OFF), allocator);
    }

    private void assertReady() {
        world.await("all nodes are ready", 5_000, () -> client.redlock()
                .nodes()
                .stream()
                .allMatch(node -> node.state() == NodeState.READY));
    }

    /** A clock sample is due every second. */
    @ParameterizedTest
    @EnumSource(Thrown.class)
    void aClockJumpIsDetectedAfterFailedAllocations(Thrown thrown) {
        scarceWorld(CommandMode.AUTO);
        allocator.thrown(thrown::make);
        allocator.exhausted(true);
        world.runMs(3_000);
        allocator.exhausted(false);
        node(0).redis().clockJump(3_600_000);
        world.runMs(2_500);
        assertEquals(1, status(client, 0).clockJumpCount());
        assertEquals(NodeState.QUARANTINED, status(client, 0).state());
    }

    /** Otherwise a client with an allocated batch would keep locking without a clock watch. */
    @Test
    void aClockJumpIsDetectedWhileAllocationsFail() {
        scarceWorld(CommandMode.AUTO);
        allocator.exhausted(true);
        world.runMs(5_000);
        node(0).redis().clockJump(3_600_000);
        world.runMs(2_500);
        assertEquals(1, status(client, 0).clockJumpCount());
    }

    @ParameterizedTest
    @EnumSource(Thrown.class)
    void aSilentNodeIsDetectedAfterFailedAllocations(Thrown thrown) {
        scarceWorld(CommandMode.AUTO);
        allocator.thrown(thrown::make);
        allocator.exhausted(true);
        world.runMs(3_000);
        allocator.exhausted(false);
        node(0).pause();
        world.runMs(5_000);
        assertTrue(status(client, 0).state() != NodeState.READY, () -> status(client, 0).toString());
        node(0).resume();
    }

    /**
     * The scenario has every action of a client on a node: connect, lock, extend, NOSCRIPT, release, reconnect, send
     * undelivered releases, read the clock. Each of the allocations fails in one run, with the same end.
     */
    @ParameterizedTest
    @EnumSource(Thrown.class)
    void oneFailedAllocationAnywhereBlocksAndLosesNothing(Thrown thrown) {
        int number = 0;
        do {
            int failing = number;
            runScenarioWithout(thrown, CommandMode.SCRIPTS, asked -> asked == failing, "allocation " + failing);
            // The client catches both in the same places, so one of them tries every allocation.
            number += thrown == Thrown.OUT_OF_MEMORY ? 1 : 3;
        } while (allocator.askedCount() - allocationsBefore > number);
        assertTrue(number > 20, number + " allocations of the scenario were made to fail");
    }

    /** As above with consecutive failures: a second failure must not worsen the effect of the first. */
    @ParameterizedTest
    @EnumSource(CommandMode.class)
    void consecutiveFailedAllocationsBlockAndLoseNothing(CommandMode commands) {
        for (int first = 0; first < 60; first += 6) {
            int from = first;
            runScenarioWithout(Thrown.OUT_OF_MEMORY, commands, asked -> asked >= from && asked < from + 15,
                    "allocations from " + from + " on");
        }
    }

    private void runScenarioWithout(Thrown thrown, CommandMode commands, IntPredicate failing,
            String what) {
        allocator.thrown(thrown::make);
        allocationsBefore = allocator.askedCount();
        allocator.failIf(asked -> failing.test(asked - allocationsBefore));
        scarceWorld(commands);
        List<CompletableFuture<?>> all = new ArrayList<>();
        for (int round = 0; round < 3; round++) {
            runRound(round, all);
        }
        world.runMs(5_000);
        all.forEach(future -> assertTrue(future.isDone(), () -> what + ": a caller has no outcome: " + all));
        assertReady();
        assertEquals(0, client.engine().claimsOut(), () -> what + ": claims with pending replies");
        assertEquals(0, keyCount(), () -> what + ": a key with a ttl of 60 s is left, so its release was lost");
        node(0).redis().clockJump(3_600_000);
        world.runMs(2_500);
        assertEquals(1, status(client, 0).clockJumpCount(), () -> what + ": the clock is not watched");
        client.engine().close(Duration.ofMillis(100));
        world.runMs(200);
        world.end();
    }

    private void runRound(int round, List<CompletableFuture<?>> all) {
        CompletableFuture<AcquireOutcome> acquired = client.redlock()
                .acquireAsync("orders", AcquireOptions.ofTtl(Duration.ofSeconds(60)).tryOnce())
                .toCompletableFuture();
        all.add(acquired);
        world.runMs(100);
        if (round == 1) {
            eachNode(node -> node.redis().flushScripts());
        }
        AcquireOutcome outcome = acquired.join();
        if (outcome.isAcquired()) {
            all.add(outcome.lease().extendAsync(Duration.ofSeconds(60)).toCompletableFuture());
            world.runMs(100);
            eachNode(node -> node.redis().flushScripts());
            if (round == 2) {
                node(2).breakConnections();
                world.settle();
            }
            all.add(outcome.lease().releaseAsync().toCompletableFuture());
        }
        world.runMs(100);
        node(round).breakConnections();
        world.runMs(1_500);
    }

    /** A given event loop may end before the client; no other object refers to the buffers of its conductor. */
    @Test
    void aLoopThatEndsBeforeItsClientFreesItsBuffers() throws Exception {
        try (LiveNodes nodes = new LiveNodes(1)) {
            UnpooledByteBufAllocator counted = new UnpooledByteBufAllocator(true);
            FakeTransport transport = nodes.newTransport();
            transport.allocator(counted);
            TestClient engine = new TestClient(new RedlockContext().nodes(nodes.addresses()), nodes.clientLoop(),
                    transport, System::nanoTime, 1);
            engine.open().join();
            engine.redlock().tryAcquire("orders", TTL);
            assertTrue(counted.metric().usedDirectMemory() > 0, "the batch is allocated");
            nodes.clientLoop().shutdownGracefully(0, 0, TimeUnit.SECONDS).sync();
            engine.redlock().close();
            Await.until("released", () -> counted.metric().usedDirectMemory() == 0);
        }
    }

    /** The release is retained for a disconnected node even if its first allocation fails. */
    @Test
    void anUndeliveredReleaseSurvivesFailedAllocations() {
        scarceWorld(CommandMode.SCRIPTS);
        Lease lease = acquired(acquire(client, AcquireOptions.ofTtl(Duration.ofSeconds(60)).tryOnce()));
        world.runMs(5);
        allocator.exhausted(true);
        node(0).breakConnections();
        world.settle();
        release(lease);
        world.runMs(2_000);
        assertNotNull(key(0), "precondition: the release is undelivered");
        assertEquals(1, status(client, 0).undeliveredReleaseCount());
        allocator.exhausted(false);
        assertReady();
        world.runMs(500);
        assertNull(key(0));
        assertEquals(0, status(client, 0).undeliveredReleaseCount());
    }

    /** Each failed allocation may block the loop for half a second. */
    @Test
    void failedAllocationsAreRetriedAfterADelayNotAtEachCommand() {
        scarceWorld(CommandMode.AUTO);
        allocator.exhausted(true);
        eachNode(node -> node.breakConnections());
        world.runMs(20);
        int failedBefore = allocator.failedCount();
        for (int i = 0; i < 5_000; i++) {
            acquireAsync(client, options());
            world.runMs(1);
        }
        int tries = allocator.failedCount() - failedBefore;
        assertTrue(tries > 0 && tries <= 5_000 / 20 + 1, tries + " tries in 5 s");
        allocator.exhausted(false);
        assertReady();
        assertEquals(ReleaseOutcome.RELEASED, release(lease(client)));
    }
}
