package dev.redlock.failover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The server behind an address becomes a replica, or loads its data, while the connection lives. */
class RoleChangeTest extends VirtualTest {

    private static final int ALWAYS = Integer.MAX_VALUE;
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final String READONLY = "READONLY You can't write against a read only replica.";
    /** A look each second, on a timer of 250 ms. */
    private static final long DETECTED_MS = 1_250;
    /** The longest delay between two connections. */
    private static final long CONNECTED_MS = 1_100;

    private void demote(int node, String error) {
        node(node).redis().role("slave");
        List.of("SET", "acquire", "extend", "release", "release_many", "acquire_fenced")
                .forEach(command -> node(node).redis().failNext(command, error, ALWAYS));
    }

    private void promote(int node) {
        node(node).redis().role("master");
        node(node).redis().clearErrors();
    }

    private static String problem(VirtualWorld.Client client) {
        return String.valueOf(status(client, 0).problem());
    }

    private void assertNoVoteUntilPromoted(VirtualWorld.Client client) {
        assertEquals(NodeState.WAITING, status(client, 0).state());
        assertTrue(problem(client).contains("role is slave"), problem(client));
        long errors = status(client, 0).errorCount();
        for (int i = 0; i < 40; i++) {
            world.runMs(1_000);
            release(lease(client));
        }
        assertEquals(errors, status(client, 0).errorCount(), "no vote fails with an error");
        assertFalse(status(client, 0).state() == NodeState.READY, "it has no vote");
        assertTrue(problem(client).contains("role is slave"), problem(client));
        promote(0);
        world.await("it votes again", CONNECTED_MS, () -> status(client, 0).state() == NodeState.READY);
        world.runMs(CONNECTED_MS);
        assertNull(status(client, 0).problem());
        long granted = status(client, 0).grantedCount();
        release(lease(client));
        world.runMs(1);
        assertEquals(granted + 1, status(client, 0).grantedCount());
    }

    @ParameterizedTest
    @ValueSource(strings = {READONLY, "MASTERDOWN Link with MASTER is down",
        "ERR Error running script (call to f_3): @user_script:6: @user_script: 6: -READONLY x"})
    void oneFailedVoteEndsTheConnection(String error) {
        VirtualWorld.Client client = world(3);
        world.runMs(300);
        try (LogLines log = new LogLines()) {
            demote(0, error);
            release(lease(client));
            world.runMs(100);
            assertEquals(1, status(client, 0).errorCount() - status(client, 0).undeliveredReleaseCount());
            assertNoVoteUntilPromoted(client);
            List<String> lines = log.with("node 0 (node-0:1): ");
            assertTrue(lines.size() <= 4, lines::toString);
            assertTrue(lines.get(1).contains("role is slave"), lines::toString);
        }
    }

    /** Nobody locks, so nothing but the look at the role shows it. */
    @ParameterizedTest
    @ValueSource(longs = {0, 100, 1_000, 60_000})
    void theRoleIsReadEachSecond(long clockSampleMs) {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().clockSampleInterval(Duration.ofMillis(clockSampleMs)));
        world.runMs(5_000);
        demote(0, READONLY);
        world.await("detected", DETECTED_MS, () -> status(client, 0).state() != NodeState.READY);
        world.runMs(200);
        assertNoVoteUntilPromoted(client);
    }

    /** The replies that have arrived together are votes; only later ones are lost. */
    @Test
    void theRepliesOfTheSameReadAreHandled() {
        VirtualWorld.Client client = slowWorld(3);
        demote(0, READONLY);
        List<CompletableFuture<AcquireOutcome>> pending = new ArrayList<>();
        client.engine().execute(() -> {
            for (int i = 0; i < 50; i++) {
                pending.add(client.redlock().acquireAsync("orders/" + i, options()).toCompletableFuture());
            }
        });
        world.settle();
        pending.forEach(outcome -> acquired(get(outcome)));
        world.runMs(100);
        assertEquals(50, status(client, 0).errorCount(), "the votes of the read");
        assertEquals(1, status(client, 0).disconnectCount(), "one end");
        pending.forEach(outcome -> outcome.join().lease().releaseAsync());
        promote(0);
        world.runMs(CONNECTED_MS);
        assertEquals(List.of(), List.copyOf(node(0).redis().keys()));
        assertEquals(NodeState.READY, status(client, 0).state());
    }

    /** They were in flight when the vote failed, or fail themselves. */
    @Test
    void releasesAreKeptAndDelivered() {
        VirtualWorld.Client client = slowWorld(3);
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            AcquireOptions options = AcquireOptions.ofTtl(LONG).tryOnce();
            leases.add(acquired(get(client.redlock().acquireAsync("orders/" + i, options))));
        }
        world.runMs(10);
        demote(0, READONLY);
        for (Lease lease : leases) {
            acquireAsync(client, options());
            lease.releaseAsync();
            world.runMs(1);
        }
        world.runMs(5_000);
        assertEquals(20, status(client, 0).undeliveredReleaseCount());
        promote(0);
        world.runMs(CONNECTED_MS);
        assertEquals(List.of(), List.copyOf(node(0).redis().keys()));
    }

    @Test
    void aReleaseAloneEndsTheConnection() {
        VirtualWorld.Client client = world(3);
        Lease lease = acquired(acquire(client, AcquireOptions.ofTtl(LONG).tryOnce()));
        world.runMs(100);
        demote(0, READONLY);
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "two of three");
        world.runMs(100);
        assertEquals(NodeState.WAITING, status(client, 0).state());
        promote(0);
        world.runMs(CONNECTED_MS);
        assertEquals(0, keyCount());
    }

    /** The clock, the votes or the handshake show it. */
    @ParameterizedTest
    @CsvSource({"SET, true", "TIME, false", "INFO, false"})
    void aServerThatLoadsItsDataIsLeftUntilItHasLoadedThem(String command, boolean isLocking) {
        VirtualWorld.Client client = world(3);
        world.runMs(300);
        List.of(command, "EVAL", "SET")
                .forEach(failing -> node(0).redis()
                        .failNext(failing, "LOADING Redis is loading the dataset in memory", ALWAYS));
        for (int i = 0; i < 30; i++) {
            world.runMs(100);
            if (isLocking) {
                release(lease(client));
            }
        }
        boolean isShown = !command.equals("INFO");
        assertEquals(isShown, problem(client).contains("LOADING"), problem(client));
        node(0).redis().clearErrors();
        world.await("it votes again", CONNECTED_MS, () -> status(client, 0).state() == NodeState.READY);
        release(lease(client));
    }

    /** A user may lose the right to read it; proxies answer as they like. */
    @ParameterizedTest
    @ValueSource(strings = {"NOPERM this user has no permissions", "ERR unknown command", "BUSY x"})
    void anErrorInsteadOfTheRoleProvesNothing(String error) {
        VirtualWorld.Client client = world(3);
        world.runMs(300);
        node(0).redis().failNext("INFO", error, ALWAYS);
        world.runMs(5_000);
        assertEquals(NodeState.READY, status(client, 0).state());
        assertEquals(0, status(client, 0).disconnectCount());
    }

    /** The restart guard handles another process. */
    @Test
    void theAddressMayLeadToAnotherServer() {
        VirtualWorld.Client client = world(3);
        world.runMs(300);
        demote(0, READONLY);
        release(lease(client));
        world.runMs(2_000);
        node(0).crash();
        node(0).redis().runId("another-server");
        promote(0);
        node(0).start();
        world.await("connected", CONNECTED_MS, () -> status(client, 0).state() == NodeState.QUARANTINED);
        world.runMs(65_000);
        assertEquals(NodeState.READY, status(client, 0).state());
    }

    /** Leases rest on nodes that do not answer, too: their keys expire by themselves. */
    @Test
    void aLeaseSurvivesTheEndOfAConnection() {
        VirtualWorld.Client client = world(3);
        Lease lease = acquired(acquire(client, AcquireOptions.ofTtl(LONG).tryOnce()));
        demote(0, READONLY);
        demote(1, READONLY);
        world.runMs(5_000);
        assertTrue(lease.isHeld());
        promote(0);
        promote(1);
        world.runMs(CONNECTED_MS);
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
    }
}
