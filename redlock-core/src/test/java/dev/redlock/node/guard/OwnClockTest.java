package dev.redlock.node.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The clock of the client's machine stands still, so all nodes seem to have jumped ahead. */
class OwnClockTest extends VirtualTest {

    private static final long MS = 1_000_000;
    private static final AcquireOptions ONCE = AcquireOptions.ofTtl(TTL).tryOnce();

    private VirtualWorld.Client worldWithLatency(int nodeCount) {
        VirtualWorld.Client client = world(nodeCount);
        for (int i = 0; i < nodeCount; i++) {
            // Each node is sampled at another time.
            long delayNs = 100_000 + i * 37_000L;
            node(i).delay(() -> delayNs);
        }
        world.runMs(3_000);
        return client;
    }

    private void suspend(VirtualWorld.Client client, long ms) {
        client.suspend();
        world.runMs(ms);
        client.resume();
    }

    private static NodeState stateOf(VirtualWorld.Client client, int index) {
        return client.redlock().nodes().get(index).state();
    }

    private void assertQuarantined(VirtualWorld.Client client, int... nodes) {
        world.runMs(10_000);
        for (int index : nodes) {
            assertEquals(NodeState.QUARANTINED, stateOf(client, index), "node " + index);
        }
        assertEquals(0, client.redlock().counters().clockStandstillCount());
    }

    @ParameterizedTest
    @CsvSource({"6000, 3, 6.0 s", "300, 3, 300 ms", "50, 3, 50 ms", "6000, 5, 6.0 s", "6000, 2, 6.0 s",
        "5025123, 3, 5025.1 s"})
    void theNodesVoteAgainAfterOneSample(long stillMs, int nodeCount, String shown) {
        VirtualWorld.Client client = worldWithLatency(nodeCount);
        try (LogLines log = new LogLines()) {
            suspend(client, stillMs);
            world.runMs(1_200);
            for (int i = 0; i < nodeCount; i++) {
                assertEquals("in quarantine for another 1 s: clock watch: this machine's clock stood still for "
                        + shown, status(client, i).problem());
                assertEquals(1, status(client, i).clockJumpCount());
            }
            world.runMs(1_200);
            for (int i = 0; i < nodeCount; i++) {
                assertEquals(NodeState.READY, stateOf(client, i));
            }
            acquired(acquire(client, ONCE));
            assertEquals(1, client.redlock().counters().clockStandstillCount());
            List<String> lines = log.with("clock stood still");
            assertEquals(1, lines.stream().filter(line -> line.startsWith("this machine's")).count(), lines::toString);
            assertTrue(lines.stream()
                    .anyMatch(line -> line.startsWith("this machine's clock stood still for " + shown
                            + ", as in a suspend or a migration; 0 leases are lost, 0 end earlier;")),
                    lines::toString);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {50, 300, 6_000})
    void aLeaseIsShortenedByThatTime(int stillMs) {
        VirtualWorld.Client client = worldWithLatency(3);
        Lease lease = acquired(acquire(client, ONCE));
        world.runMs(10);
        long validUntilNs = world.nowNs() + lease.remainingValidityNs();
        suspend(client, stillMs);
        world.runMs(1_200);
        assertTrue(lease.isHeld(), lease::toString);
        long lessNs = validUntilNs - world.nowNs() - lease.remainingValidityNs();
        assertTrue(lessNs >= 0 && lessNs < 30 * MS, "it ends as before in real time, and not much sooner: " + lessNs);
        assertTrue(keyCount() == 3, "the keys exist");
    }

    /** Another client has the lock by then. */
    @Test
    void aLeaseThatIsOverIsLost() {
        VirtualWorld.Client client = worldWithLatency(3);
        VirtualWorld.Client other = client();
        Lease lease = acquired(acquire(client, ONCE));
        try (LogLines log = new LogLines()) {
            client.suspend();
            world.runMs(10_500);
            acquired(acquire(other, ONCE));
            client.resume();
            assertTrue(lease.isHeld(), "nobody can know yet");
            world.await("the lease is lost", 1_050, () -> lease.state() == LeaseState.LOST);
            world.runMs(2_500);
            assertEquals(1, log.with("1 leases are lost, 0 end earlier").size(), log.with("stood")::toString);
        }
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(client, ONCE).kind());
        assertEquals(0, other.redlock().counters().clockStandstillCount());
    }

    /** The answers to a round from before the suspend arrive after it. */
    @Test
    void anAttemptInFlightGetsNoValidityBeyondItsKeys() {
        VirtualWorld.Client client = worldWithLatency(3);
        CompletableFuture<AcquireOutcome> outcome = acquireAsync(client, ONCE);
        suspend(client, 6_000);
        world.runMs(1_200);
        AcquireOutcome acquired = get(outcome);
        long leftMs = acquired.isAcquired() && acquired.lease().isHeld()
                ? acquired.lease().remainingValidityNs() / MS
                : 0;
        assertTrue(leftMs <= 10_000 - 6_000 - 1_200, "left: " + leftMs);
    }

    @ParameterizedTest
    @ValueSource(ints = {6_000, -6_000, 1_000})
    void aNodeThatReallyJumpsAtTheSameTimeIsFound(int jumpMs) {
        VirtualWorld.Client client = worldWithLatency(3);
        node(1).redis().clockJump(jumpMs);
        suspend(client, 6_000);
        // The others may have jumped as well: they are not told apart.
        assertQuarantined(client, 0, 2);
        acquireFails(client);
    }

    private void acquireFails(VirtualWorld.Client client) {
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(client, ONCE).kind());
    }

    @Test
    void aMajorityThatReallyJumpsIsFound() {
        VirtualWorld.Client client = worldWithLatency(3);
        node(0).redis().clockJump(6_000);
        node(1).redis().clockJump(6_000);
        assertQuarantined(client, 0, 1);
        assertEquals(NodeState.READY, stateOf(client, 2));
    }

    /** A common source of time has made a step: the holder sees it before another client may acquire the lock. */
    @Test
    void aStepOfAllNodesAllowsNoSecondHolder() {
        VirtualWorld.Client holder = worldWithLatency(3);
        VirtualWorld.Client other = client();
        world.runMs(400);
        Lease lease = acquired(acquire(holder, ONCE));
        for (int i = 0; i < 3; i++) {
            node(i).redis().clockJump(20_000);
        }
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(other, options());
        boolean[] isSeen = {false};
        for (int ms = 0; ms < 5_000; ms++) {
            world.runMs(1);
            boolean isSecond = waiting.isDone() && lease.isHeld();
            isSeen[0] |= waiting.isDone();
            long jumps = status(other, 0).clockJumpCount() + status(holder, 0).clockJumpCount();
            assertFalse(isSecond && jumps > 0, "two holders although one has seen the step");
        }
        assertTrue(isSeen[0], "the lock is free again");
    }

    /** The own clock ran ahead, and the timers of quarantines with it. */
    @Test
    void allNodesThatGoBackAreInQuarantine() {
        VirtualWorld.Client client = worldWithLatency(3);
        for (int i = 0; i < 3; i++) {
            node(i).redis().clockJump(-6_000);
        }
        assertQuarantined(client, 0, 1, 2);
    }

    /** Its system does not count suspends, so it cannot tell whose clock it was. */
    @Test
    void aClientWithOneNodeWaits() {
        VirtualWorld.Client client = worldWithLatency(1);
        Lease lease = acquired(acquire(client, ONCE));
        suspend(client, 300);
        assertQuarantined(client, 0);
        world.runMs(51_000);
        assertEquals(NodeState.READY, stateOf(client, 0));
        assertEquals(LeaseState.EXPIRED, lease.state(), "it was shortened, and not lost");
    }

    private VirtualWorld.Client worldOfOneNode() {
        VirtualWorld.Client client = worldWithLatency(1);
        client.countSleep();
        world.runMs(2_000);
        return client;
    }

    @ParameterizedTest
    @ValueSource(ints = {50, 300, 6_000})
    void aClientWithOneNodeBelievesItsSystem(int stillMs) {
        VirtualWorld.Client client = worldOfOneNode();
        Lease lease = acquired(acquire(client, ONCE));
        long endNs = world.nowNs() + lease.remainingValidityNs();
        for (int i = 1; i <= 2; i++) {
            suspend(client, stillMs);
            world.runMs(1_100);
            assertTrue(!lease.isHeld() || lease.remainingValidityNs() <= endNs - world.nowNs(), "it was shortened");
            world.runMs(2_100);
            assertEquals(NodeState.READY, stateOf(client, 0), status(client, 0)::problem);
            assertEquals(i, client.redlock().counters().clockStandstillCount());
        }
    }

    /** Its machine was suspended as well, for another time or not at all. */
    @ParameterizedTest
    @CsvSource({"6000, 0", "6000, 6000", "60, 6000", "-60, 6000", "20, 0", "10, 15", "50, 20", "-6000, 6000",
        "-3000, 6000"})
    void aSingleNodeThatReallyJumpsIsFound(int jumpMs, int stillMs) {
        VirtualWorld.Client client = worldOfOneNode();
        node(0).redis().clockJump(jumpMs);
        suspend(client, stillMs);
        if (jumpMs + stillMs > 0) {
            assertQuarantined(client, 0);
        } else {
            // Nothing is seen: the keys live for longer.
            assertEquals(0, status(client, 0).clockJumpCount());
        }
    }

    /** The sample that shows the jump is on its way while the machine is suspended for the same time. */
    @Test
    void aSingleNodeThatHasJumpedBeforeASuspendIsFound() {
        VirtualWorld.Client client = worldOfOneNode();
        int[] samples = {0};
        node(0).timeListener(link -> {
            if (samples[0]++ == 1) {
                client.suspend();
            }
            return () -> {
            };
        });
        world.await("a sample", 2_000, () -> samples[0] == 1);
        node(0).redis().clockJump(6_000);
        world.await("the reply is on its way", 2_000, () -> samples[0] == 2);
        world.runMs(6_000);
        client.resume();
        assertQuarantined(client, 0);
    }

    @Test
    void aQuarantineFromBeforeGoesOn() {
        VirtualWorld.Client client = worldWithLatency(3);
        node(1).redis().clockJump(60_000);
        world.runMs(5_000);
        suspend(client, 6_000);
        world.runMs(3_000);
        assertEquals(NodeState.READY, stateOf(client, 0));
        assertEquals(NodeState.QUARANTINED, stateOf(client, 1));
        assertEquals(NodeState.READY, stateOf(client, 2));
        assertEquals(1, client.redlock().counters().clockStandstillCount());
        assertTrue(status(client, 1).votesAgainInNs() > 50_000 * MS, status(client, 1)::problem);
    }

    /** A node that is down is compared when it is back. */
    @Test
    void aSuspendThatBreaksTheConnectionsIsFound() {
        VirtualWorld.Client client = worldWithLatency(3);
        client.suspend();
        node(0).breakConnections();
        node(1).breakConnections();
        world.runMs(6_000);
        client.resume();
        world.runMs(4_000);
        for (int i = 0; i < 3; i++) {
            assertEquals(NodeState.READY, stateOf(client, i), status(client, i)::problem);
        }
    }

    @Test
    void itHappensAgain() {
        VirtualWorld.Client client = worldWithLatency(3);
        for (int i = 1; i <= 5; i++) {
            suspend(client, i * 1_000);
            world.runMs(3_000);
            assertEquals(i, client.redlock().counters().clockStandstillCount());
            assertEquals(NodeState.READY, stateOf(client, 0));
        }
    }

    @Test
    void clocksThatJumpAllTheTimeCauseFewSamples() {
        VirtualWorld.Client client = worldWithLatency(3);
        int[] count = new int[3];
        for (int i = 0; i < 3; i++) {
            int index = i;
            node(i).timeListener(link -> {
                count[index]++;
                if (index > 0) {
                    node(index).redis().clockJump(1_000);
                }
                return () -> {
                };
            });
        }
        world.runMs(10_000);
        assertEquals(NodeState.READY, stateOf(client, 0));
        assertQuarantined(client, 1, 2);
        for (int samples : count) {
            assertTrue(samples > 10 && samples < 20_000 / 20 + 20, samples + " samples in 20 s");
        }
    }

    /** The second one comes between the samples of the first one. */
    @Test
    void twoSuspendsInARowAreSafe() {
        VirtualWorld.Client client = worldWithLatency(3);
        suspend(client, 1_000);
        world.await("the first sample", 1_100, () -> status(client, 0).clockJumpCount()
                + status(client, 1).clockJumpCount() + status(client, 2).clockJumpCount() == 1);
        suspend(client, 1_000);
        world.runMs(5_000);
        world.runMs(62_000);
        for (int i = 0; i < 3; i++) {
            assertEquals(NodeState.READY, stateOf(client, i), status(client, i)::problem);
        }
        suspend(client, 2_000);
        world.runMs(3_000);
        assertTrue(client.redlock().counters().clockStandstillCount() >= 1);
    }
}
