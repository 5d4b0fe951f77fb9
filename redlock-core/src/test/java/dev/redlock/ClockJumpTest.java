package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A node's clock jumps: what it granted is worth nothing any more, and it does not vote for a while. */
class ClockJumpTest extends VirtualTest {

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aLeaseThatNeedsTheNodeIsLostAndItsListenerIsTold(final int jumping) {
        final VirtualWorld.Client client = world(3);
        node(2).crash();
        world.runMs(10);
        final List<LeaseState> told = new ArrayList<>();
        final Lease lease = acquired(acquire(client, options().listener((lost, state) -> told.add(state))));
        node(jumping).redis().clockJump(60_000);
        world.runMs(1_300);
        assertEquals(LeaseState.LOST, lease.state(), "two grants were needed, one is left");
        assertEquals(List.of(LeaseState.LOST), told, "the listener is told once");
        assertFalse(lease.isHeld(), "nobody may rely on it");
        assertEquals(NodeState.QUARANTINED, status(client, jumping).state(), "the node does not vote");
        assertEquals(1, status(client, jumping).clockJumpCount(), "the jump is counted");
        assertEquals(0, keyCount(), "what is left is given back");
        world.runMs(61_000);
        assertEquals(NodeState.READY, status(client, jumping).state(), "after the longest ttl it votes again");
    }

    /** All leases are looked at, those behind one that stays too. */
    @Test
    void onlyLeasesThatNeedTheNodeAreLost() {
        final VirtualWorld.Client client = world(3);
        final List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            final String resource = "orders-" + i;
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

    /** Node 0 renews, then its clock jumps, and only then another node answers. */
    @Test
    void anExtensionDoesNotRestOnAGrantFromBeforeTheJump() {
        world = new VirtualWorld(3);
        final VirtualWorld.Client client = client(context().nodeTimeout(Duration.ofSeconds(1)).clockSampleMs(100));
        final Lease lease = lease(client);
        world.runMs(10);
        node(1).delay(() -> 250_000_000);
        node(2).pause();
        final CompletableFuture<ExtendOutcome> extended = lease.extendAsync(TTL).toCompletableFuture();
        world.runMs(5);
        node(0).redis().clockJump(60_000);
        world.await("the jump is seen", 400, () -> status(client, 0).clockJumpCount() == 1);
        assertFalse(extended.isDone(), "this test wants the jump to be seen first");
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(extended), "one of three");
        assertTrue(lease.isHeld(), "nodes 1 and 2 have it for the old ttl: " + lease);
    }

    /** The answer stands behind the clock's on the connection: when it is read, its node is not trusted any more. */
    @Test
    void anExtensionDoesNotRestOnAGrantFromBehindTheJump() {
        world = new VirtualWorld(3);
        final VirtualWorld.Client client = client(context().nodeTimeout(Duration.ofMillis(500)));
        final Lease lease = lease(client);
        world.runMs(10);
        node(2).pause();
        final CompletableFuture<ExtendOutcome> extended = behindTheClock(() -> lease.extendAsync(TTL)
                .toCompletableFuture());
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(extended), "one of three");
        assertEquals(1, status(client, 0).clockJumpCount(), "the jump was seen");
        assertTrue(lease.isHeld(), "nodes 1 and 2 have it for the old ttl: " + lease);
    }

    /** The same for a lock: it may stand on a node where somebody else's key has just ended too early. */
    @Test
    void aGrantFromBehindTheJumpIsWorthNothing() {
        final VirtualWorld.Client client = world(3);
        node(2).crash();
        world.runMs(50);
        final AcquireOutcome outcome = get(behindTheClock(() -> begin(client, options())));
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
        assertEquals("unknown: granted, but its clock jumped", outcome.voteText(0), "why it does not count");
        assertEquals("granted", outcome.voteText(1), "the other one");
    }

    /** Refusals are no matter of trust: they count, whatever the clock says. */
    @Test
    void aRefusalFromBehindTheJumpIsOne() {
        final VirtualWorld.Client client = world(3);
        node(0).redis().set("orders", "foreign", -1);
        node(1).redis().set("orders", "foreign", -1);
        node(2).pause();
        world.runMs(50);
        final AcquireOutcome outcome = get(behindTheClock(() -> begin(client, options())));
        assertEquals(2, outcome.refusedCount(), outcome::toString);
    }

    /** Jumps node 0's clock and does something while the answer that shows it is on its way. */
    private <T> T behindTheClock(final java.util.function.Supplier<T> call) {
        final boolean[] isRead = {false};
        // Less than the ttl, so that the keys are still there.
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
    void aLeaseThatDoesNotNeedTheNodeStays() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        world.runMs(10);
        node(0).redis().clockJump(60_000);
        world.runMs(1_300);
        assertTrue(lease.isHeld(), "two of three grants still stand: " + lease);
    }

    @Test
    void aListenerMayReleaseTheNextLease() {
        final VirtualWorld.Client client = world(1);
        eachNode(node -> node.delay(() -> 1_000_000));
        final List<String> told = new ArrayList<>();
        final List<Lease> leases = new ArrayList<>();
        final List<CompletableFuture<ReleaseOutcome>> releases = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            final String resource = "orders-" + i;
            leases.add(acquired(get(client.redlock().acquireAsync(resource, options().listener((lost, state) -> {
                told.add(lost.resource());
                leases.stream()
                        .filter(Lease::isHeld)
                        .limit(1)
                        .forEach(other -> releases.add(other.releaseAsync().toCompletableFuture()));
            })))));
        }
        node(0).redis().clockJump(60_000);
        world.runMs(1_300);
        for (final Lease lease : leases) {
            assertTrue(lease.state().isFinal(), "ended: " + lease);
        }
        assertEquals(4, told.size() + releases.size(), "each is lost or released, not both: " + told);
        releases.forEach(release -> assertTrue(release.isDone(), "each release has its outcome"));
        assertEquals(0, client.engine().heldCount(), "nothing is held");
    }

    @Test
    void aGrantThatIsNotDecidedYetIsWorthNothingEither() {
        final VirtualWorld.Client client = world(3);
        node(2).crash();
        world.runMs(50);
        node(1).delay(() -> 20_000_000);
        // The sample of node 0's clock is due while the second grant is on its way.
        world.runMs(1_000 - nowMs() % 1_000 - 4);
        final CompletableFuture<AcquireOutcome> outcome = begin(client, options());
        world.settle();
        assertNotEquals(null, key(0), "granted before the jump");
        node(0).redis().clockJump(60_000);
        world.await("the jump is seen", 400, () -> status(client, 0).clockJumpCount() == 1 || outcome.isDone());
        assertEquals(1, status(client, 0).clockJumpCount(), "this test wants the jump to be seen first");
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, get(outcome).kind(), "one grant of two does not count any more");
        assertEquals("unknown: granted, but its clock jumped", outcome.join().voteText(0), "and the outcome says why");
    }

    @Test
    void aJumpDoesNotShortenTheQuarantineOfARestartedNode() {
        world = new VirtualWorld(1);
        final VirtualWorld.Client client = client(context().maxTtl(Duration.ofSeconds(2)).clockSampleMs(100));
        node(0).crash();
        node(0).restart(false);
        world.await("back", 2_000, () -> status(client, 0).state() == NodeState.QUARANTINED);
        final long backMs = nowMs();
        world.runMs(100);
        node(0).redis().clockJump(5_000);
        world.await("jump seen", 500, () -> status(client, 0).clockJumpCount() == 1);
        // A reconnect would ask the restart guard again, which is not what this test is about.
        assertEquals(1, status(client, 0).disconnectCount(), "it was away once");
        world.await("votes again", 5_000, () -> status(client, 0).state() == NodeState.READY);
        assertEquals(1, status(client, 0).disconnectCount(), "it was away once");
        assertTrue(nowMs() - backMs >= 3_000, "two seconds of ttl and one of rounding, but it was "
                + (nowMs() - backMs) + " ms");
    }

    /** Whatever the process did: the clock belongs to the machine, and keys read back from disk expire by it. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aJumpWhileTheNodeIsAwayIsSeenBeforeItVotes(final boolean isRestarted) {
        world = new VirtualWorld(3);
        final VirtualWorld.Client client = client(context().restartGuard(RestartGuardMode.OFF));
        node(2).crash();
        world.runMs(10);
        final Lease lease = lease(client);
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
        assertEquals(NodeState.QUARANTINED, status(client, 0).state(), "it has not voted for a moment");
        assertEquals(1, status(client, 0).clockJumpCount(), "the jump is counted once");
        assertEquals(LeaseState.LOST, lease.state(), "two grants were needed, one is left");
        assertTrue(status(client, 0).problem().contains("jumped"), status(client, 0).problem());
        world.runMs(61_000);
        assertEquals(NodeState.READY, status(client, 0).state(), "after the longest ttl it votes again");
        assertEquals(1, status(client, 0).clockJumpCount(), "the new time is the reference");
    }

    /** The holder must not go on because the node, once it is back, is of no use for something else. */
    @Test
    void aJumpIsHeededThoughTheHandshakeFails() {
        world = new VirtualWorld(3);
        final VirtualWorld.Client client = client();
        node(2).crash();
        world.runMs(10);
        final Lease lease = lease(client);
        node(0).redis().failNext("SCRIPT", "LOADING Redis is loading the dataset in memory", 1_000);
        node(0).redis().clockJump(60_000);
        node(0).breakConnections();
        world.await("the jump is seen", 1_000, () -> status(client, 0).clockJumpCount() == 1);
        assertEquals(LeaseState.LOST, lease.state(), "two grants were needed, one is left");
        node(0).redis().clearErrors();
        world.await("back", 3_000, () -> status(client, 0).state() == NodeState.QUARANTINED);
        assertTrue(status(client, 0).problem().contains("jumped"), status(client, 0).problem());
        assertEquals(1, status(client, 0).clockJumpCount(), "one jump");
    }

    @Test
    void aRestartWithoutAJumpIsNone() {
        world = new VirtualWorld(3);
        final VirtualWorld.Client client = client(context().restartGuard(RestartGuardMode.OFF));
        final Lease lease = lease(client);
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

    /** An address may lead to another machine after a reconnect. Its clock is judged as if it were the same. */
    @ParameterizedTest
    @CsvSource({"1, READY", "1000, QUARANTINED", "-1000, QUARANTINED"})
    void anotherMachineBehindTheAddressMustAgreeWithTheOneBefore(final long apartMs, final NodeState state) {
        world = new VirtualWorld(2);
        final VirtualWorld.Client client = client(new RedlockContext().nodes("node-0:1")
                .restartGuard(RestartGuardMode.OFF));
        node(1).redis().clockJump(apartMs);
        node(0).crash();
        world.moveName(0, 1);
        world.await("there", 3_000, () -> node(1).connectionCount() == 1);
        world.runMs(100);
        assertEquals(state, status(client, 0).state(), status(client, 0).problem());
    }

    /**
     * Steps that the clock watch takes for drift: just under its limit, one on each side of a sample. They add up, so
     * the key ends more than a fifth of its ttl early.
     */
    @Test
    void stepsTooSmallToBeSeenDoNotMakeTwoHolders() {
        final VirtualWorld.Client client = world(3);
        final VirtualWorld.Client other = client();
        world.runMs(3_000 - nowMs() % 1_000 - 5);
        final Lease lease = acquired(acquire(client, AcquireOptions.ofTtl(Duration.ofMillis(100)).tryOnce()));
        stepNodesByMs(9);
        world.runMs(40);
        stepNodesByMs(9);
        runUntilTheKeysEnd(45);
        acquired(acquire(other, options()));
        assertFalse(lease.isHeld(), "two holders, and the first for " + lease.remainingValidityNs() + " ns more");
        world.runMs(3_000);
        assertEquals(0, status(client, 0).clockJumpCount(), "this test wants steps that are not seen");
    }

    /** One step under the limit of 12 ms between two samples, which a client that is new has no part in. */
    @Test
    void aStepTooSmallToBeSeenDoesNotMakeTwoHolders() {
        final VirtualWorld.Client client = world(3);
        world.runMs(3_000 - nowMs() % 1_000 + 100);
        final Lease lease = acquired(acquire(client, AcquireOptions.ofTtl(Duration.ofMillis(100)).tryOnce()));
        stepNodesByMs(10);
        world.runMs(80);
        final VirtualWorld.Client other = client();
        runUntilTheKeysEnd(20);
        acquired(acquire(other, options()));
        assertFalse(lease.isHeld(), "two holders, and the first for " + lease.remainingValidityNs() + " ns more");
        world.runMs(3_000);
        assertEquals(0, status(client, 0).clockJumpCount(), "this test wants a step that is not seen");
    }

    /** What a clock may move unseen is counted from sample to sample, so a sample waits for nothing else. */
    @ParameterizedTest
    @ValueSource(ints = {20, 260, 1_000, 1_110})
    void theClockIsReadWhenItIsDue(final int sampleMs) {
        world = new VirtualWorld(1);
        final VirtualWorld.Client client = client(context().clockSampleMs(sampleMs));
        node(0).delay(() -> 3_000_000);
        final List<Long> readAtMs = new ArrayList<>();
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

    /** By the millisecond: nothing else happens then that virtual time would stop at. */
    private void runUntilTheKeysEnd(final int limitMs) {
        for (int i = 0; i < limitMs && keyCount() > 0; i++) {
            world.runMs(1);
        }
        assertEquals(0, keyCount(), "keys that stand");
    }

    private void stepNodesByMs(final long ms) {
        node(0).redis().clockJump(ms);
        node(1).redis().clockJump(ms);
        node(2).redis().clockJump(ms);
    }

    @Test
    void aGrantOfAnExtensionCountsThoughItCameLate() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        world.runMs(10);
        node(2).delay(() -> 5_000_000);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "two answers decide");
        world.runMs(20);
        node(0).redis().clockJump(60_000);
        world.runMs(1_300);
        assertEquals(1, status(client, 0).clockJumpCount(), "the jump is seen");
        assertTrue(lease.isHeld(), "nodes 1 and 2 still hold it: " + lease);
    }

    @Test
    void aSlowAnswerIsNoJump() {
        final VirtualWorld.Client client = world(3);
        eachNode(node -> node.delay(() -> 900_000_000));
        world.runMs(10_000);
        assertEquals(0, status(client, 0).clockJumpCount(), "delay is not time travel");
    }
}
