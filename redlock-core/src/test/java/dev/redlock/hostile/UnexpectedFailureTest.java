package dev.redlock.hostile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.TestEngine;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.BlockedCall;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * An exception in the middle of a request, as from a heap without memory: the caller still gets one outcome, and the
 * client continues. The clock throws it, because each request reads the clock somewhere in its middle. Each scenario
 * runs once for each of these reads.
 */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
@Tag("jdk")
class UnexpectedFailureTest extends VirtualTest {

    private static final Logger LOG = Logger.getLogger("dev.redlock");
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final AcquireOptions WAITING = AcquireOptions.ofTtl(TTL).waitUpTo(LONG);

    /** The ways to make a request. */
    enum Caller {
        /** The thread of the loop, in a call with a callback. */
        LOOP,
        /** Another thread, with a callback. */
        THREAD,
        /** Another thread, in a blocking call. */
        BLOCKED
    }

    /** The exception of the clock. */
    private static final class UsedUp extends OutOfMemoryError {
        private static final long serialVersionUID = 1L;

        UsedUp() {
            super("thrown by a test");
        }
    }

    private final List<Throwable> logged = new ArrayList<>();
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord record) {
            if (record.getThrown() != null) {
                logged.add(record.getThrown());
            }
        }

        @Override
        public void flush() {
            // Nothing is buffered.
        }

        @Override
        public void close() {
            // There is nothing to close.
        }
    };
    private final List<BlockedCall<?>> calls = new ArrayList<>();
    private VirtualWorld.Client client;
    private Caller caller;
    /** The read of a scenario that throws; the first one is 1. */
    private int failingRead;
    /** Also the later reads of the same request throw. */
    private boolean isLasting;
    private int readCount;
    private boolean isArmed;
    private boolean hasThrown;

    @BeforeEach
    void open() {
        LOG.addHandler(handler);
        LOG.setUseParentHandlers(false);
        world = new VirtualWorld(3);
        // The flight recorder reads the clock too, and survives what that throws.
        client = client(context().flightRecorderEvents(0));
        client.clockListener(this::onClockRead);
    }

    @AfterEach
    void close() throws InterruptedException {
        LOG.removeHandler(handler);
        LOG.setUseParentHandlers(true);
        for (BlockedCall<?> call : calls) {
            call.awaitEnd();
        }
        // Those thrown on purpose; each scenario has checked them.
        clearRecordedExceptions();
    }

    private void onClockRead() {
        if (isArmed && isInRequest()) {
            readCount++;
            if (readCount == failingRead || isLasting && readCount > failingRead) {
                hasThrown = true;
                throw new UsedUp();
            }
        }
    }

    /** Without the reads of parts that survive what they throw themselves. AllocationFaultsTest has the buffers. */
    private static boolean isInRequest() {
        List<String> frames = StackWalker.getInstance()
                .walk(all -> all.map(frame -> frame.getClassName() + "." + frame.getMethodName()).toList());
        return frames.stream()
                .noneMatch(frame -> frame.contains(".DirectBuffers.") || frame.contains(".LoopTelemetry.")
                        || frame.endsWith(".LoopTimers.setAlarm"))
                && frames.stream()
                        .anyMatch(frame -> frame.contains(".RequestMailbox.")
                                || frame.endsWith(".WaitTimers.onTimer"));
    }

    private void arm() {
        isArmed = true;
    }

    private void disarm() {
        isArmed = false;
    }

    /** Runs a scenario for each read of the clock in its requests, which throws once or to the end of the request. */
    private void atEachRead(Scenario scenario) throws InterruptedException {
        for (boolean lasts : new boolean[]{false, true}) {
            isLasting = lasts;
            failingRead = 0;
            do {
                failingRead++;
                hasThrown = false;
                readCount = 0;
                logged.clear();
                scenario.run();
                disarm();
                assertTheClientStillWorks();
            } while (hasThrown);
            assertTrue(failingRead > 1, "the clock was read");
        }
    }

    private interface Scenario {
        void run() throws InterruptedException;
    }

    private void assertTheClientStillWorks() {
        assertEquals(hasThrown, !logged.isEmpty(), () -> "it is logged: " + logged);
        logged.forEach(thrown -> assertTrue(thrown instanceof UsedUp, thrown::toString));
        // Keys without an owner last for their ttl.
        Lease next = acquired(acquire(client, WAITING));
        assertEquals(ReleaseOutcome.RELEASED, release(next), this::name);
        world.runMs(100);
        assertEquals(0, keyCount(), this::name);
        assertEquals(0, client.engine().heldCount(), this::name);
        assertEquals(0, client.engine().claimsOut(), this::name);
        assertEquals(List.of(), client.engine().engine().stateViolations(List.of(next)), this::name);
    }

    private String name() {
        return "after read " + failingRead + (isLasting ? " and all later ones" : "") + (hasThrown ? " threw" : "");
    }

    /** A release that throws inside its call may succeed in the next turn. */
    private void assertOutcome(ReleaseOutcome outcome, ReleaseOutcome normal, Set<ReleaseOutcome> thrownOutcomes) {
        if (hasThrown) {
            thrownOutcomes.add(outcome);
        }
        assertTrue(outcome == normal || hasThrown && outcome == ReleaseOutcome.UNKNOWN, () -> name() + ": " + outcome);
    }

    private <T> BlockedCall<T> call(Callable<T> task) {
        BlockedCall<T> call = new BlockedCall<>(task);
        calls.add(call);
        return call;
    }

    /** Makes a request with a callback, which stores its outcomes. */
    private <T> void request(List<T> outcomes, Runnable withCallback, Callable<T> blocking)
            throws InterruptedException {
        switch (caller) {
            case LOOP -> {
                arm();
                withCallback.run();
                assertEquals(0, outcomes.size(), "no callback inside the call");
                world.runMs(200);
            }
            case THREAD -> {
                call(() -> {
                    withCallback.run();
                    return true;
                }).result();
                arm();
                world.runMs(200);
            }
            case BLOCKED -> {
                BlockedCall<T> call = call(blocking).awaitBlocked();
                arm();
                world.runMs(200);
                outcomes.add(call.result());
            }
        }
        disarm();
    }

    /** The outcome of an acquisition, which is its lease too. */
    private AcquireOutcome acquireOnce(AcquireOptions options) throws InterruptedException {
        List<AcquireOutcome> outcomes = new ArrayList<>();
        request(outcomes,
                () -> client.redlock()
                        .acquire(client.redlock().key("orders"), options, client.redlock().newLease(),
                                outcomes::add),
                () -> client.redlock().acquire("orders", options));
        assertEquals(1, outcomes.size(), () -> "one outcome " + name() + ": " + outcomes);
        return outcomes.get(0);
    }

    private ReleaseOutcome releaseOnce(Lease lease) throws InterruptedException {
        List<ReleaseOutcome> outcomes = new ArrayList<>();
        request(outcomes, () -> lease.release((released, outcome) -> outcomes.add(outcome)), lease::release);
        assertEquals(1, outcomes.size(), () -> "one outcome " + name() + ": " + outcomes);
        return outcomes.get(0);
    }

    private ExtendOutcome extendOnce(Lease lease) throws InterruptedException {
        List<ExtendOutcome> outcomes = new ArrayList<>();
        request(outcomes, () -> lease.extend(LONG.toMillis(), (extended, outcome) -> outcomes.add(outcome)),
                () -> lease.extend(LONG));
        assertEquals(1, outcomes.size(), () -> "one outcome " + name() + ": " + outcomes);
        return outcomes.get(0);
    }

    /** A request that throws inside its call runs again in the next turn. */
    private boolean isWithoutEffect() {
        return hasThrown && (caller != Caller.LOOP || isLasting);
    }

    /** The lease can be used again: no request and no claim of the use before is left. */
    private void assertReusable(Lease lease) {
        CompletableFuture<AcquireOutcome> again = new CompletableFuture<>();
        client.redlock().acquire(client.redlock().key("orders"), WAITING, lease, again::complete);
        assertTrue(get(again).isAcquired());
        world.runMs(200);
        assertTrue(lease.isHeld(), "nothing of its use before ends it");
        assertEquals(List.of(), client.engine().engine().stateViolations(List.of(lease)));
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
    }

    /** A mark for the holder is a courtesy: what its send throws costs neither the vote of the refusal nor a claim. */
    @Test
    void aMarkThatCannotBeSentCostsNoVote() {
        VirtualWorld.Client writer = client();
        Lease held = acquired(acquire(writer, options().forWriting()));
        client.clockListener(() -> {
            if (isLeavingAMark()) {
                hasThrown = true;
                throw new UsedUp();
            }
        });
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, WAITING.forReading());
        world.runMs(5);
        assertTrue(hasThrown, "precondition: the send of a mark threw");
        release(held);
        world.runMs(30);
        assertTrue(waiting.isDone(), "the reader asks again when it is connected again, not after a round timeout");
        release(acquired(get(waiting)));
        assertEquals(0, client.engine().claimsOut());
    }

    private static boolean isLeavingAMark() {
        return StackWalker.getInstance()
                .walk(all -> all.anyMatch(frame -> frame.getClassName().endsWith(".WaitMarks")));
    }

    // ---- acquiring --------------------------------------------------------------------------------------------------

    @ParameterizedTest
    @EnumSource
    void anAcquireThatThrowsCompletes(Caller how) throws InterruptedException {
        caller = how;
        for (AcquireOptions options : List.of(options(), WAITING, options().fenced())) {
            atEachRead(() -> {
                AcquireOutcome outcome = acquireOnce(options);
                Lease lease = (Lease) outcome;
                assertEquals(hasThrown ? AcquireOutcome.Kind.NO_QUORUM : AcquireOutcome.Kind.ACQUIRED, outcome.kind(),
                        name());
                assertEquals(!hasThrown, lease.isHeld(), this::name);
                assertEquals(hasThrown ? 0 : 3, keyCount(), this::name);
                release(lease);
                assertReusable(lease);
            });
        }
    }

    /** The timer of the acquisition has fired, so no other event would end it. */
    @Test
    void aRetryThatThrowsCompletes() throws InterruptedException {
        client = client(context().flightRecorderEvents(0).wakeUpKeysMax(0));
        client.clockListener(this::onClockRead);
        atEachRead(() -> {
            eachNode(node -> node.redis().set("orders", "foreign", 3_600_000));
            AcquireOptions often = AcquireOptions.ofTtl(TTL)
                    .waitUpTo(Duration.ofMillis(5))
                    .retryPolicy((attempts, reason, ttl, random) -> {
                        arm();
                        return 1_000_000;
                    });
            AcquireOutcome outcome = acquire(client, often);
            disarm();
            assertEquals(hasThrown ? AcquireOutcome.Kind.NO_QUORUM : AcquireOutcome.Kind.TIMED_OUT, outcome.kind(),
                    name());
            eachNode(node -> node.redis().delete("orders"));
        });
    }

    /** The scheduler looks for the missing key among those of the waiters. */
    @Test
    void anAcquireThatThrowsBeforeTheSchedulerHasItCompletes() throws InterruptedException {
        Lease used = lease(client);
        release(used);
        Lease holder = lease(client);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, WAITING);
        AcquireSpec spec = new AcquireSpec(TTL.toMillis());
        List<AcquireOutcome> outcomes = new ArrayList<>();
        call(() -> {
            TestEngine.acquireWithoutKey(used, spec, outcomes::add);
            return true;
        }).result();
        world.runMs(10);
        assertEquals(1, outcomes.size(), "outcomes");
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcomes.get(0).kind());
        assertEquals(LeaseState.NOT_ACQUIRED, used.state());
        assertEquals(1, logged.size(), "it is logged");
        release(holder);
        release(acquired(get(waiting)));
        assertReusable(used);
    }

    /** The lock is held when the event loop takes the cancellation, so it is released. */
    @Test
    void aCancellationThatThrowsEndsTheLease() throws InterruptedException {
        atEachRead(() -> {
            Lease lease = acquired(acquire(client, WAITING));
            call(() -> {
                TestEngine.cancel(lease);
                return true;
            }).result();
            arm();
            world.runMs(10);
            disarm();
            assertFalse(lease.isHeld(), this::name);
            assertReusable(lease);
        });
    }

    /** The waiter gets the lock, unless its own attempt has thrown. */
    private void assertReleasedByEnd(CompletableFuture<AcquireOutcome> waiting) {
        AcquireOutcome outcome = get(waiting);
        assertTrue(outcome.isAcquired() || hasThrown && outcome.kind() == AcquireOutcome.Kind.NO_QUORUM,
                () -> name() + ": " + outcome);
        if (outcome.isAcquired()) {
            outcome.lease().close();
        }
    }

    // ---- extending --------------------------------------------------------------------------------------------------

    @ParameterizedTest
    @EnumSource
    void anExtensionThatThrowsCompletes(Caller how) throws InterruptedException {
        caller = how;
        atEachRead(() -> {
            Lease lease = lease(client);
            ExtendOutcome outcome = extendOnce(lease);
            assertEquals(isWithoutEffect() ? ExtendOutcome.NOT_EXTENDED : ExtendOutcome.EXTENDED, outcome, name());
            assertEquals(!isWithoutEffect(), lease.remainingValidityNs() > TTL.toNanos(), this::name);
            assertTrue(lease.isHeld(), "its validity remains");
            assertEquals(List.of(), client.engine().engine().stateViolations(List.of(lease)), this::name);
            assertEquals(ExtendOutcome.EXTENDED, extend(lease, LONG), "another extension");
            assertEquals(ReleaseOutcome.RELEASED, release(lease), this::name);
            assertReusable(lease);
        });
    }

    /** The next extension starts inside the request that threw, which must not end it. */
    @Test
    void aCallbackOfAnExtensionThatThrewMayExtendAgain() throws InterruptedException {
        atEachRead(() -> {
            Lease lease = lease(client);
            List<ExtendOutcome> outcomes = new ArrayList<>();
            call(() -> {
                lease.extend(20_000, (extended, outcome) -> {
                    disarm();
                    outcomes.add(outcome);
                    extended.extend(30_000, (again, second) -> outcomes.add(second));
                });
                return true;
            }).result();
            arm();
            world.runMs(200);
            assertEquals(List.of(hasThrown ? ExtendOutcome.NOT_EXTENDED : ExtendOutcome.EXTENDED,
                    ExtendOutcome.EXTENDED), outcomes, name());
            assertTrue(lease.remainingValidityNs() > 20_000_000_000L, this::name);
            release(lease);
        });
    }

    /** The request waits for the automatic extension, or has thrown before. */
    @ParameterizedTest
    @EnumSource
    void anExtensionThatThrowsDuringAnAutomaticOneCompletes(Caller how) throws InterruptedException {
        caller = how;
        atEachRead(() -> {
            Lease lease = acquired(acquire(client, options().autoExtend()));
            eachNode(node -> node.delay(() -> 10_000_000));
            long sentBefore = client.redlock().counters().commandCount();
            world.await("an automatic extension", 10_000,
                    () -> client.redlock().counters().commandCount() - sentBefore >= 3);
            ExtendOutcome outcome = extendOnce(lease);
            assertEquals(isWithoutEffect() ? ExtendOutcome.NOT_EXTENDED : ExtendOutcome.EXTENDED, outcome, name());
            assertTrue(lease.isHeld(), "held");
            eachNode(node -> node.delay(() -> 0));
            assertEquals(ReleaseOutcome.RELEASED, release(lease));
        });
    }

    @Test
    void anAutomaticExtensionThatThrowsIsTriedAgain() {
        Lease lease = acquired(acquire(client, options().autoExtend()));
        client.clockListener(() -> {
            boolean isExtension = StackWalker.getInstance()
                    .walk(all -> all.anyMatch(frame -> frame.getClassName().endsWith(".ExtendOperation")
                            && frame.getMethodName().equals("start")));
            if (isExtension && !hasThrown) {
                hasThrown = true;
                throw new UsedUp();
            }
        });
        world.runMs(2 * TTL.toMillis());
        assertTrue(hasThrown);
        assertEquals(LeaseState.HELD, lease.state());
    }

    // ---- releasing --------------------------------------------------------------------------------------------------

    @ParameterizedTest
    @EnumSource
    void aReleaseThatThrowsCompletes(Caller how) throws InterruptedException {
        caller = how;
        for (AcquireOptions options : List.of(options(), WAITING)) {
            Set<ReleaseOutcome> thrownOutcomes = EnumSet.noneOf(ReleaseOutcome.class);
            atEachRead(() -> {
                Lease lease = acquired(acquire(client, options));
                ReleaseOutcome outcome = releaseOnce(lease);
                assertOutcome(outcome, ReleaseOutcome.RELEASED, thrownOutcomes);
                assertEquals(LeaseState.RELEASED, lease.state(), name());
                assertEquals(outcome, release(lease), "again");
                assertReusable(lease);
            });
            assertTrue(thrownOutcomes.contains(ReleaseOutcome.UNKNOWN), thrownOutcomes::toString);
        }
    }

    /** Each node gets the release later, before the ttl ends. */
    @Test
    void aReleaseThatThrowsIsDeliveredLater() throws InterruptedException {
        caller = Caller.THREAD;
        AcquireOptions lasting = AcquireOptions.ofTtl(LONG).tryOnce();
        List<Long> deliveredCounts = new ArrayList<>();
        atEachRead(() -> {
            Lease lease = acquired(acquire(client, lasting));
            long before = deliveredCount();
            releaseOnce(lease);
            world.runMs(2_000);
            deliveredCounts.add(deliveredCount() - before);
            assertTrue(keyCount() == 0 || deliveredCount() == before, this::name);
            world.runMs(LONG.toMillis());
        });
        assertTrue(deliveredCounts.contains((long) world.nodes().size()), deliveredCounts::toString);
    }

    @Test
    void aReleaseWhoseBufferThrowsIsDeliveredLater() {
        Lease lease = acquired(acquire(client, AcquireOptions.ofTtl(LONG).tryOnce()));
        long before = deliveredCount();
        client.clockListener(() -> {
            boolean isInBuffer = StackWalker.getInstance()
                    .walk(all -> all.anyMatch(frame -> frame.getClassName().endsWith(".SharedBatch")
                            && frame.getMethodName().equals("withRoom")));
            if (isInBuffer) {
                throw new UsedUp();
            }
        });
        assertEquals(ReleaseOutcome.UNKNOWN, release(lease));
        client.clockListener(this::onClockRead);
        world.runMs(2_000);
        assertEquals(world.nodes().size(), deliveredCount() - before);
        assertEquals(0, keyCount());
    }

    private long deliveredCount() {
        long count = 0;
        for (int i = 0; i < world.nodes().size(); i++) {
            count += status(client, i).undeliveredReleaseDeliveredCount();
        }
        return count;
    }

    @Test
    void aBlockingReleaseThatThrowsReturns() throws InterruptedException {
        atEachRead(() -> {
            Lease lease = acquired(acquire(client, WAITING));
            BlockedCall<LeaseState> close = call(() -> {
                lease.release();
                return lease.state();
            }).awaitBlocked();
            arm();
            world.runMs(200);
            assertEquals(LeaseState.RELEASED, close.result(), name());
        });
    }

    @ParameterizedTest
    @EnumSource
    void aReleaseThatThrowsEndsTheExtensionInProgress(Caller how) throws InterruptedException {
        caller = how;
        Set<ReleaseOutcome> thrownOutcomes = EnumSet.noneOf(ReleaseOutcome.class);
        atEachRead(() -> {
            Lease lease = acquired(acquire(client, WAITING));
            eachNode(node -> node.delay(() -> 10_000_000));
            List<ExtendOutcome> extended = new ArrayList<>();
            lease.extend(9_000, (ended, outcome) -> extended.add(outcome));
            world.runMs(1);
            assertOutcome(releaseOnce(lease), ReleaseOutcome.RELEASED, thrownOutcomes);
            assertEquals(List.of(ExtendOutcome.NOT_HELD), extended, name());
            eachNode(node -> node.delay(() -> 0));
            world.runMs(10_000);
            assertReusable(lease);
        });
        assertTrue(thrownOutcomes.contains(ReleaseOutcome.UNKNOWN), thrownOutcomes::toString);
    }

    /** Its extension ends with it, and the keys stay until their ttl at most. */
    @ParameterizedTest
    @EnumSource
    void aReleaseOfALockWithAShortestHoldThatThrowsCompletes(Caller how) throws InterruptedException {
        caller = how;
        AcquireOptions keeping = options().holdAtLeast(Duration.ofSeconds(2)).autoExtend();
        Set<ReleaseOutcome> thrownOutcomes = EnumSet.noneOf(ReleaseOutcome.class);
        atEachRead(() -> {
            Lease lease = acquired(acquire(client, keeping));
            eachNode(node -> node.delay(() -> 10_000_000));
            List<ExtendOutcome> extended = new ArrayList<>();
            lease.extend(9_000, (ended, outcome) -> {
                extended.add(outcome);
                // A second release, before the first one is complete.
                ended.close();
            });
            world.runMs(1);
            ReleaseOutcome outcome = releaseOnce(lease);
            assertOutcome(outcome, ReleaseOutcome.KEPT, thrownOutcomes);
            assertEquals(LeaseState.RELEASED, lease.state(), name());
            assertEquals(List.of(ExtendOutcome.NOT_HELD), extended, name());
            eachNode(node -> node.delay(() -> 0));
            assertEquals(outcome, release(lease), "again");
            assertEquals(3, keyCount(), name());
            world.runMs(10_000);
            assertEquals(0, keyCount(), name());
            assertReusable(lease);
        });
        assertEquals(EnumSet.of(ReleaseOutcome.KEPT, ReleaseOutcome.UNKNOWN), thrownOutcomes);
    }

    /** The check of the timers ends the hold. */
    @Test
    void aLockIsKeptWithoutAnAlarm() {
        Lease lease = acquired(acquire(client, options().holdAtLeast(Duration.ofMillis(20))));
        client.clockListener(() -> {
            boolean isStartingATimer = StackWalker.getInstance()
                    .walk(all -> all.anyMatch(frame -> frame.getMethodName().equals("startKept")));
            if (isStartingATimer) {
                hasThrown = true;
                throw new UsedUp();
            }
        });
        assertEquals(ReleaseOutcome.KEPT, release(lease));
        assertTrue(hasThrown);
        assertEquals(1, client.engine().heldCount());
        assertEquals(3, keyCount());
        world.runMs(1_000);
        assertEquals(0, client.engine().heldCount());
        assertEquals(0, keyCount());
        assertReusable(lease);
    }

    /** Nothing would extend it, or report its end: its caller does not get it. */
    @Test
    void aLockWhoseTimerCannotStartIsReleased() {
        client = client(context().flightRecorderEvents(0).autoExtendedLeasesMax(1));
        AcquireOptions extended = options().autoExtend();
        List<AcquireOutcome> outcomes = new ArrayList<>();
        Lease lease = client.redlock().newLease();
        client.redlock().acquire(client.redlock().key("orders"), extended, lease, outcomes::add);
        client.engine().engine().withoutRenewals(() -> world.runMs(10));
        assertEquals(List.of(AcquireOutcome.Kind.NO_QUORUM), outcomes.stream().map(AcquireOutcome::kind).toList());
        assertFalse(lease.isHeld());
        world.runMs(100);
        assertEquals(0, keyCount());
        assertEquals(0, client.engine().heldCount());
        assertEquals(0, client.engine().claimsOut());
        assertReusable(lease);
        Lease next = acquired(acquire(client, extended));
        assertEquals(AcquireOutcome.Kind.OVERLOADED,
                get(client.redlock().acquireAsync("items", extended)).kind(), "it is counted once");
        world.runMs(2 * TTL.toMillis());
        assertTrue(next.isHeld());
        release(next);
    }

    /** The round of the first release completes both. */
    @Test
    void aSecondReleaseThatThrowsWaitsForTheFirst() throws InterruptedException {
        AcquireOptions keeping = options().holdAtLeast(Duration.ofMillis(1));
        atEachRead(() -> {
            Lease lease = acquired(acquire(client, keeping));
            world.runMs(10);
            eachNode(node -> node.delay(() -> 10_000_000));
            BlockedCall<LeaseState> close = call(() -> {
                lease.release();
                return lease.state();
            }).awaitBlocked();
            world.runMs(1);
            List<ReleaseOutcome> outcomes = new ArrayList<>();
            arm();
            lease.release((released, outcome) -> outcomes.add(outcome));
            disarm();
            assertEquals(LeaseState.RELEASING, lease.state(), name());
            world.runMs(100);
            assertEquals(List.of(ReleaseOutcome.RELEASED), outcomes, name());
            assertEquals(LeaseState.RELEASED, close.result(), name());
            eachNode(node -> node.delay(() -> 0));
            assertReusable(lease);
        });
    }

    /** The attempt of the next waiter runs inside the release. Its failure is not that of the release. */
    @ParameterizedTest
    @EnumSource
    void aReleaseWhoseHandoffThrowsCompletesAndEndsTheWaiter(Caller how) throws InterruptedException {
        caller = how;
        atEachRead(() -> {
            Lease lease = lease(client);
            CompletableFuture<AcquireOutcome> next = acquireAsync(client, WAITING);
            world.runMs(10);
            assertOutcome(releaseOnce(lease), ReleaseOutcome.RELEASED, EnumSet.noneOf(ReleaseOutcome.class));
            assertEquals(LeaseState.RELEASED, lease.state(), name());
            assertReleasedByEnd(next);
            assertReusable(lease);
        });
    }

    /**
     * The next waiter is the head of the queue already. A release that throws before it is sent still hands off. If the
     * handoff throws, the end of the lease starts the waiter.
     */
    @Test
    void aReleaseThatThrowsDelaysTheNextWaiterUntilTheEndOfTheLeaseAtMost() throws InterruptedException {
        caller = Caller.THREAD;
        List<Long> waitsMs = new ArrayList<>();
        atEachRead(() -> {
            Lease first = lease(client);
            CompletableFuture<AcquireOutcome> second = acquireAsync(client, WAITING);
            CompletableFuture<AcquireOutcome> third = acquireAsync(client, WAITING);
            world.runMs(10);
            release(first);
            Lease lease = acquired(get(second));
            long startMs = nowMs();
            releaseOnce(lease);
            assertReleasedByEnd(third);
            waitsMs.add(nowMs() - startMs);
            world.runMs(1_000);
        });
        long longestMs = Collections.max(waitsMs);
        assertTrue(longestMs >= validityMs(TTL.toMillis()), () -> "a release without a handoff: " + waitsMs);
        assertTrue(longestMs <= TTL.toMillis() + 100, () -> "when the keys have expired: " + waitsMs);
        assertTrue(waitsMs.get(0) < 1_000, () -> "the first read precedes the sends: " + waitsMs);
    }

    // ---- the flight recorder ----------------------------------------------------------------------------------------

    @Test
    void aClockThatThrowsInTheFlightRecorderHarmsNoLock() {
        VirtualWorld.Client recording = client();
        int[] thrownCount = {0};
        recording.clockListener(() -> {
            boolean isInRecorder = StackWalker.getInstance()
                    .walk(frames -> frames.limit(8)
                            .anyMatch(frame -> frame.getClassName().endsWith(".LoopTelemetry")));
            if (isInRecorder) {
                thrownCount[0]++;
                throw new UsedUp();
            }
        });
        Lease lease = lease(recording);
        AcquireOutcome refused = acquire(recording, options().waitUpTo(Duration.ofMillis(600)));
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, refused.kind(), refused::toString);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        assertTrue(thrownCount[0] > 0, "it threw");
    }
}
