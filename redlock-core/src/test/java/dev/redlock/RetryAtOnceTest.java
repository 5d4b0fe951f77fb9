package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.engine.TestEngine;
import dev.redlock.sim.LiveNodes;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.time.NanoClock;
import io.netty.channel.local.LocalIoHandler;
import java.time.Duration;
import java.util.ArrayList;
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
 * A caller that tries again from its callback, at once and without end: it must not keep its event loop from the
 * sockets and timers on which the end of the outage hangs.
 */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class RetryAtOnceTest extends VirtualTest {

    /** What each round of the caller takes. */
    private static final long ROUND_NS = 20_000;
    /** Far more than a turn of the loop may serve, and less than the world has patience for. */
    private static final int ROUNDS_MAX = 50_000;
    /** At this round the cause of the outage goes away, where it does not by itself. */
    private static final int ROUND_OF_RECOVERY = 1_000;

    private VirtualWorld.Client client;
    private int rounds;
    private final List<AcquireOutcome.Kind> kinds = new ArrayList<>();

    /** Counts a round, which takes some time; false if the caller gives up. */
    private boolean isNextRound(final Runnable recovery) {
        world.pass(ROUND_NS);
        if (++rounds == ROUND_OF_RECOVERY) {
            recovery.run();
        }
        return rounds < ROUNDS_MAX;
    }

    /** Acquires again and again, until it has the lock or another outcome than the expected one. */
    private Lease acquireAgainAndAgain(final AcquireOutcome.Kind expected, final Runnable recovery) {
        final Lease lease = client.redlock().newLease();
        final AcquireCallback[] again = new AcquireCallback[1];
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

    private void assertAcquiredAfter(final AcquireOutcome.Kind expected) {
        world.settle();
        assertEquals(List.of(expected, AcquireOutcome.Kind.ACQUIRED), kinds, rounds + " rounds");
        assertTrue(rounds > 10, "again and again: " + rounds);
    }

    @Test
    void nodesConnectAndShakeHandsMeanwhile() {
        client = world(3);
        eachNode(node -> node.breakConnections());
        world.settle();
        acquireAgainAndAgain(AcquireOutcome.Kind.NO_QUORUM, () -> {
        });
        assertAcquiredAfter(AcquireOutcome.Kind.NO_QUORUM);
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
    void anOverloadedClientGetsTheAnswersThatItWaitsFor() {
        world = new VirtualWorld(3);
        client = client(context().inFlightMax(1));
        eachNode(node -> node.pause());
        client.redlock().acquireAsync("others", options());
        acquireAgainAndAgain(AcquireOutcome.Kind.OVERLOADED, () -> eachNode(node -> node.resume()));
        assertAcquiredAfter(AcquireOutcome.Kind.OVERLOADED);
    }

    @Test
    void aClientThatIsClosedGivesBackWhatIsHeld() {
        client = world(3);
        lease(client);
        eachNode(node -> node.pause());
        final CompletableFuture<CloseReport> report = client.engine().close(Duration.ofSeconds(10));
        final List<Integer> closedIn = new ArrayList<>();
        report.thenRun(() -> closedIn.add(rounds));
        acquireAgainAndAgain(AcquireOutcome.Kind.CLOSED, () -> eachNode(node -> node.resume()));
        world.settle();
        assertEquals(new CloseReport(1, List.of()), report.getNow(null), "rounds " + rounds);
        assertTrue(closedIn.get(0) < ROUND_OF_RECOVERY + 100, "at once: in round " + closedIn);
        assertEquals(List.of(AcquireOutcome.Kind.CLOSED), kinds);
        assertEquals(ROUNDS_MAX, rounds, "each round has its outcome");
    }

    @Test
    void anExtensionThatCannotBeSentIsTriedAgainWhileNodesConnect() {
        client = world(3);
        final Lease lease = lease(client);
        eachNode(node -> node.breakConnections());
        world.settle();
        final List<ExtendOutcome> outcomes = new ArrayList<>();
        final ExtendCallback[] again = new ExtendCallback[1];
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
        assertTrue(rounds > 10, "again and again: " + rounds);
    }

    /** Each release and each extension of a lease that has ended is answered at once. */
    @Test
    void callsOnAnEndedLeaseLetOthersGoOn() {
        client = world(3);
        final Lease lease = lease(client);
        release(lease);
        eachNode(node -> node.pause());
        final CompletableFuture<AcquireOutcome> other = begin(client, options());
        final ReleaseCallback[] again = new ReleaseCallback[1];
        again[0] = (released, outcome) -> {
            if (!other.isDone() && isNextRound(() -> eachNode(node -> node.resume()))) {
                lease.extend(10_000, (extended, extension) -> lease.release(again[0]));
            }
        };
        lease.release(again[0]);
        world.settle();
        assertTrue(other.isDone(), "answered in round " + rounds);
        assertTrue(rounds < ROUND_OF_RECOVERY + 100, "at once: in round " + rounds);
    }

    /** A cancellation is delivered inside of the call that cancels, up to a depth. */
    @Test
    void acquisitionsThatAreCancelledAtOnceLetOthersGoOn() {
        client = world(3);
        eachNode(node -> node.pause());
        final CompletableFuture<AcquireOutcome> other = client.redlock()
                .acquireAsync("others", options())
                .toCompletableFuture();
        final Lease lease = client.redlock().newLease();
        final AcquireCallback[] again = new AcquireCallback[1];
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
        assertTrue(other.isDone(), "answered in round " + rounds);
        assertTrue(rounds < ROUND_OF_RECOVERY + 100, "at once: in round " + rounds);
    }

    /** The same on a thread of the client's own, where a deadline that nobody looks at is all it takes. */
    @ParameterizedTest
    @EnumSource
    void aLoopOfTheClientsOwnGoesOn(final IdlePolicy policy) {
        final TestEngine.RunningLoop thread = TestEngine.RunningLoop.start(LocalIoHandler.newFactory(), policy,
                "retry-at-once");
        try (LiveNodes nodes = new LiveNodes(1)) {
            final TestClient live = new TestClient(new RedlockContext().nodes(nodes.addresses())
                    .restartGuard(RestartGuardMode.OFF), thread.loop(), nodes.newTransport(), NanoClock.system(), 1);
            live.open().join();
            nodes.onLoop(() -> {
                nodes.node(0).crash();
                return null;
            });
            Await.until("disconnected", () -> live.redlock().nodes().get(0).state() != NodeState.READY);
            final AtomicInteger told = new AtomicInteger();
            final AtomicReference<AcquireOutcome.Kind> last = new AtomicReference<>();
            final AtomicBoolean isOver = new AtomicBoolean();
            final ResourceKey key = live.redlock().key("orders");
            final Lease lease = live.redlock().newLease();
            final AcquireCallback[] again = new AcquireCallback[1];
            again[0] = outcome -> {
                last.set(outcome.kind());
                told.incrementAndGet();
                if (!outcome.isAcquired() && !isOver.get()) {
                    live.redlock().acquire(key, options(), lease, again[0]);
                }
            };
            live.redlock().acquire(key, options(), lease, again[0]);
            try {
                Await.until("refused", () -> told.get() > 100);
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

    /** What is asked for after the end is answered elsewhere, so the loop has an end although the caller has none. */
    @ParameterizedTest
    @EnumSource
    void aLoopEndsAlthoughItsCallerGoesOn(final IdlePolicy policy) {
        final TestEngine.RunningLoop thread = TestEngine.RunningLoop.start(LocalIoHandler.newFactory(), policy,
                "retry-at-once");
        final AtomicBoolean isOver = new AtomicBoolean();
        final AtomicInteger inside = new AtomicInteger();
        final AtomicInteger told = new AtomicInteger();
        try (LiveNodes nodes = new LiveNodes(1)) {
            final TestClient live = new TestClient(new RedlockContext().nodes(nodes.addresses()), thread.loop(),
                    nodes.newTransport(), NanoClock.system(), 1);
            live.open().join();
            final ResourceKey key = live.redlock().key("orders");
            final Lease lease = live.redlock().newLease();
            final ThreadLocal<Boolean> isCalling = ThreadLocal.withInitial(() -> false);
            final AcquireCallback[] again = new AcquireCallback[1];
            again[0] = outcome -> {
                told.incrementAndGet();
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
            final int toldBefore = told.get();
            Await.until("told after the end too", () -> told.get() > toldBefore + 100);
            isOver.set(true);
            assertEquals(0, inside.get(), "told inside of the call that asks");
        } finally {
            isOver.set(true);
        }
    }
}
