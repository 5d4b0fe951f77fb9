package dev.redlock.close;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.CloseReport;
import dev.redlock.api.CommandMode;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A close waits for the replies to its releases, for a limited time, and continues after an exception. */
class CloseTimesTest extends VirtualTest {

    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final int MANY = 20_000;

    @Test
    void aClientWithoutLeasesClosesAtOnce() {
        VirtualWorld.Client client = world(3);
        release(lease(client));
        world.runMs(10);
        CompletableFuture<CloseReport> closed = client.engine().close(TIMEOUT);
        world.runMs(1);
        assertTrue(closed.isDone());
        assertEquals(new CloseReport(0, List.of()), closed.join());
    }

    @Test
    void aCloseWaitsForTheRepliesToItsReleases() {
        VirtualWorld.Client client = world(3);
        lease(client);
        eachNode(node -> node.delay(() -> 20_000_000));
        CompletableFuture<CloseReport> closed = client.engine().close(TIMEOUT);
        world.runMs(39);
        assertFalse(closed.isDone(), "no reply has come");
        world.runMs(2);
        assertEquals(new CloseReport(1, List.of()), closed.join());
    }

    @Test
    void aCloseWaitsForItsTimeoutAtMost() {
        VirtualWorld.Client client = world(3);
        lease(client);
        eachNode(node -> node.pause());
        CompletableFuture<CloseReport> closed = client.engine().close(Duration.ofMillis(30));
        world.runMs(29);
        assertFalse(closed.isDone());
        world.runMs(2);
        assertEquals(new CloseReport(0, List.of("orders")), closed.join());
        eachNode(node -> node.resume());
    }

    /** The nodes need longer for so many releases than the node timeout, which is that of a single one. */
    @Test
    void aCloseUsesItsTimeForManyReleases() {
        VirtualWorld.Client client = world(3);
        lockMany(client);
        eachNode(node -> node.delay(() -> 150_000_000));
        CompletableFuture<CloseReport> closed = client.engine().close(TIMEOUT);
        world.await("the close", TIMEOUT.toMillis(), closed::isDone);
        assertEquals(new CloseReport(MANY, List.of()), closed.join());
        assertNoKeys();
    }

    /** They have room for a part of the releases only. */
    @ParameterizedTest
    @EnumSource(value = CommandMode.class, names = {"SCRIPTS", "AUTO"})
    void aCloseSendsReleasesAsTheNodesAcceptThem(CommandMode mode) {
        world = new VirtualWorld(3);
        eachNode(node -> node.redis().kind(FakeRedis.Kind.VALKEY_9));
        VirtualWorld.Client client = client(context().commands(mode).nodeBackPressure(64, 4096));
        lockMany(client);
        eachNode(node -> node.delay(() -> 1_000_000));
        CompletableFuture<CloseReport> closed = client.engine().close(TIMEOUT);
        world.await("the close", TIMEOUT.toMillis(), closed::isDone);
        assertEquals(new CloseReport(MANY, List.of()), closed.join());
        assertNoKeys();
    }

    /** It does not take its time from the others, nor the close from its timeout. */
    @Test
    void aNodeThatDoesNotReadDoesNotKeepReleasesFromTheOthers() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().nodeBackPressure(16, 4096));
        lockMany(client);
        node(0).pause();
        CompletableFuture<CloseReport> closed = client.engine().close(Duration.ofSeconds(1));
        world.runMs(1_001);
        assertEquals(new CloseReport(MANY, List.of()), closed.join());
        assertEquals(0, lockCount(node(1)));
        assertEquals(0, lockCount(node(2)));
        node(0).resume();
    }

    /** A node that does not read delays the releases. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aLeaseThatEndsBeforeItsReleaseIsInTheReport(boolean isLost) {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().nodeBackPressure(16, 4096));
        world.runMs(2_000);
        AcquireOptions options = AcquireOptions.ofTtl(Duration.ofSeconds(isLost ? 10 : 1)).tryOnce();
        Lease first = acquired(get(client.redlock().acquireAsync("first", options)));
        node(0).pause();
        for (int i = 0; i < 20; i++) {
            acquired(get(client.redlock().acquireAsync("orders/" + i, options())));
        }
        CompletableFuture<CloseReport> closed = client.engine().close(TIMEOUT);
        world.runMs(100);
        assertTrue(first.isHeld(), "its release waits");
        if (isLost) {
            node(1).crash();
            node(2).crash();
            node(1).restart(false);
            node(2).restart(false);
        }
        world.await("the end of the lease", 1_000, () -> !first.isHeld());
        world.await("the close", TIMEOUT.toMillis(), closed::isDone);
        CloseReport report = closed.join();
        assertEquals(21, report.releasedCount() + report.unreleased().size(), report::toString);
        assertEquals(isLost, report.unreleased().contains("first"));
        node(0).resume();
    }

    /** Its caller waits for one node timeout, as always. */
    @Test
    void aReleaseThatHasStartedCountsToo() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        eachNode(node -> node.delay(() -> 40_000_000));
        CompletableFuture<ReleaseOutcome> released = lease.releaseAsync().toCompletableFuture();
        world.runMs(45);
        CompletableFuture<CloseReport> closed = client.engine().close(TIMEOUT);
        world.runMs(40);
        assertEquals(ReleaseOutcome.UNKNOWN, released.join());
        assertEquals(new CloseReport(1, List.of()), closed.join());
    }

    @Test
    void aCloseWithoutTimeSendsAllReleases() {
        VirtualWorld.Client client = world(3);
        lockMany(client);
        CompletableFuture<CloseReport> closed = client.engine().close(Duration.ZERO);
        world.runMs(1);
        assertTrue(closed.isDone());
        assertNoKeys();
    }

    private void lockMany(VirtualWorld.Client client) {
        AcquireOptions options = AcquireOptions.ofTtl(Duration.ofSeconds(60)).tryOnce();
        for (int i = 0; i < MANY; i++) {
            client.redlock().acquireAsync("orders/" + i, options);
            if (i % 16 == 15) {
                world.settle();
            }
        }
        assertEquals(MANY, client.engine().heldCount());
    }

    private void assertNoKeys() {
        eachNode(node -> assertEquals(0, lockCount(node)));
    }

    private static long lockCount(FakeNode node) {
        return node.redis().keys().stream().filter(key -> key.startsWith("orders/")).count();
    }

    /** The clock throws at one read after the other, as a request would without memory. */
    @Test
    void aReleaseThatThrowsDoesNotKeepAClientFromClosing() {
        world = new VirtualWorld(3);
        int failingRead = 0;
        boolean hasThrown;
        do {
            failingRead++;
            hasThrown = closesAlthoughAReadThrows(failingRead);
        } while (hasThrown);
        assertTrue(failingRead > 1, "the clock was read");
        clearRecordedExceptions();
    }

    private boolean closesAlthoughAReadThrows(int failingRead) {
        VirtualWorld.Client client = client(context().flightRecorderEvents(0));
        Lease lease = acquired(get(client.redlock().acquireAsync("r" + failingRead, options())));
        int[] reads = {0};
        client.clockListener(() -> {
            if (isIn(".Shutdown.endAll") && ++reads[0] == failingRead) {
                throw new OutOfMemoryError("thrown by a test");
            }
        });
        try (LogLines log = new LogLines()) {
            CompletableFuture<CloseReport> closed = client.engine().close(Duration.ofMillis(100));
            world.runMs(200);
            boolean hasThrown = reads[0] >= failingRead;
            assertTrue(closed.isDone(), () -> "read " + failingRead);
            assertFalse(lease.isHeld(), () -> "read " + failingRead);
            assertEquals(hasThrown ? 1 : 0, log.with("a request threw").size(), () -> "read " + failingRead);
            return hasThrown;
        }
    }

    /** Buffers survive what the clock throws there: AllocationFaultsTest. */
    private static boolean isIn(String method) {
        List<String> frames = StackWalker.getInstance()
                .walk(all -> all.map(frame -> frame.getClassName() + "." + frame.getMethodName()).toList());
        return frames.stream().anyMatch(frame -> frame.contains(method))
                && frames.stream().noneMatch(frame -> frame.contains(".DirectBuffers."));
    }

    /** A node hangs, so the close ends by its timeout. The lease is renewed until then. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatThrowsDuringACloseDoesNotKeepAClientFromClosing(boolean isBusy) {
        world = new VirtualWorld(3);
        int failingRead = 0;
        boolean hasThrown;
        do {
            failingRead++;
            hasThrown = closesWithAHangingNode(failingRead, isBusy);
        } while (hasThrown);
        assertTrue(failingRead > 1, "the clock was read");
        clearRecordedExceptions();
    }

    private boolean closesWithAHangingNode(int failingRead, boolean isBusy) {
        VirtualWorld.Client client = client(context().flightRecorderEvents(0).nodeBackPressure(16, 4096));
        world.runMs(2_000);
        Lease lease = acquired(get(client.redlock().acquireAsync("r" + failingRead, options().autoExtend())));
        node(0).pause();
        for (int i = 0; isBusy && i < 20; i++) {
            acquired(get(client.redlock().acquireAsync("r" + failingRead + "/" + i, options())));
        }
        int[] reads = {0};
        client.clockListener(() -> {
            if (isIn(".Shutdown.") && ++reads[0] == failingRead) {
                throw new OutOfMemoryError("thrown by a test");
            }
        });
        try (LogLines log = new LogLines()) {
            CompletableFuture<CloseReport> closed = client.engine().close(Duration.ofMillis(1_500));
            world.runMs(1_600);
            boolean hasThrown = reads[0] >= failingRead;
            assertTrue(closed.isDone(), () -> "read " + failingRead);
            assertFalse(lease.isHeld(), () -> "read " + failingRead);
            assertEquals(hasThrown ? 1 : 0, log.with(" threw").size(), () -> "read " + failingRead);
            node(0).resume();
            client.clockListener(() -> {
            });
            return hasThrown;
        }
    }

    @Test
    void closeReleasesAndReportsUnreleasedResources() {
        VirtualWorld.Client client = world(3);
        lease(client);
        node(0).pause();
        node(1).pause();
        CompletableFuture<CloseReport> report = client.engine().close(Duration.ofSeconds(1));
        world.runMs(1_100);
        assertEquals(List.of("orders"), report.join().unreleased(), "no quorum confirmed");
    }
}
