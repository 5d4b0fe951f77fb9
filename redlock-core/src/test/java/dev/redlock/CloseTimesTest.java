package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.CloseReport;
import dev.redlock.api.Lease;
import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A close waits for the replies to its releases, for a limited time, and continues after an exception. */
class CloseTimesTest extends VirtualTest {

    private static final Duration TIMEOUT = Duration.ofSeconds(10);

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
            if (isEndingAll() && ++reads[0] == failingRead) {
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
    private static boolean isEndingAll() {
        List<String> frames = StackWalker.getInstance()
                .walk(all -> all.map(frame -> frame.getClassName() + "." + frame.getMethodName()).toList());
        return frames.stream().anyMatch(frame -> frame.endsWith(".Shutdown.endAll"))
                && frames.stream().noneMatch(frame -> frame.contains(".DirectBuffers."));
    }
}
