package dev.redlock.node.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A clock jump of a node revokes its grants, and the node does not vote for a while. */
class ClockJumpTest extends VirtualTest {

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aLeaseThatNeedsTheNodeIsLostAndItsListenerIsNotified(int jumping) {
        VirtualWorld.Client client = world(3);
        node(2).crash();
        world.runMs(10);
        List<LeaseState> received = new ArrayList<>();
        Lease lease = acquired(acquire(client, options().listener((lost, state) -> received.add(state))));
        node(jumping).redis().clockJump(60_000);
        world.runMs(1_300);
        assertEquals(LeaseState.LOST, lease.state(), "two grants were needed, one is left");
        assertEquals(List.of(LeaseState.LOST), received, "the listener is notified once");
        assertFalse(lease.isHeld(), "it is not held");
        assertEquals(NodeState.QUARANTINED, status(client, jumping).state(), "the node does not vote");
        assertEquals(1, status(client, jumping).clockJumpCount(), "the jump is counted");
        assertEquals(0, keyCount(), "the remaining keys are released");
        world.runMs(61_000);
        assertEquals(NodeState.READY, status(client, jumping).state(), "after the longest ttl it votes again");
    }

    /** The client checks all leases, including those after one that stays held. */
    @Test
    void onlyLeasesThatNeedTheNodeAreLost() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            String resource = "orders-" + i;
            if (i % 2 == 1) {
                node(2).redis().set(resource, "foreign", -1);
            }
            leases.add(acquired(get(client.redlock().acquireAsync(resource, options()))));
        }
        world.runMs(1);
        node(0).redis().clockJump(60_000);
        world.runMs(1_300);
        for (int i = 0; i < 6; i++) {
            assertEquals(i % 2 == 1 ? LeaseState.LOST : LeaseState.HELD, leases.get(i).state(), "lease " + i);
        }
        assertEquals(3, client.engine().heldCount(), "held");
    }

    /** Node 0 renews, then its clock jumps, and only then another node replies. */
    @Test
    void anExtensionDoesNotCountAGrantFromBeforeTheJump() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(
                context().nodeTimeout(Duration.ofSeconds(1)).clockSampleInterval(Duration.ofMillis(100)));
        Lease lease = lease(client);
        world.runMs(10);
        node(1).delay(() -> 250_000_000);
        node(2).pause();
        CompletableFuture<ExtendOutcome> extended = lease.extendAsync(TTL).toCompletableFuture();
        world.runMs(5);
        node(0).redis().clockJump(60_000);
        world.await("the jump is detected", 400, () -> status(client, 0).clockJumpCount() == 1);
        assertFalse(extended.isDone(), "precondition: the jump is detected first");
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(extended), "one of three");
        assertTrue(lease.isHeld(), "nodes 1 and 2 hold it for the previous ttl: " + lease);
    }

    /** The reply follows that of the clock sample on the connection, so its node is in quarantine when it is read. */
    @Test
    void anExtensionDoesNotCountAGrantFromAfterTheJump() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().nodeTimeout(Duration.ofMillis(500)));
        Lease lease = lease(client);
        world.runMs(10);
        node(2).pause();
        CompletableFuture<ExtendOutcome> extended = behindTheClock(() -> lease.extendAsync(TTL)
                .toCompletableFuture());
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(extended), "one of three");
        assertEquals(1, status(client, 0).clockJumpCount(), "the jump is detected");
        assertTrue(lease.isHeld(), "nodes 1 and 2 hold it for the previous ttl: " + lease);
    }

    /** The same for an acquire: another client's key on that node may have expired too early. */
    @Test
    void aGrantFromAfterTheJumpDoesNotCount() {
        VirtualWorld.Client client = world(3);
        node(2).crash();
        world.runMs(50);
        AcquireOutcome outcome = get(behindTheClock(() -> acquireAsync(client, options())));
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
        assertEquals("unknown: granted, but its clock jumped", outcome.voteText(0), "why it does not count");
        assertEquals("granted", outcome.voteText(1), "the other one");
    }

    /** A refusal needs no trust in the clock, so it counts. */
    @Test
    void aRefusalFromAfterTheJumpCounts() {
        VirtualWorld.Client client = world(3);
        node(0).redis().set("orders", "foreign", -1);
        node(1).redis().set("orders", "foreign", -1);
        node(2).pause();
        world.runMs(50);
        AcquireOutcome outcome = get(behindTheClock(() -> acquireAsync(client, options())));
        assertEquals(2, outcome.refusedCount(), outcome::toString);
    }

    /** Makes the clock of node 0 jump, and runs a call while the reply that shows the jump is in flight. */
    private <T> T behindTheClock(java.util.function.Supplier<T> call) {
        boolean[] isRead = {false};
        // Less than the ttl, so that the keys still exist.
        node(0).redis().clockJump(5_000);
        node(0).delay(() -> 10_000_000);
        node(0).timeListener(client -> {
            isRead[0] = true;
            return () -> {
            };
        });
        world.await("the clock is read", 2_000, () -> isRead[0]);
        return call.get();
    }

    @Test
    void aLeaseThatDoesNotNeedTheNodeIsHeld() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        world.runMs(10);
        node(0).redis().clockJump(60_000);
        world.runMs(1_300);
        assertTrue(lease.isHeld(), "two of three grants still count: " + lease);
    }

    /** The client does not wait for the end that the lease had before the jump. */
    @Test
    void theEndOfAShortenedLeaseIsReportedInTime() {
        VirtualWorld.Client client = world(3);
        node(2).crash();
        world.runMs(10);
        List<LeaseState> received = new ArrayList<>();
        Lease lease = acquired(acquire(client, options().listener((lost, state) -> received.add(state))));
        node(0).redis().clockJump(5_000);
        world.await("the jump is detected", 1_300, () -> status(client, 0).clockJumpCount() == 1);
        assertTrue(lease.isHeld(), "the keys exist: " + lease);
        world.runMs(lease.remainingValidity().toMillis() + 1);
        assertEquals(List.of(LeaseState.EXPIRED), received);
    }

    /** The key of the first node ends earlier by the first jump, which the shorter jump of the other one leaves. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aShorterJumpOfAnotherNodeDoesNotProlongALease(int first) {
        VirtualWorld.Client client = world(3);
        node(2).crash();
        world.runMs(10);
        Lease lease = lease(client);
        node(first).redis().clockJump(6_000);
        world.await("the first jump", 1_300, () -> status(client, first).clockJumpCount() == 1);
        long endNs = world.nowNs() + lease.remainingValidityNs();
        node(1 - first).redis().clockJump(1_000);
        world.await("the second jump", 1_300, () -> status(client, 1 - first).clockJumpCount() == 1);
        assertTrue(lease.isHeld(), "the keys exist: " + lease);
        assertTrue(world.nowNs() + lease.remainingValidityNs() <= endNs, "it ends later: " + lease);
        assertTrue(lease.remainingValidity().toMillis() <= node(first).redis().pttl("orders"), lease::toString);
    }

    /** The sample proves only that the clock has jumped by 3 to 5 s. */
    @Test
    void aJumpInASampleThatIsReadLateCountsInFull() {
        VirtualWorld.Client client = world(3);
        world.runMs(3_000);
        node(2).crash();
        world.runMs(10);
        Lease lease = lease(client);
        world.runMs(10);
        node(0).redis().clockJump(5_000);
        boolean[] isSampled = {false};
        node(0).timeListener(link -> {
            if (!isSampled[0]) {
                isSampled[0] = true;
                client.pause();
                world.after(2_000_000_000L, client::resume);
            }
            return () -> {
            };
        });
        world.await("the jump is detected", 4_000, () -> status(client, 0).clockJumpCount() == 1);
        assertTrue(isSampled[0] && lease.isHeld(), "the keys exist: " + lease);
        assertTrue(lease.remainingValidity().toMillis() <= node(0).redis().pttl("orders"), lease::toString);
    }

    @Test
    void aListenerMayReleaseTheNextLease() {
        VirtualWorld.Client client = world(1);
        eachNode(node -> node.delay(() -> 1_000_000));
        List<String> received = new ArrayList<>();
        List<Lease> leases = new ArrayList<>();
        List<CompletableFuture<ReleaseOutcome>> releases = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            String resource = "orders-" + i;
            leases.add(acquired(get(client.redlock().acquireAsync(resource, options().listener((lost, state) -> {
                received.add(lost.resource());
                leases.stream()
                        .filter(Lease::isHeld)
                        .limit(1)
                        .forEach(other -> releases.add(other.releaseAsync().toCompletableFuture()));
            })))));
        }
        node(0).redis().clockJump(60_000);
        world.runMs(1_300);
        for (Lease lease : leases) {
            assertTrue(lease.state().isFinal(), "ended: " + lease);
        }
        assertEquals(4, received.size() + releases.size(), "each is lost or released, not both: " + received);
        releases.forEach(release -> assertTrue(release.isDone(), "each release has its outcome"));
        assertEquals(0, client.engine().heldCount(), "nothing is held");
    }

    @Test
    void aJumpRevokesAGrantOfAnUndecidedRound() {
        VirtualWorld.Client client = world(3);
        node(2).crash();
        world.runMs(50);
        node(1).delay(() -> 20_000_000);
        // The clock sample of node 0 is due while the second grant is in flight.
        world.runMs(1_000 - nowMs() % 1_000 - 4);
        CompletableFuture<AcquireOutcome> outcome = acquireAsync(client, options());
        world.settle();
        assertNotEquals(null, key(0), "granted before the jump");
        node(0).redis().clockJump(60_000);
        world.await("the jump is detected", 400, () -> status(client, 0).clockJumpCount() == 1 || outcome.isDone());
        assertEquals(1, status(client, 0).clockJumpCount(), "precondition: the jump is detected first");
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, get(outcome).kind(), "one grant of two does not count any more");
        assertEquals("unknown: granted, but its clock jumped", outcome.join().voteText(0), "and the outcome says why");
    }

    @Test
    void aJumpDoesNotShortenTheQuarantineOfARestartedNode() {
        world = new VirtualWorld(1);
        VirtualWorld.Client client = client(
                context().maxTtl(Duration.ofSeconds(2)).clockSampleInterval(Duration.ofMillis(100)));
        node(0).crash();
        node(0).restart(false);
        world.await("back", 2_000, () -> status(client, 0).state() == NodeState.QUARANTINED);
        long backMs = nowMs();
        world.runMs(100);
        node(0).redis().clockJump(5_000);
        world.await("the jump is detected", 500, () -> status(client, 0).clockJumpCount() == 1);
        // A reconnect would apply the restart guard again, which this test does not cover.
        assertEquals(1, status(client, 0).disconnectCount(), "it was disconnected once");
        world.await("votes again", 5_000, () -> status(client, 0).state() == NodeState.READY);
        assertEquals(1, status(client, 0).disconnectCount(), "it was disconnected once");
        assertTrue(nowMs() - backMs >= 3_000, "two seconds of ttl and one of rounding, but it was "
                + (nowMs() - backMs) + " ms");
    }

    /**
     * The clock belongs to the machine: it may jump with or without a restart of the process, and keys loaded from disk
     * expire by it.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aJumpDuringADisconnectIsDetectedBeforeTheNodeVotes(boolean isRestarted) {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().restartGuard(RestartGuardMode.OFF));
        node(2).crash();
        world.runMs(10);
        Lease lease = lease(client);
        eachNode(node -> node.delay(() -> 5_000_000));
        node(0).crash();
        node(0).redis().clockJump(60_000);
        world.runMs(700);
        if (isRestarted) {
            node(0).restart(true);
        } else {
            node(0).start();
        }
        world.await("back", 2_000, () -> status(client, 0).state() == NodeState.QUARANTINED
                || status(client, 0).state() == NodeState.READY);
        assertEquals(NodeState.QUARANTINED, status(client, 0).state(), "it has not voted since");
        assertEquals(1, status(client, 0).clockJumpCount(), "the jump is counted once");
        assertEquals(LeaseState.LOST, lease.state(), "two grants were needed, one is left");
        assertTrue(status(client, 0).problem().contains("jumped"), status(client, 0).problem());
        world.runMs(61_000);
        assertEquals(NodeState.READY, status(client, 0).state(), "after the longest ttl it votes again");
        assertEquals(1, status(client, 0).clockJumpCount(), "the new time is the reference");
    }

    /** The holder loses its lease even if the node rejects the client afterwards for another reason. */
    @Test
    void aJumpCountsEvenIfTheHandshakeFails() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client();
        node(2).crash();
        world.runMs(10);
        Lease lease = lease(client);
        node(0).redis().failNext("SCRIPT", "LOADING Redis is loading the dataset in memory", 1_000);
        node(0).redis().clockJump(60_000);
        node(0).breakConnections();
        world.await("the jump is detected", 1_000, () -> status(client, 0).clockJumpCount() == 1);
        assertEquals(LeaseState.LOST, lease.state(), "two grants were needed, one is left");
        node(0).redis().clearErrors();
        world.await("back", 3_000, () -> status(client, 0).state() == NodeState.QUARANTINED);
        assertTrue(status(client, 0).problem().contains("jumped"), status(client, 0).problem());
        assertEquals(1, status(client, 0).clockJumpCount(), "one jump");
    }

    @Test
    void aRestartIsNotAClockJump() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().restartGuard(RestartGuardMode.OFF));
        Lease lease = lease(client);
        node(0).redis().clockRate(5_000);
        for (int i = 0; i < 5; i++) {
            node(0).crash();
            world.runMs(1_000);
            node(0).restart(true);
            world.await("back", 2_000, () -> status(client, 0).state() == NodeState.READY);
        }
        assertEquals(0, status(client, 0).clockJumpCount(), "half a percent is drift");
        assertTrue(lease.isHeld(), lease::toString);
    }

    /**
     * After a reconnect, an address may belong to another machine. Its clock is compared as if it were the same
     * machine.
     */
    @ParameterizedTest
    @CsvSource({"1, READY", "1000, QUARANTINED", "-1000, QUARANTINED"})
    void aDifferentMachineAtTheAddressMustHaveTheSameClock(long apartMs, NodeState state) {
        world = new VirtualWorld(2);
        VirtualWorld.Client client = client(new RedlockContext().nodes("node-0:1")
                .restartGuard(RestartGuardMode.OFF));
        node(1).redis().clockJump(apartMs);
        node(0).crash();
        world.moveName(0, 1);
        world.await("there", 3_000, () -> node(1).connectionCount() == 1);
        world.runMs(100);
        assertEquals(state, status(client, 0).state(), status(client, 0).problem());
    }

    /**
     * Two steps just below the detection limit, one on each side of a clock sample. Together they end the key more than
     * a fifth of its ttl early.
     */
    @Test
    void undetectedClockStepsDoNotCauseTwoHolders() {
        VirtualWorld.Client client = world(3);
        VirtualWorld.Client other = client();
        world.runMs(3_000 - nowMs() % 1_000 - 5);
        Lease lease = acquired(acquire(client, AcquireOptions.ofTtl(Duration.ofMillis(100)).tryOnce()));
        stepNodesByMs(9);
        world.runMs(40);
        stepNodesByMs(9);
        runUntilTheKeysEnd(45);
        acquired(acquire(other, options()));
        assertFalse(lease.isHeld(), "two holders, and the first for " + lease.remainingValidityNs() + " ns more");
        world.runMs(3_000);
        assertEquals(0, status(client, 0).clockJumpCount(), "precondition: the steps are undetected");
    }

    /** One step below the limit of 12 ms between two samples, before the second client connects. */
    @Test
    void anUndetectedClockStepDoesNotCauseTwoHolders() {
        VirtualWorld.Client client = world(3);
        world.runMs(3_000 - nowMs() % 1_000 + 100);
        Lease lease = acquired(acquire(client, AcquireOptions.ofTtl(Duration.ofMillis(100)).tryOnce()));
        stepNodesByMs(10);
        world.runMs(80);
        VirtualWorld.Client other = client();
        runUntilTheKeysEnd(20);
        acquired(acquire(other, options()));
        assertFalse(lease.isHeld(), "two holders, and the first for " + lease.remainingValidityNs() + " ns more");
        world.runMs(3_000);
        assertEquals(0, status(client, 0).clockJumpCount(), "precondition: the step is undetected");
    }

    /** The clock allowance assumes a fixed time between samples, so a sample must not wait for other work. */
    @ParameterizedTest
    @ValueSource(ints = {20, 260, 1_000, 1_110})
    void clockSamplesAreOnTime(int sampleMs) {
        world = new VirtualWorld(1);
        VirtualWorld.Client client = client(context().clockSampleInterval(Duration.ofMillis(sampleMs)));
        node(0).delay(() -> 3_000_000);
        List<Long> readAtMs = new ArrayList<>();
        node(0).timeListener(link -> {
            readAtMs.add(nowMs());
            return () -> {
            };
        });
        world.runMs(6L * sampleMs);
        for (int i = 1; i < 5; i++) {
            assertEquals(sampleMs, readAtMs.get(i) - readAtMs.get(i - 1), "ms to sample " + i + " of " + readAtMs);
        }
        assertEquals(NodeState.READY, status(client, 0).state());
    }

    /** Runs in steps of a millisecond, because the expiry of a key is not an event of virtual time. */
    private void runUntilTheKeysEnd(int limitMs) {
        for (int i = 0; i < limitMs && keyCount() > 0; i++) {
            world.runMs(1);
        }
        assertEquals(0, keyCount(), "keys that exist");
    }

    private void stepNodesByMs(long ms) {
        node(0).redis().clockJump(ms);
        node(1).redis().clockJump(ms);
        node(2).redis().clockJump(ms);
    }

    @Test
    void aLateGrantOfAnExtensionAddsAHolderNode() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        world.runMs(10);
        node(2).delay(() -> 5_000_000);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "two replies decide");
        world.runMs(20);
        node(0).redis().clockJump(60_000);
        world.runMs(1_300);
        assertEquals(1, status(client, 0).clockJumpCount(), "the jump is detected");
        assertTrue(lease.isHeld(), "nodes 1 and 2 still hold it: " + lease);
    }

    @Test
    void aSlowReplyIsNotAClockJump() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.delay(() -> 900_000_000));
        world.runMs(10_000);
        assertEquals(0, status(client, 0).clockJumpCount(), "a delay is not a clock jump");
    }

    /** The clock of a new process is known before its handshake is complete. */
    @Test
    void aJumpThatAHandshakeShowsCountsAlsoIfTheHandshakeFails() {
        VirtualWorld.Client client = world(3);
        node(2).crash();
        world.runMs(10);
        Lease lease = lease(client);
        node(1).crash();
        node(1).restart(true);
        node(1).redis().clockJump(-30_000);
        node(1).redis().failNext("SCRIPT", "LOADING Redis is loading the dataset in memory", 10_000);
        world.await("lost", 5_000, () -> !lease.isHeld());
        assertEquals(LeaseState.LOST, lease.state());
    }
}
