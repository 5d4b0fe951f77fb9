package dev.redlock.acquire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.engine.key.KeyText;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Another program has a key with the name of a lock. */
class ForeignKeyTest extends VirtualTest {

    private static final String ADVICE = "the key of resource \"orders\" has the type hash, and a lock has the type"
            + " string, or zset for readers: delete it if no other program uses it, or choose another name or"
            + " RedlockContext.keyPrefix";
    private static final String PERMIT = KeyText.counterName("orders")
            .replace(KeyText.COUNTER_MARK, KeyText.PERMIT_MARK);

    private VirtualWorld.Client client;

    private void start(CommandMode mode, String key, String value, long ttlMs) {
        world(3);
        client = client(context().commands(mode));
        eachNode(node -> node.redis().set(key, value, ttlMs));
    }

    private int askedCount() {
        return world.nodes().stream().mapToInt(node -> node.redis().commandCount("TYPE")).sum();
    }

    static Stream<Arguments> kinds() {
        return Stream.of(CommandMode.AUTO, CommandMode.SCRIPTS)
                .flatMap(mode -> Stream.of(options(), options().fenced(), options().forReading(),
                        options().forWriting(), options().forWriting().fenced())
                        .map(options -> Arguments.of(mode, options)));
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void theAdviceNamesTheType(CommandMode mode, AcquireOptions kind) {
        start(mode, "orders", FakeRedis.HASH, -1);
        assertEquals(ADVICE, acquire(client, kind).advice());
        assertEquals(1, askedCount(), "one node was asked");
        assertEquals("the wait budget ended: " + ADVICE,
                acquire(client, kind.waitUpTo(Duration.ofSeconds(2))).advice());
        assertEquals(2, askedCount(), "a waiter asks once");
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void aTtlLongerThanThatOfALockShowsIt(CommandMode mode, AcquireOptions kind) {
        start(mode, "orders", FakeRedis.HASH, 3_600_000);
        AcquireOutcome refused = acquire(client, kind);
        assertEquals(ADVICE, refused.advice());
        assertEquals(3_600_000, refused.shortestRemainingTtlMs(), 1_000);
    }

    /** The rollback of a plain lock finds the type, also if the key expires soon. */
    @Test
    void theRollbackFindsAnotherTypeToo() {
        start(CommandMode.AUTO, "orders", FakeRedis.HASH, 4_000);
        AcquireOutcome refused = acquire(client, options());
        assertEquals(ADVICE, refused.advice());
        assertEquals(4_000, refused.shortestRemainingTtlMs(), 50);
        assertEquals(1, askedCount());
    }

    /** A sorted set of a lock always expires, so this one is of another program, whatever its scores are. */
    @ParameterizedTest
    @MethodSource("kinds")
    void aSortedSetThatNeverExpiresStays(CommandMode mode, AcquireOptions kind) {
        world(3);
        client = client(context().commands(mode));
        eachNode(node -> node.redis().setForeignSet("orders", "player", 7));
        for (AcquireOptions options : List.of(kind, kind.waitUpTo(Duration.ofSeconds(2)))) {
            AcquireOutcome refused = acquire(client, options);
            assertTrue(refused.advice().contains("a key with the name of the lock never expires"), refused::advice);
        }
        eachNode(node -> {
            assertEquals(1, node.redis().entryCount("orders"));
            assertEquals(-1, node.redis().pttl("orders"));
        });
    }

    @Test
    void aKeyOfReadersIsNotNamed() {
        world(3);
        client = client();
        eachNode(node -> node.redis().setReader("orders", "a reader", 4_000));
        assertEquals(AcquireOutcome.Kind.CONTENDED.advice(), acquire(client, options()).advice());
    }

    /** Native commands do not report why they refuse. */
    @Test
    void withNativeCommandsTheAdviceIsToLook() {
        start(CommandMode.NATIVE, "orders", FakeRedis.HASH, -1);
        String advice = "the key of the lock is in use, and no node has reported its remaining ttl: wait longer, or"
                + " look at the key with TYPE and PTTL";
        assertEquals(advice, acquire(client, options()).advice());
        assertEquals("the wait budget ended: " + advice,
                acquire(client, options().waitUpTo(Duration.ofSeconds(2))).advice());
        assertEquals(0, askedCount());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void theAdviceForASetNamesTheResource(boolean isFenced) {
        start(CommandMode.AUTO, "orders", FakeRedis.HASH, -1);
        AcquireOptions options = isFenced ? options().fenced() : options();
        assertEquals(ADVICE,
                get(client.redlock().acquireAllAsync(List.of("a", "orders", "z"), options)).advice());
        assertEquals(3, askedCount(), "one command for each resource");
    }

    @Test
    void theAdviceForASemaphoreNamesThePermit() {
        world(3);
        client = client();
        eachNode(node -> {
            node.redis().set("orders", "a string, which does not matter", -1);
            node.redis().set(PERMIT + ":0", FakeRedis.HASH, -1);
            node.redis().set(PERMIT + ":1", FakeRedis.HASH, -1);
        });
        AcquireOptions permit = options().forPermitOf(2);
        String advice = ADVICE.replace("orders", PERMIT + ":0");
        assertEquals(advice, acquire(client, permit).advice());
        assertEquals("the wait budget ended: " + advice,
                acquire(client, permit.waitUpTo(Duration.ofSeconds(2))).advice());
        assertEquals(2, askedCount());
        eachNode(node -> node.redis().delete(PERMIT + ":1"));
        release(acquired(acquire(client, permit)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"a string", "(a sorted set)"})
    void aKeyThatALockMayHaveIsNotNamed(String value) {
        start(CommandMode.AUTO, "orders", value, 3_600_000);
        assertEquals(AcquireOutcome.Kind.CONTENDED.advice(), acquire(client, options()).advice());
        assertEquals(1, askedCount());
    }

    @Test
    void theKeyOfALockCausesNoQuestion() {
        world(3);
        client = client();
        Lease holder = lease(client());
        assertEquals(AcquireOutcome.Kind.CONTENDED.advice(), acquire(client, options()).advice());
        assertEquals("the wait budget ended: " + AcquireOutcome.Kind.CONTENDED.advice(),
                acquire(client, options().waitUpTo(Duration.ofSeconds(2))).advice());
        assertEquals(0, askedCount());
        release(holder);
    }

    @Test
    void withoutTheRightToAskTheAdviceNamesNoType() {
        start(CommandMode.AUTO, "orders", FakeRedis.HASH, -1);
        eachNode(node -> node.redis().failNext("TYPE", "NOPERM this user has no permissions to run 'type'", 9));
        AcquireOutcome refused = acquire(client, options());
        assertTrue(refused.advice().startsWith("a key with the name of the lock never expires"), refused::advice);
        assertEquals(NodeState.READY, status(client, 0).state());
        assertEquals(null, status(client, 0).problem());
    }

    @Test
    void aSilentNodeDelaysTheOutcomeByOneNodeTimeoutAtMost() {
        start(CommandMode.SCRIPTS, "orders", FakeRedis.HASH, -1);
        eachNode(node -> node.delay(() -> 5_000_000));
        long startMs = nowMs();
        CompletableFuture<AcquireOutcome> outcome = acquireAsync(client, options());
        world.runMs(12);
        eachNode(node -> node.pause());
        assertEquals(AcquireOutcome.Kind.CONTENDED, get(outcome).kind());
        assertEquals(10 + NODE_TIMEOUT_MS, nowMs() - startMs, 3);
        eachNode(node -> node.resume());
    }

    @Test
    void cancelEndsTheQuestion() {
        start(CommandMode.SCRIPTS, "orders", FakeRedis.HASH, -1);
        eachNode(node -> node.delay(() -> 5_000_000));
        CompletableFuture<AcquireOutcome> outcome = acquireAsync(client, options().waitUpTo(Duration.ofSeconds(2)));
        world.runMs(12);
        outcome.cancel(false);
        world.await("every claim is in its pool", 30, () -> client.engine().claimsOut() == 0);
    }

    @Test
    void aWaiterAcquiresWhenTheKeyIsDeleted() {
        start(CommandMode.AUTO, "orders", FakeRedis.HASH, -1);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, options().waitUpTo(Duration.ofSeconds(9)));
        world.runMs(500);
        eachNode(node -> node.redis().delete("orders"));
        long startMs = nowMs();
        release(acquired(get(waiting)));
        assertTrue(nowMs() - startMs < 20, "woken by the change");
    }

    /** The next holder is a client, so the type of its key does not matter. */
    @Test
    void theAdviceIsThatOfTheLastHolder() {
        start(CommandMode.AUTO, "orders", FakeRedis.HASH, -1);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, options().waitUpTo(Duration.ofSeconds(3)));
        world.runMs(500);
        eachNode(node -> node.redis().set("orders", "token of another client", 30_000));
        assertEquals("the wait budget ended: " + AcquireOutcome.Kind.CONTENDED.advice(), get(waiting).advice());
    }
}
