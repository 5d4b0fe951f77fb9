package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.engine.TestEngine;
import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
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
