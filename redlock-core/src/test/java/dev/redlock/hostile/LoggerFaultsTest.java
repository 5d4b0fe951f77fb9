package dev.redlock.hostile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.LiveNodes;
import dev.redlock.sim.ScarceAllocator;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Await;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A log handler is code of the user: whatever it does, the state of the client stays correct. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class LoggerFaultsTest extends VirtualTest {

    private static final Logger LOG = Logger.getLogger("dev.redlock");
    private static final Duration LONG = Duration.ofSeconds(60);

    private Handler[] usualHandlers;
    private HostileHandler hostile;
    private VirtualWorld.Client client;

    /** The reaction of a handler to each record. */
    enum Fault {
        EXCEPTION, ERROR, CALLS_BACK, CALLS_BACK_AND_THROWS
    }

    private final class HostileHandler extends Handler {
        private final Fault fault;
        private int recordCount;
        private int depth;

        HostileHandler(Fault fault) {
            this.fault = fault;
        }

        @Override
        public void publish(LogRecord message) {
            recordCount++;
            if (client != null && depth == 0 && fault.name().startsWith("CALLS_BACK")) {
                depth++;
                try {
                    callBack();
                } finally {
                    depth--;
                }
            }
            if (fault == Fault.ERROR) {
                throw new AssertionError("a handler of the log, thrown by a test");
            }
            if (fault != Fault.CALLS_BACK) {
                throw new IllegalStateException("a handler of the log, thrown by a test");
            }
        }

        /** Calls the whole API, on the loop. */
        private void callBack() {
            Redlock redlock = client.redlock();
            redlock.acquireAsync("logged", options()).whenComplete((outcome, failure) -> {
                if (outcome.isAcquired()) {
                    outcome.lease().releaseAsync();
                }
            });
            held.removeIf(lease -> lease.state().isFinal());
            if (!held.isEmpty() && recordCount % 3 == 0) {
                held.remove(0).releaseAsync();
            }
            if (!held.isEmpty() && recordCount % 3 == 1) {
                try {
                    held.get(0).extendAsync(LONG);
                } catch (IllegalStateException e) {
                    // An extension is in progress.
                }
            }
            redlock.toString();
        }

        @Override
        public void flush() {
            // Nothing is buffered.
        }

        @Override
        public void close() {
            // There is nothing to close.
        }
    }

    private final List<Lease> held = new ArrayList<>();

    @BeforeEach
    void keepHandlers() {
        usualHandlers = LOG.getHandlers();
        for (Handler handler : usualHandlers) {
            LOG.removeHandler(handler);
        }
    }

    @AfterEach
    void restoreHandlers() {
        LOG.removeHandler(hostile);
        for (Handler handler : usualHandlers) {
            LOG.addHandler(handler);
        }
        LOG.setLevel(Level.SEVERE);
        LOG.setUseParentHandlers(true);
    }

    private void logTo(Fault fault) {
        hostile = new HostileHandler(fault);
        LOG.setUseParentHandlers(false);
        LOG.addHandler(hostile);
        LOG.setLevel(Level.ALL);
    }

    /** A READY node has a connection, whenever the loop is idle. */
    private void watch() {
        world.observer(() -> {
            for (NodeStatus status : client == null ? List.<NodeStatus>of() : client.redlock().nodes()) {
                if (status.state() == NodeState.READY) {
                    assertTrue(node(status.index()).connectionCount() > 0, () -> status + " has no connection");
                }
            }
        });
    }

    private void hostileWorld(Fault fault) {
        world = new VirtualWorld(3);
        logTo(fault);
        watch();
        client = client(context().restartGuard(RestartGuardMode.OFF));
    }

    private void assertWorks() {
        assertTrue(hostile.recordCount > 0, "something was logged, or the test shows nothing");
        world.await("all nodes are ready", 70_000, () -> client.redlock()
                .nodes()
                .stream()
                .allMatch(status -> status.state() == NodeState.READY));
        Lease lease = acquired(get(client.redlock().acquireAsync("next", options())));
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        world.runMs(100);
        held.forEach(Lease::close);
        world.runMs(1_000);
        assertEquals(0, client.engine().claimsOut(), "claims with pending replies");
        assertEquals(0, client.engine().heldCount(), "leases that are held");
    }

    private Lease hold(String resource, AcquireOptions options) {
        Lease lease = acquired(get(client.redlock().acquireAsync(resource, options)));
        held.add(lease);
        return lease;
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void logHandlersThatThrowWhileNodesReconnectChangeNothing(Fault fault) {
        hostileWorld(fault);
        for (int round = 0; round < 9; round++) {
            int index = round % 3;
            hold("held/" + round, AcquireOptions.ofTtl(LONG).tryOnce());
            CompletableFuture<AcquireOutcome> before = acquireAsync(client, options());
            switch (round / 3) {
                case 0 -> node(index).breakConnections();
                case 1 -> {
                    node(index).crash();
                    world.runMs(300);
                    node(index).restart(true);
                }
                default -> {
                    node(index).pause();
                    world.runMs(3_000);
                    node(index).resume();
                }
            }
            CompletableFuture<AcquireOutcome> after = acquireAsync(client, options());
            world.runMs(2_500);
            for (CompletableFuture<AcquireOutcome> future : List.of(before, after)) {
                assertTrue(future.isDone(), "a caller has no outcome");
                if (future.join().isAcquired()) {
                    future.join().lease().close();
                }
            }
            world.runMs(100);
        }
        assertWorks();
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void logHandlersThatThrowWhileNodesAreDownChangeNothing(Fault fault) {
        world = new VirtualWorld(3);
        node(0).crash();
        node(1).crash();
        logTo(fault);
        watch();
        client = client(context().restartGuard(RestartGuardMode.OFF));
        world.runMs(5_000);
        node(0).restart(true);
        node(1).restart(true);
        assertWorks();
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void logHandlersThatThrowDuringClockJumpsChangeNothing(Fault fault) {
        hostileWorld(fault);
        int[] lost = new int[1];
        AcquireOptions options = AcquireOptions.ofTtl(LONG).tryOnce().listener((lease, state) -> {
            lost[0]++;
            throw new IllegalStateException("a listener, thrown by a test");
        });
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            leases.add(acquired(get(client.redlock().acquireAsync("orders/" + i, options))));
        }
        CompletableFuture<AcquireOutcome> waiting = client.redlock()
                .acquireAsync("orders/3", AcquireOptions.ofTtl(LONG).waitUpTo(Duration.ofMinutes(3)))
                .toCompletableFuture();
        world.runMs(10);
        node(0).redis().clockJump(3_600_000);
        node(1).redis().clockJump(3_600_000);
        world.runMs(1_500);
        assertEquals(1, status(client, 0).clockJumpCount());
        assertEquals(NodeState.QUARANTINED, status(client, 0).state());
        assertEquals(NodeState.QUARANTINED, status(client, 1).state());
        leases.forEach(lease -> assertEquals(LeaseState.LOST, lease.state(), lease::toString));
        assertEquals(6, lost[0], "listeners that were notified");
        get(waiting).lease().close();
        assertWorks();
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void logHandlersThatThrowAfterFailedCallbacksChangeNothing(Fault fault) {
        hostileWorld(fault);
        int[] received = new int[3];
        Lease lease = client.redlock().newLease();
        RuntimeException bug = new IllegalStateException("a callback, thrown by a test");
        client.redlock().acquire(client.redlock().key("orders"), options(), lease, outcome -> {
            received[0]++;
            throw bug;
        });
        world.runMs(10);
        lease.extend(20_000, (extended, outcome) -> {
            received[1]++;
            throw bug;
        });
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client,
                options().waitUpTo(Duration.ofSeconds(30))
                        .retryPolicy((attempts, reason, ttl, random) -> {
                            throw bug;
                        }));
        eachNode(node -> node.redis().set("others", "foreign", 2_000));
        CompletableFuture<AcquireOutcome> refused = client.redlock()
                .acquireAsync("others", options().waitUpTo(Duration.ofSeconds(5))
                        .retryPolicy((attempts, reason, ttl, random) -> {
                            throw new AssertionError("a policy, thrown by a test");
                        }))
                .toCompletableFuture();
        world.runMs(10);
        assertTrue(lease.isHeld());
        assertFalse(waiting.isDone());
        lease.release((released, outcome) -> {
            received[2]++;
            throw bug;
        });
        get(waiting).lease().close();
        get(refused).lease().close();
        assertEquals(List.of(1, 1, 1), List.of(received[0], received[1], received[2]), "each callback runs once");
        assertWorks();
    }

    /** The log line is written while a command is being sent. */
    @ParameterizedTest
    @EnumSource(Fault.class)
    void logHandlersThatThrowAfterFailedAllocationsChangeNothing(Fault fault) {
        world = new VirtualWorld(3);
        ScarceAllocator allocator = new ScarceAllocator();
        allocator.exhausted(true);
        logTo(fault);
        watch();
        client = client(context().restartGuard(RestartGuardMode.OFF), allocator);
        world.runMs(2_000);
        CompletableFuture<AcquireOutcome> without = acquireAsync(client, options());
        world.runMs(200);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, without.join().kind());
        // Enough memory for the handshakes, but not for the first batch.
        allocator.failIf(number -> false);
        world.await("all nodes are ready", 5_000, () -> client.redlock()
                .nodes()
                .stream()
                .allMatch(status -> status.state() == NodeState.READY));
        allocator.exhausted(true);
        CompletableFuture<AcquireOutcome> unsent = acquireAsync(client, options());
        world.runMs(200);
        assertTrue(unsent.isDone(), "a caller has no outcome");
        allocator.exhausted(false);
        world.runMs(3_000);
        if (unsent.join().isAcquired()) {
            unsent.join().lease().close();
        }
        assertWorks();
    }

    /** The call that closes the client logs them, on the thread of its caller. */
    @ParameterizedTest
    @EnumSource(Fault.class)
    void logHandlersThatThrowAtCloseChangeNothing(Fault fault) throws Exception {
        try (LiveNodes nodes = new LiveNodes(1)) {
            TestClient engine = new TestClient(
                    new RedlockContext().nodes(nodes.addresses())
                            .restartGuard(RestartGuardMode.OFF)
                            .closeTimeout(Duration.ofMillis(50)),
                    nodes.clientLoop(), nodes.newTransport(), System::nanoTime, 1);
            engine.open().join();
            Await.until("ready", () -> engine.redlock().nodes().get(0).state() == NodeState.READY);
            Lease lease = engine.redlock().tryAcquire("orders", TTL).lease();
            logTo(fault);
            nodes.onLoop(() -> {
                nodes.node(0).pause();
                return null;
            });
            engine.redlock().close();
            assertTrue(hostile.recordCount > 0, "the release is not confirmed, which is logged");
            assertFalse(lease.isHeld());
            nodes.onLoop(() -> {
                nodes.node(0).resume();
                return null;
            });
        }
    }

    @Test
    void timersContinueAfterATimerAndALogHandlerThrow() {
        hostileWorld(Fault.EXCEPTION);
        client.engine()
                .execute(() -> client.engine()
                        .engine()
                        .startTimer(new dev.redlock.time.DeadlineTimer(nowNs -> {
                            throw new IllegalStateException("a timer, thrown by a test");
                        }), world.nowNs()));
        world.runMs(10);
        assertEquals(1, hostile.recordCount, "the timer that threw is logged");
        Lease lease = lease(client);
        world.runMs(11_000);
        assertEquals(LeaseState.EXPIRED, lease.state(), "its end uses a timer too");
        assertWorks();
    }
}
