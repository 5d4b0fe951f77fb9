package dev.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Waiters of a client that has itself changed the key that they wait for. With NOLOOP, each node then ends the
 * registrations of the connection without a push.
 */
class OwnChangeTest extends VirtualTest {

    private static final Duration WAIT = Duration.ofSeconds(60);
    /** Three round trips: a push or a reply, an attempt at the coordinator and one at the other nodes. */
    private static final long WOKEN_US = 700;

    private VirtualWorld.Client client;
    private VirtualWorld.Client other;

    @BeforeEach
    void twoClients() {
        client = slowWorld(3);
        other = client();
    }

    private static AcquireOptions reading() {
        return options().forReading();
    }

    private CompletableFuture<AcquireOutcome> waiter(VirtualWorld.Client of, AcquireOptions options) {
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(of, options.waitUpTo(WAIT));
        world.runMs(20);
        assertFalse(waiting.isDone());
        return waiting;
    }

    /** Returns the time from a moment until a waiter has the lock. */
    private long tookUs(long sinceNs, CompletableFuture<AcquireOutcome> waiting) {
        world.await("the lock", 10_000, waiting::isDone);
        acquired(waiting.join());
        return (world.nowNs() - sinceNs) / 1_000;
    }

    private void assertWoken(long sinceNs, CompletableFuture<AcquireOutcome> waiting) {
        long tookUs = tookUs(sinceNs, waiting);
        assertTrue(tookUs <= WOKEN_US, () -> "woken after " + tookUs + " us");
        assertEquals(0, client.redlock().counters().backstopCount());
    }

    /** The reader of this client waits for the reservation of a writer of another client. */
    private void assertReaderIsWoken(CompletableFuture<AcquireOutcome> writing,
            CompletableFuture<AcquireOutcome> reader) {
        long startNs = world.nowNs();
        writing.cancel(false);
        assertWoken(startNs, reader);
    }

    @Test
    void anOwnReaderThatLeavesLeavesTheWaitingReaderRegistered() {
        acquired(acquire(other, reading()));
        Lease own = acquired(acquire(client, reading()));
        CompletableFuture<AcquireOutcome> writing = waiter(client(), options().forWriting());
        CompletableFuture<AcquireOutcome> waiting = waiter(client, reading());
        release(own);
        world.runMs(10);
        assertReaderIsWoken(writing, waiting);
    }

    @Test
    void anOwnReaderThatExtendsLeavesTheWaitingReaderRegistered() {
        acquired(acquire(other, reading()));
        Lease own = acquired(acquire(client, reading()));
        CompletableFuture<AcquireOutcome> writing = waiter(client(), options().forWriting());
        CompletableFuture<AcquireOutcome> waiting = waiter(client, reading());
        assertEquals(ExtendOutcome.EXTENDED, extend(own, Duration.ofSeconds(20)));
        world.runMs(10);
        assertReaderIsWoken(writing, waiting);
    }

    @Test
    void anOwnWriterThatGivesUpWakesTheWaitingReader() {
        acquired(acquire(other, reading()));
        CompletableFuture<AcquireOutcome> writing = waiter(client, options().forWriting());
        CompletableFuture<AcquireOutcome> waiting = waiter(client, reading());
        assertReaderIsWoken(writing, waiting);
    }

    /** The first attempt of the reader meets the reservation before its removal. */
    @Test
    void anOwnWriterThatGivesUpDuringAnAttemptOfAReaderWakesIt() {
        acquired(acquire(other, reading()));
        CompletableFuture<AcquireOutcome> writing = waiter(client, options().forWriting());
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, reading().waitUpTo(WAIT));
        // The first attempt is refused after 200 us, and the next one is on its way.
        world.runUntilNs(world.nowNs() + 250_000);
        assertReaderIsWoken(writing, waiting);
    }

    /** An attempt of a reader removes the expired entry of another one. */
    @Test
    void anOwnRefusedReaderLeavesTheWaitingWriterRegistered() {
        Lease living = acquired(acquire(other, reading()));
        VirtualWorld.Client dead = client();
        acquired(acquire(dead, AcquireOptions.ofTtl(Duration.ofMillis(200)).forReading().tryOnce()));
        dead.pause();
        CompletableFuture<AcquireOutcome> waiting = waiter(client, options().forWriting());
        world.runMs(190);
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(client, reading()).kind());
        world.runMs(1);
        long startNs = world.nowNs();
        living.releaseAsync();
        long tookUs = tookUs(startNs, waiting);
        assertTrue(tookUs <= WOKEN_US, () -> "woken after " + tookUs + " us");
    }

    /** A waiter is refused by the key of an attempt of its own client that is rolled back later. */
    @Test
    void anOwnAttemptThatIsRolledBackWakesTheWaiterThatItHasRefused() {
        Lease holder = lease(other);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, options().waitUpTo(WAIT));
        world.runUntilNs(world.nowNs() + 450_000);
        FakeNode coordinator = world.nodes()
                .stream()
                .filter(node -> node.redis().commandCount("acquire") > 0)
                .findFirst()
                .orElseThrow();
        coordinator.redis().delete("orders");
        // Granted by the coordinator, before the attempt that its push has started.
        world.runUntilNs(world.nowNs() + 50_000);
        acquireAsync(client, options());
        world.runUntilNs(world.nowNs() + 350_000);
        int before = attempts();
        world.runUntilNs(world.nowNs() + 400_000);
        assertTrue(attempts() > before, "the end of the own key starts an attempt");
        long startNs = world.nowNs();
        holder.releaseAsync();
        assertWoken(startNs, waiting);
    }

    private int attempts() {
        return world.nodes().stream().mapToInt(node -> node.redis().commandCount("acquire")).sum();
    }

    /** The nodes reject the release, so the client sends it again with its next look at their clocks. */
    @Test
    void aReleaseThatIsDeliveredLaterWakesTheWaiter() {
        Lease own = lease(client);
        CompletableFuture<AcquireOutcome> waiting = waiter(client, options());
        for (String script : List.of("release", "release_many")) {
            eachNode(node -> node.redis().failNext(script, "BUSY x", 1));
        }
        own.releaseAsync();
        world.runMs(5);
        assertEquals(3, keyCount());
        eachNode(node -> node.redis().clearErrors());
        world.await("the release", 5_000, () -> keyCount() == 0);
        assertWoken(world.nowNs(), waiting);
    }

    /** The set has registered for the key before an attempt of its client takes it and gives it back. */
    @Test
    void aSetOfTheSameClientIsWokenByTheLastOfItsResources() {
        Lease b = acquired(get(other.redlock().acquireAsync("b", options())));
        CompletableFuture<AcquireOutcome> waiting = client.redlock()
                .acquireAllAsync(List.of("orders", "b"), options().waitUpTo(WAIT))
                .toCompletableFuture();
        world.runMs(20);
        Lease own = lease(client);
        release(own);
        Lease foreign = lease(other);
        world.runMs(10);
        release(b);
        world.runMs(10);
        assertFalse(waiting.isDone());
        long startNs = world.nowNs();
        foreign.releaseAsync();
        assertWoken(startNs, waiting);
    }
}
