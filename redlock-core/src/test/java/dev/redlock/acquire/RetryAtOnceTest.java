package dev.redlock.acquire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.ResourceKey;
import dev.redlock.TestClient;
import dev.redlock.api.AcquireCallback;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.ExtendCallback;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.IdlePolicy;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseCallback;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.engine.TestEngine;
import dev.redlock.sim.LiveNodes;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Await;
import dev.redlock.testing.VirtualTest;
import dev.redlock.time.NanoClock;
import io.netty.channel.local.LocalIoHandler;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A caller retries from its callback, immediately and without end: it must not starve the sockets and timers that end
 * the outage.
 */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class RetryAtOnceTest extends VirtualTest {

    /** The time of one retry of the caller. */
    private static final long ROUND_NS = 20_000;
    /** Far more than a turn of the loop may execute, and less than the limit of the world. */
    private static final int ROUNDS_MAX = 50_000;
    /** The retry after which the outage ends, if it has no other end. */
    private static final int ROUND_OF_RECOVERY = 1_000;

    private VirtualWorld.Client client;
    private int rounds;
    private final List<AcquireOutcome.Kind> kinds = new ArrayList<>();

    /** Counts a retry, which takes some time; returns false when the caller stops. */
    private boolean isNextRound(Runnable recovery) {
        world.pass(ROUND_NS);
        if (++rounds == ROUND_OF_RECOVERY) {
            recovery.run();
        }
        return rounds < ROUNDS_MAX;
    }

    /** Acquires repeatedly, until it has the lock or an unexpected outcome. */
    private Lease acquireAgainAndAgain(AcquireOutcome.Kind expected, Runnable recovery) {
        Lease lease = client.redlock().newLease();
        AcquireCallback[] again = new AcquireCallback[1];
        again[0] = outcome -> {
            if (kinds.isEmpty() || kinds.get(kinds.size() - 1) != outcome.kind()) {
                kinds.add(outcome.kind());
            }
            if (outcome.kind() == expected && isNextRound(recovery)) {
                client.redlock().acquire(client.redlock().key("orders"), options(), lease, again[0]);
            }
        };
        client.redlock().acquire(client.redlock().key("orders"), options(), lease, again[0]);
        return lease;
    }

    private void assertAcquiredAfter(AcquireOutcome.Kind expected) {
        world.settle();
        assertEquals(List.of(expected, AcquireOutcome.Kind.ACQUIRED), kinds, rounds + " rounds");
        assertTrue(rounds > 10, "repeatedly: " + rounds);
    }

    @Test
    void nodesConnectWhileCallersRetryImmediately() {
        client = world(3);
        eachNode(node -> node.breakConnections());
        world.settle();
        acquireAgainAndAgain(AcquireOutcome.Kind.NO_QUORUM, () -> {
        });
        assertAcquiredAfter(AcquireOutcome.Kind.NO_QUORUM);
    }

    /**
     * A set ends the batches of the turn, so an acquire that follows a release in them is sent inside the send of the
     * set. It fails there, and its caller tries again there too. The set has one outcome all the same.
     */
    @Test
    void anAcquireThatFailsInsideTheSendOfAnotherIsTriedAgain() {
        client = world(3);
        Lease held = lease(client);
        node(1).crash();
        node(2).crash();
        world.runMs(100);
        List<AcquireOutcome.Kind> ofSet = new ArrayList<>();
        List<AcquireOutcome.Kind> ofName = new ArrayList<>();
        Redlock redlock = client.redlock();
        client.call(() -> {
            held.releaseAsync();
            redlock.acquire(redlock.key("orders"), options(), redlock.newLease(), outcome -> {
                ofName.add(outcome.kind());
                if (ofName.size() == 1) {
                    redlock.acquire(redlock.key("orders"), options(), redlock.newLease(),
                            second -> ofName.add(second.kind()));
                }
            });
            redlock.acquire(redlock.keyOfAll(List.of("orders", "stock")), options(), redlock.newLease(),
                    outcome -> ofSet.add(outcome.kind()));
        });
        world.settle();
        assertEquals(List.of(AcquireOutcome.Kind.NO_QUORUM), ofSet);
        assertEquals(List.of(AcquireOutcome.Kind.NO_QUORUM, AcquireOutcome.Kind.NO_QUORUM), ofName);
    }

    /** Both acquires follow the release in its batch. They fail without a command, and each retry follows the other. */
    @Test
    void retriesThatFollowAReleaseDoNotStarveTheLoop() {
        client = world(3);
        Lease held = lease(client);
        eachNode(node -> node.redis().clockJump(1_000));
        world.await("quarantined", 2_000,
                () -> client.redlock().nodes().stream().allMatch(node -> node.state() == NodeState.QUARANTINED));
        long turnsBefore = client.turnCount();
        client.call(() -> {
            held.releaseAsync();
            for (int i = 0; i < 2; i++) {
                acquireAgainAndAgain(AcquireOutcome.Kind.NO_QUORUM, () -> {
                });
            }
        });
        world.settle();
        long turns = client.turnCount() - turnsBefore;
        assertTrue(rounds >= ROUNDS_MAX && turns > rounds / 20, rounds + " rounds in " + turns + " turns");
    }

    /** They wait for the batch of the release. Each one that fails is rolled back after its command, if it has one. */
    @Test
    void manyAcquiresThatFollowAReleaseAllEnd() {
        client = world(3);
        Lease held = lease(client);
        node(1).crash();
        node(2).crash();
        world.runMs(100);
        List<AcquireOutcome.Kind> outcomes = new ArrayList<>();
        client.call(() -> {
            held.releaseAsync();
            for (int i = 0; i < 2_000; i++) {
                client.redlock()
                        .acquire(client.redlock().key("orders"), options(), client.redlock().newLease(),
                                outcome -> outcomes.add(outcome.kind()));
            }
        });
        world.settle();
        assertEquals(Collections.nCopies(2_000, AcquireOutcome.Kind.NO_QUORUM), outcomes);
        assertEquals(0, client.engine().claimsOut());
        assertEquals(0, node(0).redis().keys().size(), "keys");
    }

    @Test
    void backPressureEndsWhenTheNodesAnswer() {
        world = new VirtualWorld(3);
        client = client(context().nodeBackPressure(16, 4096));
        eachNode(node -> node.pause());
        for (int i = 0; i < 30; i++) {
            client.redlock().acquireAsync("others/" + i, options());
        }
        acquireAgainAndAgain(AcquireOutcome.Kind.NO_QUORUM, () -> eachNode(node -> node.resume()));
        assertAcquiredAfter(AcquireOutcome.Kind.NO_QUORUM);
    }

    @Test
    void anOverloadedClientStillReadsReplies() {
        world = new VirtualWorld(3);
        client = client(context().inFlightMax(1));
        eachNode(node -> node.pause());
        client.redlock().acquireAsync("others", options());
        acquireAgainAndAgain(AcquireOutcome.Kind.OVERLOADED, () -> eachNode(node -> node.resume()));
        assertAcquiredAfter(AcquireOutcome.Kind.OVERLOADED);
    }

    @Test
    void closeReleasesLocksWhileCallersRetryImmediately() {
        client = world(3);
        lease(client);
        eachNode(node -> node.pause());
        CompletableFuture<CloseReport> report = client.engine().close(Duration.ofSeconds(10));
        List<Integer> closedIn = new ArrayList<>();
        report.thenRun(() -> closedIn.add(rounds));
        acquireAgainAndAgain(AcquireOutcome.Kind.CLOSED, () -> eachNode(node -> node.resume()));
        world.settle();
        assertEquals(new CloseReport(1, List.of()), report.getNow(null), "rounds " + rounds);
        assertTrue(closedIn.get(0) < ROUND_OF_RECOVERY + 100, "immediately: in round " + closedIn);
        assertEquals(List.of(AcquireOutcome.Kind.CLOSED), kinds);
        assertEquals(ROUNDS_MAX, rounds, "each round has its outcome");
    }

    @Test
    void extensionRetriesDoNotKeepNodesFromConnecting() {
        client = world(3);
        Lease lease = lease(client);
        eachNode(node -> node.breakConnections());
        world.settle();
        List<ExtendOutcome> outcomes = new ArrayList<>();
        ExtendCallback[] again = new ExtendCallback[1];
        again[0] = (extended, outcome) -> {
            if (outcome != ExtendOutcome.NOT_EXTENDED) {
                outcomes.add(outcome);
            } else if (isNextRound(() -> {
            })) {
                lease.extend(10_000, again[0]);
            }
        };
        lease.extend(10_000, again[0]);
        world.settle();
        assertEquals(List.of(ExtendOutcome.EXTENDED), outcomes, rounds + " rounds");
        assertTrue(rounds > 10, "repeatedly: " + rounds);
    }

    /** Each release and each extension of an ended lease completes immediately. */
    @Test
    void callsOnAnEndedLeaseDoNotStarveTheLoop() {
        client = world(3);
        Lease lease = lease(client);
        release(lease);
        eachNode(node -> node.pause());
        CompletableFuture<AcquireOutcome> other = acquireAsync(client, options());
        ReleaseCallback[] again = new ReleaseCallback[1];
        again[0] = (released, outcome) -> {
            if (!other.isDone() && isNextRound(() -> eachNode(node -> node.resume()))) {
                lease.extend(10_000, (extended, extension) -> lease.release(again[0]));
            }
        };
        lease.release(again[0]);
        world.settle();
        assertTrue(other.isDone(), "completed in round " + rounds);
        assertTrue(rounds < ROUND_OF_RECOVERY + 100, "immediately: in round " + rounds);
    }

    /** A cancellation completes inside its call, up to a nesting depth. */
    @Test
    void cancelledAcquisitionsDoNotStarveTheLoop() {
        client = world(3);
        eachNode(node -> node.pause());
        CompletableFuture<AcquireOutcome> other = client.redlock()
                .acquireAsync("others", options())
                .toCompletableFuture();
        Lease lease = client.redlock().newLease();
        AcquireCallback[] again = new AcquireCallback[1];
        again[0] = outcome -> {
            if (!other.isDone() && isNextRound(() -> eachNode(node -> node.resume()))) {
                client.redlock()
                        .acquire(client.redlock().key("orders"), options().waitUpTo(TTL), lease, again[0]);
                lease.close();
            }
        };
        client.redlock().acquire(client.redlock().key("orders"), options().waitUpTo(TTL), lease, again[0]);
        lease.close();
        world.settle();
        assertTrue(other.isDone(), "completed in round " + rounds);
        assertTrue(rounds < ROUND_OF_RECOVERY + 100, "immediately: in round " + rounds);
    }

    /** Calls that follow each other are not nested, so none is deferred to the next turn. */
    @Test
    void manyCancellationsInOneTurnCompleteInsideTheirCalls() {
        client = world(3);
        AtomicInteger received = new AtomicInteger();
        List<Integer> receivedAfterEach = new ArrayList<>();
        List<Integer> expected = new ArrayList<>();
        client.call(() -> {
            for (int i = 1; i <= 100; i++) {
                Lease lease = client.redlock().newLease();
                client.redlock()
                        .acquire(client.redlock().key("orders-" + i), options(), lease,
                                outcome -> received.incrementAndGet());
                lease.close();
                receivedAfterEach.add(received.get());
                expected.add(i);
            }
        });
        world.settle();
        assertEquals(expected, receivedAfterEach);
    }

    /** The same on the client's own thread, in real time. */
    @ParameterizedTest
    @EnumSource
    void immediateRetriesDoNotStarveTheClientsOwnLoop(IdlePolicy policy) {
        TestEngine.RunningLoop thread = TestEngine.RunningLoop.start(LocalIoHandler.newFactory(), policy,
                "retry-at-once");
        try (LiveNodes nodes = new LiveNodes(1)) {
            TestClient live = new TestClient(new RedlockContext().nodes(nodes.addresses())
                    .restartGuard(RestartGuardMode.OFF), thread.loop(), nodes.newTransport(), NanoClock.system(), 1);
            live.open().join();
            nodes.onLoop(() -> {
                nodes.node(0).crash();
                return null;
            });
            Await.until("disconnected", () -> live.redlock().nodes().get(0).state() != NodeState.READY);
            AtomicInteger received = new AtomicInteger();
            AtomicReference<AcquireOutcome.Kind> last = new AtomicReference<>();
            AtomicBoolean isOver = new AtomicBoolean();
            ResourceKey key = live.redlock().key("orders");
            Lease lease = live.redlock().newLease();
            AcquireCallback[] again = new AcquireCallback[1];
            again[0] = outcome -> {
                last.set(outcome.kind());
                received.incrementAndGet();
                if (!outcome.isAcquired() && !isOver.get()) {
                    live.redlock().acquire(key, options(), lease, again[0]);
                }
            };
            live.redlock().acquire(key, options(), lease, again[0]);
            try {
                Await.until("refused", () -> received.get() > 100);
                nodes.onLoop(() -> {
                    nodes.node(0).restart(true);
                    return null;
                });
                Await.until("acquired", () -> last.get() == AcquireOutcome.Kind.ACQUIRED);
            } finally {
                isOver.set(true);
            }
            live.redlock().close();
        } finally {
            thread.shutDown();
        }
    }

    /**
     * Requests after the end of the loop complete on another thread, so the loop ends although the caller never stops.
     */
    @ParameterizedTest
    @EnumSource
    void aLoopTerminatesDespiteImmediateRetries(IdlePolicy policy) {
        TestEngine.RunningLoop thread = TestEngine.RunningLoop.start(LocalIoHandler.newFactory(), policy,
                "retry-at-once");
        AtomicBoolean isOver = new AtomicBoolean();
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger received = new AtomicInteger();
        try (LiveNodes nodes = new LiveNodes(1)) {
            TestClient live = new TestClient(new RedlockContext().nodes(nodes.addresses()), thread.loop(),
                    nodes.newTransport(), NanoClock.system(), 1);
            live.open().join();
            ResourceKey key = live.redlock().key("orders");
            Lease lease = live.redlock().newLease();
            ThreadLocal<Boolean> isCalling = ThreadLocal.withInitial(() -> false);
            AcquireCallback[] again = new AcquireCallback[1];
            again[0] = outcome -> {
                received.incrementAndGet();
                inside.addAndGet(isCalling.get() ? 1 : 0);
                if (!isOver.get()) {
                    isCalling.set(true);
                    live.redlock().acquire(key, options(), lease, again[0]);
                    isCalling.set(false);
                }
            };
            live.redlock().close();
            live.redlock().acquire(key, options(), lease, again[0]);
            thread.shutDown();
            int receivedBefore = received.get();
            Await.until("completed after the end too", () -> received.get() > receivedBefore + 100);
            isOver.set(true);
            assertEquals(0, inside.get(), "completed inside its call");
        } finally {
            isOver.set(true);
        }
    }
}
