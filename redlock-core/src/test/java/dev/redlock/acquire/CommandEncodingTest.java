package dev.redlock.acquire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.RedlockContext;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.key.KeyText;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Locks use native commands on nodes that support them, and scripts elsewhere. */
class CommandEncodingTest extends VirtualTest {

    private VirtualWorld.Client client(CommandMode mode, FakeRedis.Kind... kinds) {
        world = new VirtualWorld(kinds.length);
        for (int i = 0; i < kinds.length; i++) {
            node(i).redis().kind(kinds[i]);
        }
        return client(context().commands(mode));
    }

    private int count(int nodeIndex, String command) {
        return node(nodeIndex).redis().commandCount(command);
    }

    private void assertCounts(int nodeIndex, String acquire, String extend, String release) {
        for (String command : new String[]{"acquire", "SET NX", "extend", "SET IFEQ", "release", "DELEX",
            "DELIFEQ"}) {
            boolean isExpected = command.equals(acquire) || command.equals(extend) || command.equals(release);
            assertEquals(isExpected ? 1 : 0, count(nodeIndex, command), command + " on node " + nodeIndex);
        }
    }

    private void cycle(VirtualWorld.Client client, AcquireOptions options) {
        Lease lease = acquired(acquire(client, options));
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        world.runMs(10);
        assertEquals(0, keyCount(), "keys left");
    }

    @ParameterizedTest
    @CsvSource({"REDIS_7, SET NX, extend, release", "REDIS_8_4, SET NX, SET IFEQ, DELEX",
        "VALKEY_8_1, SET NX, SET IFEQ, release", "VALKEY_9, SET NX, SET IFEQ, DELIFEQ"})
    void nativeModeUsesTheCommandsOfEachServer(FakeRedis.Kind kind, String acquire, String extend,
            String release) {
        VirtualWorld.Client client = client(CommandMode.NATIVE, kind, kind, kind);
        cycle(client, options());
        assertCounts(0, acquire, extend, release);
        assertCounts(2, acquire, extend, release);
    }

    @ParameterizedTest
    @EnumSource(FakeRedis.Kind.class)
    void scriptsModeSendsScriptsToEveryServer(FakeRedis.Kind kind) {
        VirtualWorld.Client client = client(CommandMode.SCRIPTS, kind, kind, kind);
        cycle(client, options());
        assertCounts(1, "acquire", "extend", "release");
    }

    @ParameterizedTest
    @EnumSource(CommandMode.class)
    void mixedNodesGetTheCommandsTheySupport(CommandMode mode) {
        FakeRedis.Kind[] kinds = {FakeRedis.Kind.REDIS_8_4, FakeRedis.Kind.REDIS_7, FakeRedis.Kind.VALKEY_9,
            FakeRedis.Kind.VALKEY_8_1, FakeRedis.Kind.REDIS_8_4};
        VirtualWorld.Client client = client(mode, kinds);
        cycle(client, options());
        cycle(client, options().waitUpTo(Duration.ofSeconds(1)));
        if (mode != CommandMode.SCRIPTS) {
            assertEquals(2, count(0, "DELEX"));
            assertEquals(2, count(1, "release"));
            assertEquals(2, count(2, "DELIFEQ"));
            assertEquals(2, count(3, "release"));
            assertEquals(2, count(3, "SET IFEQ"));
        }
    }

    @Test
    void autoReportsTheRemainingTtlOfASingleAttempt() {
        VirtualWorld.Client client = client(CommandMode.AUTO, FakeRedis.Kind.REDIS_7, FakeRedis.Kind.REDIS_8_4,
                FakeRedis.Kind.VALKEY_9);
        Lease held = lease(client);
        AcquireOutcome outcome = acquire(client, options());
        assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind());
        assertTrue(outcome.shortestRemainingTtlMs() > 9_000, outcome::toString);
        assertEquals(2, count(0, "SET NX"), "SET first");
        assertEquals(1, count(0, "PTTL"), "a separate query");
        assertEquals(0, count(0, "acquire"));
        release(held);
    }

    @Test
    void autoSendsSetFirstAndScriptsInRetries() {
        VirtualWorld.Client client = client(CommandMode.AUTO, FakeRedis.Kind.REDIS_7, FakeRedis.Kind.REDIS_7,
                FakeRedis.Kind.REDIS_7);
        Lease held = lease(client);
        VirtualWorld.Client other = client(context().commands(CommandMode.AUTO).wakeUpKeysMax(0));
        AcquireOutcome outcome = acquire(other, options().waitUpTo(Duration.ofMillis(300)));
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, outcome.kind());
        assertTrue(outcome.attemptCount() > 1, outcome::toString);
        assertEquals(2, count(0, "SET NX"), "the holder's acquire and the first attempt only");
        assertEquals(0, count(0, "PTTL"), "retries use the script");
        assertTrue(outcome.shortestRemainingTtlMs() > 9_000, outcome::toString);
        release(held);
        acquired(acquire(other, options().waitUpTo(Duration.ofMillis(300))));
        assertEquals(3, count(0, "SET NX"));
    }

    @Test
    void nativeModeReportsNoRemainingTtl() {
        VirtualWorld.Client client = client(CommandMode.NATIVE, FakeRedis.Kind.REDIS_7, FakeRedis.Kind.VALKEY_9,
                FakeRedis.Kind.REDIS_8_4);
        Lease held = lease(client);
        AcquireOutcome outcome = acquire(client, options());
        assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind());
        assertEquals(-1, outcome.shortestRemainingTtlMs());
        assertEquals(0, count(0, "PTTL"));
        assertEquals(LeaseState.HELD, held.state());
        world.runMs(10);
        assertEquals(3, keyCount(), "the rollback left the holder's keys");
    }

    @Test
    void aFencedAcquireAlwaysUsesAScript() {
        VirtualWorld.Client client = client(CommandMode.NATIVE, FakeRedis.Kind.REDIS_8_4,
                FakeRedis.Kind.REDIS_8_4, FakeRedis.Kind.VALKEY_9);
        Lease lease = acquired(acquire(client, options().fenced()));
        assertTrue(lease.fencingToken() > 0);
        assertEquals(0, count(0, "SET NX"));
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        assertEquals(1, count(0, "DELEX"), "no counter to raise");
        node(2).redis().set(KeyText.counterName("orders"), "1887437000000000", -1);
        assertEquals(ReleaseOutcome.RELEASED, release(acquired(acquire(client, options().fenced()))));
        assertEquals(1, count(0, "release_fenced"), "one counter to raise");
    }

    @Test
    void anExtensionSetsAMissingKeyByScript() {
        VirtualWorld.Client client = client(CommandMode.NATIVE, FakeRedis.Kind.REDIS_8_4,
                FakeRedis.Kind.REDIS_8_4, FakeRedis.Kind.VALKEY_9);
        Lease lease = lease(client);
        node(2).redis().delete("orders");
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        world.runMs(10);
        assertEquals(3, keyCount(), "the missing key is set again");
        assertEquals(1, count(2, "extend"));
        assertEquals(0, count(0, "extend"), "the other nodes get no second command");
    }

    @Test
    void aKeyThatAnExtensionSetsAgainDoesNotCount() {
        VirtualWorld.Client client = client(CommandMode.NATIVE, FakeRedis.Kind.REDIS_8_4,
                FakeRedis.Kind.VALKEY_9, FakeRedis.Kind.VALKEY_9);
        Lease lease = lease(client);
        node(1).redis().delete("orders");
        node(2).redis().delete("orders");
        extend(lease, TTL);
        assertEquals(LeaseState.LOST, lease.state());
        world.runMs(10);
        assertEquals(0, keyCount());
    }

    @ParameterizedTest
    @CsvSource({"ERR unknown command 'DELEX'", "NOPERM this user has no permissions to run the 'delex' command"})
    void aRejectedNativeReleaseFallsBackToTheScript(String error) {
        VirtualWorld.Client client = client(CommandMode.NATIVE, FakeRedis.Kind.REDIS_8_4,
                FakeRedis.Kind.REDIS_8_4, FakeRedis.Kind.REDIS_8_4);
        eachNode(node -> node.redis().failNext("DELEX", error, 1));
        cycle(client, options());
        cycle(client, options());
        for (int i = 0; i < 3; i++) {
            assertEquals(0, count(i, "DELEX"), "it is not sent again on this connection");
            assertEquals(2, count(i, "release"));
        }
        node(0).breakConnections();
        world.await("ready again", 5_000, () -> status(client, 0).state() == NodeState.READY);
        cycle(client, options());
        assertEquals(1, count(0, "DELEX"), "a new connection is probed again");
    }

    @Test
    void aRejectedNativeExtensionFallsBackToTheScript() {
        VirtualWorld.Client client = client(CommandMode.NATIVE, FakeRedis.Kind.REDIS_8_4,
                FakeRedis.Kind.REDIS_8_4, FakeRedis.Kind.REDIS_8_4);
        Lease lease = lease(client);
        eachNode(node -> node.redis().failNext("SET", "ERR syntax error", 1));
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        assertEquals(1, count(0, "extend"));
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
    }

    @Test
    void anErrorThatAlsoAffectsTheScriptIsAFailedVote() {
        VirtualWorld.Client client = client(CommandMode.NATIVE, FakeRedis.Kind.REDIS_8_4,
                FakeRedis.Kind.REDIS_8_4, FakeRedis.Kind.REDIS_8_4);
        eachNode(node -> node.redis().failNext("SET", "OOM command not allowed when used memory > 'maxmemory'.", 1));
        AcquireOutcome outcome = acquire(client, options());
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind());
        assertTrue(outcome.voteText(0).contains("OOM"), outcome::toString);
        assertEquals(0, count(0, "acquire"));
    }

    private static String releaseOf(FakeRedis.Kind kind) {
        return switch (kind) {
            case REDIS_8_4 -> "DELEX";
            case VALKEY_9 -> "DELIFEQ";
            case REDIS_7, VALKEY_8_1 -> "release";
        };
    }

    private static String extendOf(FakeRedis.Kind kind) {
        return kind == FakeRedis.Kind.REDIS_7 ? "extend" : "SET IFEQ";
    }

    private Lease setOf(VirtualWorld.Client client, AcquireOptions options, String... names) {
        return acquired(get(client.redlock().acquireAllAsync(List.of(names), options)));
    }

    private void assertSetCounts(int nodeIndex, int msetex, int script) {
        assertEquals(msetex, count(nodeIndex, "MSETEX"), "MSETEX on node " + nodeIndex);
        assertEquals(script, count(nodeIndex, "acquire_set"), "acquire_set on node " + nodeIndex);
    }

    @ParameterizedTest
    @CsvSource({"AUTO, REDIS_7, 0", "AUTO, REDIS_8_4, 1", "AUTO, VALKEY_9, 0", "NATIVE, REDIS_8_4, 1",
        "NATIVE, REDIS_7, 0", "SCRIPTS, REDIS_8_4, 0"})
    void aSetIsTakenByMsetexWhereTheServerHasIt(CommandMode mode, FakeRedis.Kind kind, int msetex) {
        VirtualWorld.Client client = client(mode, kind, kind, kind);
        Lease set = setOf(client, options(), "a", "b", "c");
        for (int i = 0; i < 3; i++) {
            assertSetCounts(i, msetex, 1 - msetex);
            assertEquals(node(i).redis().get("a"), node(i).redis().get("c"));
            assertTrue(node(i).redis().pttl("b") > 9_900, "the ttl");
        }
        assertEquals(ExtendOutcome.EXTENDED, extend(set, TTL));
        assertEquals(ReleaseOutcome.RELEASED, release(set));
        assertEquals(Set.of(), node(0).redis().keys());
        setOf(client, options().fenced(), "a", "b");
        assertSetCounts(0, msetex, 1 - msetex);
    }

    @Test
    void aSetIsTakenOnMixedNodes() {
        VirtualWorld.Client client = client(CommandMode.AUTO, FakeRedis.Kind.REDIS_8_4, FakeRedis.Kind.REDIS_7,
                FakeRedis.Kind.REDIS_8_4);
        Lease plain = acquired(get(client.redlock().acquireAsync("c", options())));
        VirtualWorld.Client other = client();
        AcquireOutcome refused = get(other.redlock().acquireAllAsync(List.of("a", "b", "c"), options()));
        assertEquals(AcquireOutcome.Kind.CONTENDED, refused.kind());
        assertTrue(refused.shortestRemainingTtlMs() > 9_000, refused::toString);
        world.runMs(10);
        assertEquals(Set.of("c"), node(0).redis().keys(), "nothing is left");
        release(plain);
        Lease set = setOf(other, options(), "a", "b", "c");
        assertSetCounts(0, 2, 0);
        assertSetCounts(1, 0, 2);
        assertEquals(ReleaseOutcome.RELEASED, release(set));
    }

    /** The refusal is a 0, so the nodes are asked for the ttl, as after a refused SET. */
    @Test
    void aRefusedSetReportsTheRemainingTtl() {
        FakeRedis.Kind kind = FakeRedis.Kind.REDIS_8_4;
        VirtualWorld.Client client = client(CommandMode.AUTO, kind, kind, kind);
        Lease held = setOf(client, options(), "b", "c");
        AcquireOutcome refused = get(client().redlock().acquireAllAsync(List.of("a", "b"), options()));
        assertEquals(AcquireOutcome.Kind.CONTENDED, refused.kind());
        assertTrue(refused.shortestRemainingTtlMs() > 9_000, refused::toString);
        assertEquals(1, count(0, "remaining_ttl_set"));
        assertEquals(ReleaseOutcome.RELEASED, release(held));
        assertEquals(Set.of(), node(0).redis().keys());
    }

    @Test
    void aWaiterForASetRegistersByScript() {
        FakeRedis.Kind kind = FakeRedis.Kind.REDIS_8_4;
        VirtualWorld.Client client = client(CommandMode.AUTO, kind, kind, kind);
        Lease held = setOf(client, options(), "b", "c");
        VirtualWorld.Client other = client();
        CompletableFuture<AcquireOutcome> waiting = other.redlock()
                .acquireAllAsync(List.of("a", "b"), options().waitUpTo(Duration.ofSeconds(5)))
                .toCompletableFuture();
        world.runMs(20);
        assertSetCounts(0, 2, world.nodes().get(0).redis().commandCount("acquire_set"));
        assertTrue(world.nodes().stream().anyMatch(node -> node.redis().commandCount("acquire_set") > 0), "registered");
        release(held);
        world.runMs(5);
        acquired(waiting.join());
        assertEquals(0, other.redlock().counters().backstopCount());
    }

    /** The longest set has more bytes than the script, which has the token once. */
    @Test
    void theLongestSetIsTakenByMsetex() {
        FakeRedis.Kind kind = FakeRedis.Kind.REDIS_8_4;
        world = new VirtualWorld(3);
        eachNode(node -> node.redis().kind(kind));
        VirtualWorld.Client client = client(context().clientName("a".repeat(64)).nameInValues(true));
        for (int length : new int[]{1, 100, 500}) {
            List<String> names = IntStream.range(0, 64).mapToObj(i -> "n".repeat(length) + i).toList();
            for (int round = 0; round < 20; round++) {
                Lease lease = acquired(get(client.redlock().acquireAllAsync(names, options())));
                assertEquals(ReleaseOutcome.RELEASED, release(lease));
            }
        }
        assertSetCounts(1, 60, 0);
    }

    @ParameterizedTest
    @CsvSource({"ERR unknown command 'MSETEX'", "NOPERM this user has no permissions to run the 'msetex' command"})
    void aRejectedMsetexFallsBackToTheScript(String error) {
        FakeRedis.Kind kind = FakeRedis.Kind.REDIS_8_4;
        VirtualWorld.Client client = client(CommandMode.AUTO, kind, kind, kind);
        eachNode(node -> node.redis().failNext("MSETEX", error, 1));
        for (int i = 0; i < 2; i++) {
            assertEquals(ReleaseOutcome.RELEASED, release(setOf(client, options(), "a", "b")));
        }
        for (int i = 0; i < 3; i++) {
            assertSetCounts(i, 0, 2);
        }
    }

    /** The probe must not overwrite anything: a lock of the name of the other probes keeps its key. */
    @Test
    void theProbeOfMsetexHasAKeyThatNoLockHas() {
        FakeRedis.Kind kind = FakeRedis.Kind.REDIS_8_4;
        VirtualWorld.Client client = client(CommandMode.AUTO, kind, kind, kind);
        Lease lease = acquired(get(client.redlock().acquireAsync("redlock:probe", options())));
        Lease permit = acquired(get(client.redlock().acquireAsync("redlock:probe", options().forPermitOf(1))));
        assertThrows(IllegalArgumentException.class, () -> client.redlock().key("redlock:probe:redlock:permit"));
        client();
        world.runMs(100);
        assertEquals(2, node(0).redis().keys().size());
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        assertEquals(ReleaseOutcome.RELEASED, release(permit));
    }

    /** MSETEX does not know its own token, so it is sent once: its keys would refuse it. */
    @Test
    void aSetWhoseReplyIsLostIsNotSentAgain() {
        FakeRedis.Kind kind = FakeRedis.Kind.REDIS_8_4;
        VirtualWorld.Client client = client(CommandMode.AUTO, kind, kind, kind);
        eachNode(node -> node.delay(() -> 1_000_000));
        CompletableFuture<AcquireOutcome> outcome = client.redlock()
                .acquireAllAsync(List.of("a", "b"), options())
                .toCompletableFuture();
        world.runUntilNs(world.nowNs() + 1_500_000);
        node(0).breakConnections();
        node(1).breakConnections();
        world.runMs(200);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.join().kind());
        assertSetCounts(0, 1, 0);
        world.await("the release after the reconnect", 5_000,
                () -> world.nodes().stream().allMatch(node -> node.redis().keys().isEmpty()));
    }

    /** A proxy or a fork reports the version that it is compatible with. */
    @ParameterizedTest
    @CsvSource({"REDIS_7, VALKEY_9", "REDIS_7, VALKEY_8_1", "REDIS_7, REDIS_8_4", "VALKEY_8_1, REDIS_7",
        "VALKEY_9, REDIS_7", "VALKEY_9, REDIS_8_4", "REDIS_8_4, VALKEY_8_1"})
    void probesDecideNotTheReportedVersion(FakeRedis.Kind kind, FakeRedis.Kind claimed) {
        world = new VirtualWorld(3);
        eachNode(node -> {
            node.redis().kind(kind);
            node.redis().claims(claimed);
        });
        VirtualWorld.Client client = client(context().commands(CommandMode.NATIVE));
        cycle(client, options());
        assertCounts(0, "SET NX", extendOf(kind), releaseOf(kind));
        assertEquals(0, status(client, 0).errorCount(), "no command was sent twice");
    }

    @Test
    void aServerThatIgnoresUnknownSetOptionsIsExtendedByScript() {
        world = new VirtualWorld(3);
        eachNode(node -> node.redis().takeEachSetOption());
        VirtualWorld.Client client = client(context().commands(CommandMode.NATIVE));
        Lease lease = lease(client);
        eachNode(node -> node.redis().set("orders", "another client's", 60_000));
        extend(lease, TTL);
        eachNode(node -> assertEquals("another client's", node.redis().get("orders")));
        assertEquals(1, count(0, "extend"));
    }

    @Test
    void aCommandWithoutPermissionFallsBackToTheScript() {
        world = new VirtualWorld(3);
        eachNode(node -> {
            node.redis().kind(FakeRedis.Kind.REDIS_8_4);
            node.redis().failNext("DELEX", "NOPERM User app has no permissions to run the command", 1);
        });
        VirtualWorld.Client client = client(context().commands(CommandMode.NATIVE));
        cycle(client, options());
        assertCounts(0, "SET NX", "SET IFEQ", "release");
        assertEquals(0, status(client, 0).errorCount(), "it was not sent again");
    }

    @Test
    void aLaterRejectionDisablesThatCommandOnly() {
        VirtualWorld.Client client = client(CommandMode.NATIVE, FakeRedis.Kind.VALKEY_9,
                FakeRedis.Kind.VALKEY_9, FakeRedis.Kind.VALKEY_9);
        eachNode(node -> node.redis().failNext("DELIFEQ", "NOPERM User app has no permissions", 1));
        cycle(client, options());
        cycle(client, options());
        assertEquals(2, count(0, "release"));
        assertEquals(2, count(0, "SET IFEQ"));
    }

    @ParameterizedTest
    @CsvSource({"lock:, DELEX, SET IFEQ", "lock:orders, DELEX, SET IFEQ"})
    void missingKeyPermissionsDoNotDisableACommand(String permitted, String release,
            String extend) {
        world = new VirtualWorld(3);
        eachNode(node -> {
            node.redis().kind(FakeRedis.Kind.REDIS_8_4);
            node.redis().permitKeys(permitted);
        });
        cycle(client(context().keyPrefix("lock:").commands(CommandMode.NATIVE)), options());
        assertCounts(0, "SET NX", extend, release);
    }

    @ParameterizedTest
    @CsvSource({"MISCONF Redis is configured to save RDB snapshots", "NOREPLICAS Not enough good replicas to write.",
        "WRONGTYPE Operation against a key holding the wrong kind of value"})
    void aNodeThatRejectsWritesDuringTheHandshakeKeepsItsCommands(String error) {
        world = new VirtualWorld(3);
        eachNode(node -> {
            node.redis().kind(FakeRedis.Kind.VALKEY_9);
            node.redis().failNext("DELIFEQ", error, 1);
            node.redis().failNext("SET", error, 1);
        });
        cycle(client(context().commands(CommandMode.NATIVE)), options());
        assertCounts(0, "SET NX", "SET IFEQ", "DELIFEQ");
    }

    /** Scripts find no string there; the conditional deletes reply with an error. */
    @ParameterizedTest
    @EnumSource(FakeRedis.Kind.class)
    void aKeyThatAReaderHasTakenIsNoKeyOfTheReleasedLease(FakeRedis.Kind kind) {
        VirtualWorld.Client client = client(CommandMode.AUTO, kind, kind, kind);
        Lease lease = acquired(acquire(client, options()));
        node(0).redis().setReader("orders", "a reader's token", 10_000);
        node(1).redis().setReader("orders", "a reader's token", 10_000);
        assertEquals(ReleaseOutcome.EXPIRED, release(lease));
        assertEquals(0, client.redlock().nodes().get(0).undeliveredReleaseCount(), "nothing to repeat");
    }

    @Test
    void probesChangeNoKeys() {
        VirtualWorld.Client client = client(CommandMode.NATIVE, FakeRedis.Kind.REDIS_8_4,
                FakeRedis.Kind.VALKEY_9, FakeRedis.Kind.VALKEY_8_1);
        assertEquals(0, keysOfAnyName(), "keys left by the handshake");
        Lease lease = acquired(get(client.redlock().acquireAsync("redlock:probe", options())));
        client(context());
        client(context());
        assertEquals(3, keysOfAnyName(), "a lock with the name of the probe exists");
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
    }

    private int keysOfAnyName() {
        return node(0).redis().keys().size() + node(1).redis().keys().size() + node(2).redis().keys().size();
    }

    @Test
    void scriptsModeSendsNoProbes() {
        client(CommandMode.SCRIPTS, FakeRedis.Kind.REDIS_8_4, FakeRedis.Kind.VALKEY_9, FakeRedis.Kind.REDIS_7);
        assertEquals(0, count(0, "probe") + count(1, "probe") + count(2, "probe"));
        client(context().commands(CommandMode.AUTO));
        assertEquals(5, count(0, "probe"), "once on each connection");
    }

    @Test
    void aServerWithoutResp3IsProbedAfterAuthentication() {
        world = new VirtualWorld(3);
        eachNode(node -> {
            node.redis().kind(FakeRedis.Kind.VALKEY_9);
            node.redis().onlyResp2();
            node.redis().password("default", "secret");
        });
        String[] addresses = world.addresses();
        for (int i = 0; i < addresses.length; i++) {
            addresses[i] = "redis://:secret@" + addresses[i];
        }
        cycle(client(new RedlockContext().nodes(addresses).commands(CommandMode.NATIVE)), options());
        assertCounts(0, "SET NX", "SET IFEQ", "DELIFEQ");
    }

    private static final String FORBIDDEN = "NOPERM User app has no permissions to run the command";

    private void forbidScripts() {
        for (String command : new String[]{"SCRIPT", "EVALSHA", "EVAL"}) {
            eachNode(node -> node.redis().failNext(command, FORBIDDEN, Integer.MAX_VALUE));
        }
    }

    private VirtualWorld.Client nativeClientWithoutScripts(FakeRedis.Kind kind) {
        world = new VirtualWorld(3);
        eachNode(node -> node.redis().kind(kind));
        forbidScripts();
        return client(context().commands(CommandMode.NATIVE));
    }

    @ParameterizedTest
    @CsvSource({"REDIS_8_4, DELEX", "VALKEY_9, DELIFEQ"})
    void nativeModeNeedsNoScriptsWhereTheServerHasTheCommands(FakeRedis.Kind kind, String release) {
        VirtualWorld.Client client = nativeClientWithoutScripts(kind);
        cycle(client, options());
        cycle(client, options().waitUpTo(Duration.ofSeconds(1)));
        assertEquals(2, count(0, release));
        assertEquals(0, status(client, 0).errorCount());
        assertNull(status(client, 0).problem());
    }

    @ParameterizedTest
    @CsvSource({"REDIS_8_4, 0", "VALKEY_9, 0", "VALKEY_8_1, 1", "REDIS_7, 1"})
    void nativeModeLoadsScriptsOnlyWhereTheServerLacksACommand(FakeRedis.Kind kind, int loaded) {
        VirtualWorld.Client client = client(CommandMode.NATIVE, kind, kind, kind);
        assertEquals(NodeState.READY, status(client, 0).state());
        assertEquals(loaded, Math.min(1, count(0, "SCRIPT LOAD")));
    }

    @ParameterizedTest
    @EnumSource(value = FakeRedis.Kind.class, names = {"REDIS_7", "VALKEY_8_1"})
    void nativeModeRejectsANodeThatNeedsForbiddenScripts(FakeRedis.Kind kind) {
        VirtualWorld.Client client = nativeClientWithoutScripts(kind);
        assertEquals(NodeState.WAITING, status(client, 0).state());
        assertEquals("SCRIPT LOAD failed: NOPERM; allow the command, which the lock needs on a server without DELEX or"
                + " DELIFEQ, and SET IFEQ", status(client, 0).problem());
    }

    @ParameterizedTest
    @EnumSource(value = CommandMode.class, names = {"AUTO", "SCRIPTS"})
    void otherModesNeedScripts(CommandMode mode) {
        world = new VirtualWorld(1);
        node(0).redis().kind(FakeRedis.Kind.REDIS_8_4);
        forbidScripts();
        assertEquals("SCRIPT LOAD failed: NOPERM; allow the command, which the lock needs",
                status(client(context().commands(mode)), 0).problem());
    }

    @Test
    void aFencedAcquireOnANodeWithoutItsScriptLoadsIt() {
        VirtualWorld.Client client = client(CommandMode.NATIVE, FakeRedis.Kind.REDIS_8_4,
                FakeRedis.Kind.VALKEY_9, FakeRedis.Kind.VALKEY_9);
        for (int i = 0; i < 3; i++) {
            Lease lease = acquired(acquire(client, options().fenced()));
            assertEquals(ReleaseOutcome.RELEASED, release(lease));
        }
        assertEquals(0, status(client, 0).errorCount());
    }

    @Test
    void aRefusedExtensionCountsIfItsScriptIsForbidden() {
        VirtualWorld.Client client = nativeClientWithoutScripts(FakeRedis.Kind.REDIS_8_4);
        Lease lease = lease(client);
        node(0).redis().delete("orders");
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        world.runMs(10);
        assertEquals(2, keyCount(), "nothing sets the missing key again");
        node(1).redis().set("orders", "another client's", 60_000);
        extend(lease, TTL);
        assertEquals(LeaseState.LOST, lease.state());
        assertEquals(0, status(client, 0).errorCount(), "a refusal, no error");
        assertNull(status(client, 0).failingCode());
    }

    @ParameterizedTest
    @CsvSource({"REDIS_8_4, DELEX", "VALKEY_9, DELIFEQ"})
    void anUndeliveredReleaseNeedsNoScript(FakeRedis.Kind kind, String command) {
        VirtualWorld.Client client = nativeClientWithoutScripts(kind);
        Lease lease = lease(client);
        node(0).breakConnections();
        world.runMs(1);
        release(lease);
        world.await("delivered", 2_000, () -> status(client, 0).undeliveredReleaseDeliveredCount() == 1);
        assertEquals(1, count(0, command));
        assertEquals(0, keyCount());
        assertEquals(0, status(client, 0).undeliveredReleaseRefusedCount());
    }

    @Test
    void aRejectedUndeliveredReleaseFallsBackToTheScript() {
        VirtualWorld.Client client = client(CommandMode.NATIVE, FakeRedis.Kind.REDIS_8_4,
                FakeRedis.Kind.REDIS_8_4, FakeRedis.Kind.REDIS_8_4);
        Lease lease = lease(client);
        node(0).breakConnections();
        world.runMs(1);
        release(lease);
        // The first DELEX of a connection is the probe, whose key-related error does not count.
        node(0).redis().failNext("DELEX", "NOPERM No permissions to access a key", 1);
        node(0).redis().failNext("DELEX", FORBIDDEN, 1);
        world.await("delivered", 2_000, () -> status(client, 0).undeliveredReleaseDeliveredCount() == 1);
        assertEquals(1, count(0, "release"));
        assertEquals(0, keyCount());
    }

    @Test
    void aReplyOfTheWrongTypeClosesTheConnection() {
        VirtualWorld.Client client = client(CommandMode.NATIVE, FakeRedis.Kind.REDIS_7, FakeRedis.Kind.REDIS_7,
                FakeRedis.Kind.REDIS_7);
        node(0).pause();
        var outcome = acquireAsync(client, options());
        world.runMs(1);
        node(0).sendRaw(":1\r\n");
        world.runMs(1);
        assertEquals(NodeState.WAITING, status(client, 0).state(), "an integer is not a reply to SET");
        assertEquals(AcquireOutcome.Kind.ACQUIRED, get(outcome).kind(), "the other nodes decide");
        assertNull(status(client, 1).problem());
    }

    @Test
    void anUnknownScriptIsSentAgainInFullOnce() {
        VirtualWorld.Client client = scriptedWorld(3);
        eachNode(node -> node.redis().flushScripts());
        Lease lease = lease(client);
        eachNode(node -> node.redis().flushScripts());
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "extend recovers");
        eachNode(node -> node.redis().flushScripts());
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "release recovers");
        world.runMs(1);
        assertEquals(0, keyCount(), "nothing is left");
    }

    /** The kinds of locks whose scripts the handshake does not send. */
    private enum ScriptedKind {
        READ, WRITE, FENCED_WRITE, PERMIT, SET, FENCED_SET;

        AcquireOptions of(AcquireOptions options) {
            return switch (this) {
                case READ -> options.forReading();
                case WRITE -> options.forWriting();
                case FENCED_WRITE -> options.forWriting().fenced();
                case PERMIT -> options.forPermitOf(1);
                case SET -> options;
                case FENCED_SET -> options.fenced();
            };
        }

        ResourceKey key(VirtualWorld.Client client) {
            return this == SET || this == FENCED_SET
                    ? client.redlock().keyOfAll(List.of("orders", "stock"))
                    : client.redlock().key("orders");
        }
    }

    private static Stream<Arguments> anAcquireNeverOvertakesTheFirstReleaseOfItsKind() {
        return Arrays.stream(ScriptedKind.values())
                .flatMap(kind -> Arrays.stream(FakeRedis.Kind.values()).map(server -> Arguments.of(kind, server)));
    }

    /** A release whose script the node does not know yet would be sent again behind the acquire that follows it. */
    @ParameterizedTest
    @MethodSource
    void anAcquireNeverOvertakesTheFirstReleaseOfItsKind(ScriptedKind kind, FakeRedis.Kind server) {
        VirtualWorld.Client client = client(CommandMode.AUTO, server, server, server);
        AcquireOptions options = kind.of(options().waitUpTo(Duration.ofSeconds(5)));
        ResourceKey key = kind.key(client);
        eachNode(node -> node.delay(() -> 1_000_000));
        Lease lease = acquired(get(client.redlock().acquireAsync(key, options)));
        eachNode(node -> node.redis().startLog());
        var released = lease.releaseAsync();
        AcquireOutcome next = get(client.redlock().acquireAsync(key, options));
        assertEquals(ReleaseOutcome.RELEASED, get(released));
        assertEquals(1, next.attemptCount(), () -> "attempts: " + node(0).redis().log());
        assertEquals(ReleaseOutcome.RELEASED, release(acquired(next)));
        world.runMs(10);
        assertEquals(0, keyCount(), "keys left");
    }

    @Test
    void aSecondTryNeverFollowsTheReleaseOfItsToken() {
        VirtualWorld.Client client = scriptedWorld(3);
        eachNode(node -> node.redis().startLog());
        eachNode(node -> node.redis().flushScripts());
        eachNode(node -> node.delay(() -> 40_000_000));
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(client, options()).kind(),
                "NOSCRIPT came after the timeout");
        world.runMs(1_000);
        eachNode(node -> assertTrue(node.redis().log().stream().noneMatch(line -> line.startsWith("acquire")),
                "an acquire after its release would stay: " + node.redis().log()));
        assertEquals(0, keyCount(), "nothing is left");
    }
}
