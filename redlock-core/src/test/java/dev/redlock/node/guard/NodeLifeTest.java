package dev.redlock.node.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The guards of a node: which nodes vote, from when, and which faults are detected. */
class NodeLifeTest extends VirtualTest {

    private static final long GUARD_MS = 60_000 + 600 + 2 + 1_000;

    @Test
    void aReplicaIsRejectedWithAReason() {
        world = new VirtualWorld(3);
        node(0).redis().role("slave");
        VirtualWorld.Client client = client();
        assertEquals(NodeState.WAITING, status(client, 0).state(), "not used");
        assertTrue(status(client, 0).problem().contains("slave"), status(client, 0).problem());
        node(0).redis().role("master");
        world.await("promoted", 6_000, () -> status(client, 0).state() == NodeState.READY);
    }

    @Test
    void oneServerAtTwoAddressesHasOneVote() {
        world = new VirtualWorld(3);
        node(1).redis().runId(node(0).redis().runId());
        VirtualWorld.Client client = client();
        for (int i : new int[]{0, 1}) {
            assertEquals(NodeState.READY, status(client, i).state());
            assertTrue(status(client, i).problem().contains("identity of node " + (1 - i)),
                    status(client, i).problem());
        }
        release(lease(client));
        node(2).crash();
        assertFalse(acquire(client, options()).isAcquired());
    }

    @ParameterizedTest
    @EnumSource(CommandMode.class)
    void aServerWhoseScriptsCannotUseTheClockIsRejected(CommandMode mode) {
        world = new VirtualWorld(3);
        node(0).redis().before5();
        VirtualWorld.Client client = client(context().commands(mode));
        world.runMs(10_000);
        assertEquals(NodeState.WAITING, status(client, 0).state());
        assertTrue(status(client, 0).problem().contains("as on Redis before version 5"), status(client, 0).problem());
        assertTrue(node(0).openedCount() <= 5, "slow retries: " + node(0).openedCount());
        assertTrue(acquire(client, options().forReading()).isAcquired(), "the two others decide");
        world.node(1).redis().failNext("EVAL", "NOPERM no", 100);
        world.node(1).breakConnections();
        world.await("a missing right proves nothing", 3_000, () -> status(client, 1).state() == NodeState.READY);
    }

    @Test
    void aWrongPasswordIsReportedAndRetriedSlowly() {
        world = new VirtualWorld(1);
        node(0).redis().password("default", "secret");
        VirtualWorld.Client client = client();
        world.runMs(10_000);
        assertTrue(status(client, 0).problem().contains("NOAUTH"), status(client, 0).problem());
        assertTrue(node(0).openedCount() <= 5, "slow retries: " + node(0).openedCount());
    }

    @Test
    void aPasswordAuthenticatesOverResp3AndResp2() {
        for (boolean isOld : new boolean[]{false, true}) {
            world = new VirtualWorld(1);
            node(0).redis().password("app", "secret");
            if (isOld) {
                node(0).redis().onlyResp2();
            }
            VirtualWorld.Client client = client(new RedlockContext().nodes("redis://app:secret@node-0:1"));
            lease(client);
            nothingIsLeft();
        }
    }

    @ParameterizedTest
    @EnumSource(RestartGuardMode.class)
    void aRestartedNodeVotesAccordingToTheRestartGuard(RestartGuardMode mode) {
        world = new VirtualWorld(1);
        VirtualWorld.Client client = client(context().restartGuard(mode));
        lease(client);
        node(0).crash();
        node(0).restart(false);
        world.await("back", 3_000, () -> status(client, 0).state().ordinal() >= NodeState.QUARANTINED.ordinal());
        if (mode == RestartGuardMode.OFF) {
            assertEquals(NodeState.READY, status(client, 0).state(), "no guard");
            return;
        }
        assertEquals(NodeState.QUARANTINED, status(client, 0).state(), "the node may have lost its keys");
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(client, options()).kind(), "and does not vote");
        world.runMs(GUARD_MS - 2_100);
        assertEquals(NodeState.QUARANTINED, status(client, 0).state(), "not yet");
        world.runMs(3_100);
        assertEquals(NodeState.READY, status(client, 0).state(), "every lost lock has expired");
    }

    /** Its first start and an empty restart are the same to a client. */
    @ParameterizedTest
    @EnumSource(RestartGuardMode.class)
    void aYoungSingleNodeIsInQuarantineUnlessTheGuardIsOff(RestartGuardMode mode) {
        world = new VirtualWorld(1);
        node(0).redis().uptime(0);
        NodeState expected = mode == RestartGuardMode.OFF ? NodeState.READY : NodeState.QUARANTINED;
        assertEquals(expected, status(client(context().restartGuard(mode)), 0).state());
        assertEquals(Set.of(), node(0).redis().allKeys(), "a mark would serve nobody");
    }

    @Test
    void aHalfOpenConnectionIsDetected() {
        VirtualWorld.Client client = world(3);
        node(0).loseReplies(name -> true);
        world.await("found", 3_600, () -> status(client, 0).disconnectCount() == 1);
        world.await("replaced", 1_000, () -> status(client, 0).state() == NodeState.READY);
        assertEquals(1, node(0).connectionCount(), "one connection again");
    }

    @Test
    void aHostNameIsResolvedAgainAtEachReconnect() {
        world = new VirtualWorld(2);
        VirtualWorld.Client client = client(new RedlockContext().nodes("node-0:1"));
        node(0).crash();
        world.moveName(0, 1);
        world.await("there", 3_000, () -> node(1).connectionCount() == 1);
        assertTrue(client.transport().lookupCount() >= 2, "looked up again for each connection");
    }

    /** The process has been up for long, but it is not the one that granted the locks. */
    @Test
    void aDifferentServerAtTheAddressIsGuardedLikeARestart() {
        world = new VirtualWorld(2);
        VirtualWorld.Client client = client(new RedlockContext().nodes("node-0:1"));
        node(0).crash();
        world.moveName(0, 1);
        world.await("there", 3_000, () -> node(1).connectionCount() == 1);
        world.runMs(10);
        assertEquals(NodeState.QUARANTINED, status(client, 0).state(), status(client, 0).problem());
    }

    /** A machine boots with a slow clock and sets it a moment later, so the uptime of its server is far too long. */
    @Test
    void anUptimeAfterAClockJumpIsNotTrusted() {
        world = new VirtualWorld(1);
        VirtualWorld.Client client = client(context().clockSampleInterval(Duration.ZERO));
        // This client has known the node for longer than its uptime, so only the time of its last reply matters.
        world.runMs(100_000);
        lease(client);
        node(0).crash();
        world.runMs(500);
        node(0).redis().clockJump(-90_000);
        node(0).restart(false);
        node(0).redis().clockJump(90_000);
        world.await("back", 3_000, () -> status(client, 0).state().ordinal() >= NodeState.QUARANTINED.ordinal());
        assertEquals(NodeState.QUARANTINED, status(client, 0).state(), "the node may have lost its keys");
        world.runMs(GUARD_MS - 100);
        assertEquals(NodeState.QUARANTINED, status(client, 0).state(), "not yet");
        world.runMs(200);
        assertEquals(NodeState.READY, status(client, 0).state(), "every lost lock has expired");
    }

    /** A step of the clock makes the same process look older. */
    @Test
    void aReconnectDoesNotShortenAQuarantine() {
        world = new VirtualWorld(1);
        node(0).redis().uptime(0);
        VirtualWorld.Client client = client(context().clockSampleInterval(Duration.ZERO));
        world.runMs(5_000);
        node(0).redis().uptime(30);
        node(0).breakConnections();
        world.runMs(GUARD_MS - 6_000);
        assertEquals(NodeState.QUARANTINED, status(client, 0).state(), "every lost lock has to expire");
        world.runMs(2_000);
        assertEquals(NodeState.READY, status(client, 0).state());
    }

    /** Redis subtracts two wall clock times, and the difference may be negative. */
    @Test
    void aNegativeUptimeMakesTheNodeYoung() {
        world = new VirtualWorld(1);
        node(0).redis().uptime(-30);
        VirtualWorld.Client client = client();
        assertEquals(NodeState.QUARANTINED, status(client, 0).state(), status(client, 0).problem());
        world.runMs(GUARD_MS + 100);
        assertEquals(NodeState.READY, status(client, 0).state(), "it waited as long as a young node");
    }

    @ParameterizedTest
    @CsvSource({"1000, WAITING", "0, READY"})
    void aNodeWithoutTimeIsNotUsedWithClockWatch(int sampleMs, NodeState state) {
        world = new VirtualWorld(1);
        node(0).redis().failNext("TIME", "NOPERM User app has no permissions to run the 'time' command", 100);
        VirtualWorld.Client client = client(context().clockSampleInterval(Duration.ofMillis(sampleMs)));
        assertEquals(state, status(client, 0).state());
        if (state == NodeState.WAITING) {
            assertTrue(status(client, 0).problem().contains("TIME") && status(client, 0).problem().contains("NOPERM"),
                    status(client, 0).problem());
        }
    }

    @Test
    void aLoadingNodeIsRetriedSoon() {
        world = new VirtualWorld(1);
        node(0).crash();
        VirtualWorld.Client client = client();
        node(0).redis().failNext("INFO", "BUSY Redis is busy running a script.", 2);
        node(0).redis().failNext("SCRIPT", "LOADING Redis is loading the dataset in memory", 3);
        node(0).start();
        world.await("ready", 2_000, () -> status(client, 0).state() == NodeState.READY);
    }

    @Test
    void aMalformedReplyNeverCompletesAnotherRequest() {
        VirtualWorld.Client client = world(3);
        node(0).sendRaw(":1\r\n");
        world.runMs(1);
        assertEquals(1, status(client, 0).disconnectCount(), "an unsolicited reply closes the connection");
        node(1).sendRaw("?\r\n");
        world.runMs(1);
        assertEquals(1, status(client, 1).disconnectCount(), "a malformed reply does too");
    }

    @Test
    void aStoppedNodeCostsLimitedMemoryAndNoTime() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().nodeBackPressure(16, 4096));
        eachNode(node -> node.delay(() -> 1_000_000));
        node(0).pause();
        for (int i = 0; i < 100; i++) {
            long startNs = world.nowNs();
            Lease lease = lease(client);
            release(lease);
            assertEquals(4_000_000, world.nowNs() - startNs, "the other nodes are as fast as before, cycle " + i);
        }
        AcquireOutcome outcome = acquire(client, options());
        assertTrue(outcome.voteText(0).contains("too much unanswered"), outcome::toString);
        assertTrue(client.engine().claimsOut() <= 16, "claims that wait for it: " + client.engine().claimsOut());
    }

    @Test
    void aPauseOfTheClientKeepsHealthyConnections() {
        VirtualWorld.Client client = world(3);
        client.pause();
        world.runMs(20_000);
        client.resume();
        world.runMs(300);
        assertEquals(0, status(client, 0).disconnectCount(), "the replies were in the socket");
        lease(client);
    }

    @Test
    void aLeaseIsNotHeldAfterAPauseBeyondItsValidity() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        client.pause();
        world.runMs(9_950);
        assertFalse(lease.isHeld(), "called before the engine has run: " + lease);
    }

    @Test
    void reconnectsContinueWithGrowingDelay() {
        world = new VirtualWorld(1);
        node(0).crash();
        VirtualWorld.Client client = client(context().reconnectDelay(Duration.ofMillis(20), Duration.ofSeconds(1)));
        world.runMs(100_000);
        assertTrue(client.transport().lookupCount() > 90 && client.transport().lookupCount() < 250,
                "tries in 100 s: " + client.transport().lookupCount());
        node(0).start();
        world.await("back", 1_100, () -> status(client, 0).state() == NodeState.READY);
    }

    @Test
    void theNodeTimeoutOfALongTtlIsFiftyMilliseconds() {
        VirtualWorld.Client client = world(1);
        node(0).pause();
        long startNs = world.nowNs();
        acquire(client, AcquireOptions.ofTtl(Duration.ofMillis(600)).tryOnce());
        assertEquals(30_000_000, world.nowNs() - startNs, "a twentieth of a short ttl");
    }
}
