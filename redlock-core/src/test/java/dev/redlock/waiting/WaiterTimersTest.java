package dev.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.engine.TestEngine;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The timer of a waiter that no push wakes: the end of the holder's ttl, and the backstop. */
class WaiterTimersTest extends VirtualTest {

    private static final Duration WAIT = Duration.ofSeconds(60);
    /** Far below the shortest backstop, 250 ms, and the shortest retry delay, 25 ms. */
    private static final long SOON_MS = 5;
    private static final long BACKSTOP_MS_MAX = 500;

    /** Creates a world whose servers notice the end of a ttl only when a command reads the key. */
    private VirtualWorld.Client worldOfLazyExpiry() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().activeExpiry(() -> 60_000));
        return client;
    }

    /** A server that refuses in the last millisecond of the key says that no time is left. */
    @ParameterizedTest
    @ValueSource(longs = {0, 1, 2})
    void aWaiterReplacesAHolderWhoseTtlIsAboutToEnd(long leftMs) {
        VirtualWorld.Client client = worldOfLazyExpiry();
        eachNode(node -> node.redis().set("orders", "foreign", leftMs));
        long startMs = nowMs();
        Lease lease = acquired(acquire(client, options().waitUpTo(WAIT)));
        assertTrue(nowMs() - startMs <= leftMs + SOON_MS, () -> "after " + (nowMs() - startMs) + " ms");
        release(lease);
    }

    /** The waiter asks for the other permit meanwhile, because its holder extends it, which the nodes push. */
    @Test
    void aWaiterForAPermitRemembersWhichOneExpiresFirst() {
        VirtualWorld.Client dead = worldOfLazyExpiry();
        AcquireOptions permit = options().forPermitOf(2);
        Lease extended = acquired(acquire(client(), permit));
        Lease expiring = acquired(acquire(dead, AcquireOptions.ofTtl(Duration.ofMillis(200)).forPermitOf(2).tryOnce()));
        String key = TestEngine.lockedResource(expiring);
        long endMs = nowMs() + node(0).redis().pttl(key);
        dead.pause();
        VirtualWorld.Client client = client();
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, permit.waitUpTo(WAIT));
        world.runMs(50);
        long wokenBefore = client.redlock().counters().wokenCount();
        assertEquals(ExtendOutcome.EXTENDED, extend(extended, Duration.ofSeconds(20)));
        world.runMs(10);
        assertTrue(client.redlock().counters().wokenCount() > wokenBefore, "it has asked for the extended permit");
        assertFalse(waiting.isDone());
        assertEquals(key, TestEngine.lockedResource(acquired(get(waiting))));
        assertTrue(nowMs() - endMs <= SOON_MS, () -> "late by " + (nowMs() - endMs) + " ms");
    }

    /** Waiters for locks that others hold for long, each for a lock of its own. */
    private List<CompletableFuture<AcquireOutcome>> sleepers(VirtualWorld.Client client, int count) {
        eachNode(node -> IntStream.range(0, count).forEach(i -> node.redis().set("orders/" + i, "other", 3_600_000)));
        List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            waiting.add(client.redlock()
                    .acquireAsync("orders/" + i, options().waitUpTo(Duration.ofMinutes(2)))
                    .toCompletableFuture());
        }
        world.runMs(2_000);
        return waiting;
    }

    private int commands(String name) {
        return IntStream.range(0, 3).map(i -> node(i).redis().commandCount(name)).sum();
    }

    /** An attempt at three nodes costs them about ten commands and the answers of the scripts. */
    @Test
    void waitersThatSleepForLongAskOneNodeWithOneCommand() {
        VirtualWorld.Client client = world(3);
        int count = 100;
        sleepers(client, count);
        int scripts = commands("EVALSHA");
        int reads = commands("PTTL");
        world.runMs(30_000);
        int attempts = commands("EVALSHA") - scripts;
        int checks = commands("PTTL") - reads;
        // A backstop of 375 ms on average, and an attempt at three nodes after each 15 checks.
        assertTrue(attempts < count * 30 * 3 / 5, () -> attempts + " scripts");
        assertTrue(checks > count * 30 * 2 && checks < count * 30 * 3, () -> checks + " reads");
    }

    /** Whatever the waiter has asked last: the node, or all of them. */
    @ParameterizedTest
    @ValueSource(longs = {0, 300, 1_700, 3_300, 5_000, 6_100})
    void aWaiterThatSleepsForLongNoticesALostPushAsSoonAsAnother(long sleptMs) {
        VirtualWorld.Client client = world(3);
        List<CompletableFuture<AcquireOutcome>> waiting = sleepers(client, 20);
        world.runMs(sleptMs);
        eachNode(node -> node.pushFault((name, push) -> List.of()));
        long startMs = nowMs();
        eachNode(node -> IntStream.range(0, 20).forEach(i -> node.redis().delete("orders/" + i)));
        waiting.forEach(waiter -> acquired(get(waiter)));
        assertTrue(nowMs() - startMs <= BACKSTOP_MS_MAX + SOON_MS, () -> "after " + (nowMs() - startMs) + " ms");
    }

    /** A node that hangs answers no question: the waiter asks all, and the others grant. */
    @Test
    void aCheckWithoutAnAnswerIsFollowedByAnAttempt() {
        VirtualWorld.Client client = world(3);
        List<CompletableFuture<AcquireOutcome>> waiting = sleepers(client, 20);
        eachNode(node -> node.pushFault((name, push) -> List.of()));
        eachNode(node -> IntStream.range(0, 20).forEach(i -> node.redis().delete("orders/" + i)));
        node(1).pause();
        long startMs = nowMs();
        waiting.forEach(waiter -> acquired(get(waiter)));
        long tookMs = nowMs() - startMs;
        assertTrue(tookMs <= BACKSTOP_MS_MAX + NODE_TIMEOUT_MS + SOON_MS, () -> "after " + tookMs + " ms");
        node(1).resume();
    }

    /** The extension is not pushed, and the end of the new ttl is not either. */
    @Test
    void aCheckReadsANewExpiry() {
        VirtualWorld.Client client = worldOfLazyExpiry();
        List<CompletableFuture<AcquireOutcome>> waiting = sleepers(client, 1);
        eachNode(node -> node.pushFault((name, push) -> List.of()));
        eachNode(node -> node.redis().set("orders/0", "other", 3_000));
        long startMs = nowMs();
        acquired(get(waiting.get(0)));
        long tookMs = nowMs() - startMs;
        assertTrue(tookMs <= 3_000 + SOON_MS, () -> "after " + tookMs + " ms");
    }

    /** There are no other nodes that could push instead, so the waiter does not register anew before the backstop. */
    @Test
    void aLostPushOfASingleNodeCostsOneBackstop() {
        VirtualWorld.Client client = world(1);
        VirtualWorld.Client other = client();
        Lease holder = lease(client);
        long startMs = nowMs();
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(other, options().waitUpTo(WAIT)
                .retryPolicy((attempts, reason, ttl, random) -> 300_000_000));
        world.runMs(10);
        node(0).pushFault((name, push) -> List.of());
        release(holder);
        acquired(get(waiting));
        assertTrue(nowMs() - startMs <= BACKSTOP_MS_MAX, () -> "after " + (nowMs() - startMs) + " ms");
        assertEquals(1, other.redlock().counters().backstopCount());
    }
}
