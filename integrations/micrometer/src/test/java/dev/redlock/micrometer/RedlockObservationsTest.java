package dev.redlock.micrometer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.LockNotAcquiredException;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.RunOutcome;
import dev.redlock.sim.SocketNodes;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.Refusal;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The observations of locks on model nodes, with a registry that checks the order of its calls. */
@Timeout(60)
@Tag("jdk")
class RedlockObservationsTest {

    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(10))
            .waitUpTo(Duration.ofSeconds(20));

    private final SocketNodes nodes = new SocketNodes(3);
    private final Redlock redlock = Redlock.connect(new RedlockContext().nodes(nodes.addresses())
            .restartGuard(RestartGuardMode.OFF)
            .nodeTimeout(Duration.ofSeconds(2)));
    private final TestObservationRegistry registry = TestObservationRegistry.create();
    private final BlockingQueue<Observation.Context> stopped = new LinkedBlockingQueue<>();
    private final Set<String> threads = ConcurrentHashMap.newKeySet();
    private final RedlockObservations orders = new RedlockObservations(redlock, registry, "orders");

    @BeforeEach
    void collect() {
        registry.observationConfig().observationHandler(new ObservationHandler<>() {
            @Override
            public void onStart(Observation.Context context) {
                threads.add(Thread.currentThread().getName());
            }

            @Override
            public void onStop(Observation.Context context) {
                threads.add(Thread.currentThread().getName());
                stopped.add(context);
            }

            @Override
            public boolean supportsContext(Observation.Context context) {
                return true;
            }
        });
    }

    @AfterEach
    void close() {
        redlock.close();
        nodes.close();
        assertNull(registry.getCurrentObservationScope(), "no scope stays on the thread");
    }

    /** Awaits the next end of an observation. */
    private String next() throws InterruptedException {
        return text(nextContext());
    }

    private Observation.Context nextContext() throws InterruptedException {
        Observation.Context context = stopped.poll(30, TimeUnit.SECONDS);
        assertTrue(context != null, "an observation ends in time");
        return context;
    }

    private static String text(Observation.Context context) {
        TreeMap<String, String> low = new TreeMap<>();
        context.getLowCardinalityKeyValues().forEach(pair -> low.put(pair.getKey(), pair.getValue()));
        TreeMap<String, String> high = new TreeMap<>();
        context.getHighCardinalityKeyValues().forEach(pair -> high.put(pair.getKey(), pair.getValue()));
        return context.getName() + " " + low + " " + high
                + (context.getError() == null ? "" : " " + context.getError().getClass().getSimpleName());
    }

    private static String hold(String outcome) {
        return "redlock.lock.hold {lock.group=orders, outcome=" + outcome + "} {lock.name=orders/42}";
    }

    private void assertAcquired() throws InterruptedException {
        String text = next();
        assertTrue(text.startsWith("redlock.lock.acquire {lock.group=orders, outcome=ACQUIRED} {attempts=1, "
                + "lock.name=orders/42, votes=granted "), text);
    }

    // ---- leases -----------------------------------------------------------------------------------------------------

    @Test
    void anAcquireAndItsHoldAreSiblingsWithTheirOutcomes() throws Exception {
        Observation request = Observation.start("request", registry);
        Lease lease = request.scopedChecked(() -> {
            AcquireOutcome outcome = orders.acquire("orders/42", OPTIONS);
            assertEquals(AcquireOutcome.Kind.ACQUIRED, outcome.kind());
            assertTrue(outcome.toString().contains("ACQUIRED"), outcome::toString);
            assertSame(outcome.lease(), outcome.lease());
            return outcome.lease();
        });
        Observation.Context acquire = nextContext();
        assertTrue(text(acquire).matches("redlock.lock.acquire \\{lock.group=orders, outcome=ACQUIRED} \\{attempts=1, "
                + "lock.name=orders/42, votes=granted [23], refused 0, failed 0, unknown [01]}"), () -> text(acquire));
        assertEquals("redlock.lock.acquire orders", acquire.getContextualName());
        assertSame(request.getContext(), acquire.getParentObservation().getContextView());
        assertNull(stopped.poll(), "the lock is held");
        assertTrue(lease.isHeld());
        assertEquals(ReleaseOutcome.RELEASED, lease.release());
        Observation.Context hold = nextContext();
        assertEquals(hold("RELEASED"), text(hold));
        assertSame(request.getContext(), hold.getParentObservation().getContextView());
        lease.close();
        assertEquals(ReleaseOutcome.RELEASED, lease.release(), "once more");
        assertNull(stopped.poll(), "it ends once");
    }

    @Test
    void anObservedLeaseDoesWhatALeaseDoes() throws Exception {
        AcquireOutcome outcome = orders.tryAcquire("orders/42", OPTIONS.tryOnce().fenced());
        Lease lease = outcome.lease();
        assertEquals("orders/42", lease.resource());
        assertEquals(List.of("orders/42"), lease.resources());
        assertEquals(LeaseState.HELD, lease.state());
        assertTrue(lease.remainingValidityNs() > 0);
        assertTrue(lease.fencingToken() > 0);
        assertEquals(ExtendOutcome.EXTENDED, lease.extend(Duration.ofSeconds(11)));
        assertEquals(ExtendOutcome.EXTENDED, lease.extendAsync(Duration.ofSeconds(12)).toCompletableFuture().get());
        CompletableFuture<Lease> extended = new CompletableFuture<>();
        lease.extend(13_000, (one, how) -> extended.complete(one));
        assertSame(lease, extended.get());
        assertTrue(outcome.grantedCount() >= 2);
        assertEquals(0, outcome.refusedCount());
        assertTrue(outcome.voteText(0).length() > 0);
        assertEquals(-1, outcome.shortestRemainingTtlMs());
        assertEquals(AcquireOutcome.Kind.ACQUIRED, outcome.lastReason());
        Refusal.ofNull("release callback is null", () -> lease.release(null));
        Refusal.ofNull("extend callback is null", () -> lease.extend(1_000, null));
        CompletableFuture<Lease> released = new CompletableFuture<>();
        lease.release((one, how) -> released.complete(one));
        assertSame(lease, released.get());
        assertAcquired();
        assertEquals(hold("RELEASED"), next());
    }

    @Test
    void closingALeaseEndsTheHoldWithTheOutcomeOfItsRelease() throws Exception {
        orders.acquire("orders/42", OPTIONS).lease().close();
        assertAcquired();
        assertEquals(hold("RELEASED"), next());
        orders.acquire("orders/42", OPTIONS.retain(Duration.ofSeconds(5))).lease().close();
        assertTrue(next().contains("outcome=ACQUIRED"));
        assertEquals(hold("RETAINED"), next());
        orders.acquire("orders/42", OPTIONS.holdAtLeast(Duration.ofSeconds(9))).lease().close();
        assertTrue(next().contains("outcome=ACQUIRED"));
        assertEquals(hold("KEPT"), next());
    }

    @Test
    void theGroupOfTheOptionsPrecedes() throws Exception {
        AcquireOptions returns = OPTIONS.group("returns");
        String hold = "redlock.lock.hold {lock.group=returns, outcome=RELEASED} {lock.name=orders/42}";
        orders.runOrThrow("orders/42", returns, lease -> assertTrue(lease.isHeld()));
        assertTrue(next().startsWith("redlock.lock.acquire {lock.group=returns, outcome=ACQUIRED} "));
        assertEquals(hold, next());
        assertTrue(orders.runAsync("orders/42", returns, lease -> stage("ran")).toCompletableFuture().get().hasRun());
        assertTrue(next().startsWith("redlock.lock.acquire {lock.group=returns, outcome=ACQUIRED} "));
        assertEquals(hold, next());
        assertEquals(1, redlock.groups().size());
        assertEquals(2, redlock.groups().get(0).acquireTimes().count(AcquireOutcome.Kind.ACQUIRED));
    }

    @Test
    void aStageOfTheReleaseEndsTheHold() throws Exception {
        Lease lease = orders.acquire("orders/42", OPTIONS).lease();
        assertEquals(ReleaseOutcome.RELEASED, lease.releaseAsync().toCompletableFuture().get());
        assertAcquired();
        assertEquals(hold("RELEASED"), next());
    }

    @Test
    void aLeaseThatWasLostEndsWithItsRelease() throws Exception {
        Lease lease = orders.acquire("orders/42", OPTIONS).lease();
        Redlock other = Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF));
        try (other) {
            String id = other.inspect("orders/42").heldBy();
            assertEquals(ReleaseOutcome.RELEASED, other.breakLock("orders/42", id));
        }
        assertEquals(ReleaseOutcome.EXPIRED, lease.release());
        assertAcquired();
        assertEquals(hold("EXPIRED"), next());
    }

    // ---- outcomes without a lock ------------------------------------------------------------------------------------

    @Test
    void aLockOfAnotherHolderIsNoError() throws Exception {
        try (Lease lease = redlock.acquire("orders/42", OPTIONS).lease()) {
            AcquireOutcome outcome = orders.tryAcquire("orders/42", OPTIONS.tryOnce());
            assertFalse(outcome.isAcquired());
            assertThrows(LockNotAcquiredException.class, outcome::lease);
            String text = next();
            assertTrue(text.startsWith("redlock.lock.acquire {lock.group=orders, outcome=CONTENDED} "), text);
            assertTrue(text.contains("refused"), text);
            assertFalse(text.contains("Exception"), text);
            assertFalse(orders.tryRun("orders/42", OPTIONS.tryOnce(), one -> {
                throw new AssertionError("it does not run");
            }).isAcquired());
            assertTrue(next().contains("outcome=CONTENDED"));
            assertThrows(LockNotAcquiredException.class,
                    () -> orders.runOrThrow("orders/42", OPTIONS.tryOnce(), one -> {
                        throw new AssertionError("it does not run");
                    }));
            assertTrue(next().contains("outcome=CONTENDED"));
            assertFalse(orders.runAsync("orders/42", OPTIONS.tryOnce(), one -> stage("never"))
                    .toCompletableFuture()
                    .get()
                    .hasRun());
            assertTrue(next().contains("outcome=CONTENDED"));
            assertTrue(lease.isHeld());
        }
        assertNull(stopped.poll(), "nothing was held");
    }

    @Test
    void anExceptionIsTheErrorOfTheAcquire() throws Exception {
        assertThrows(IllegalArgumentException.class, () -> orders.acquire("", OPTIONS));
        assertEquals("redlock.lock.acquire {lock.group=orders, outcome=none} {lock.name=} IllegalArgumentException",
                next());
        assertThrows(NullPointerException.class, () -> orders.acquire(null, OPTIONS));
        assertTrue(next().contains("{lock.name=null} NullPointerException"));
        assertThrows(IllegalArgumentException.class, () -> orders.runAsync("", OPTIONS, lease -> stage("never")));
        assertTrue(next().endsWith("IllegalArgumentException"));
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> orders.acquire("orders/42", OPTIONS));
        assertEquals("redlock.lock.acquire {lock.group=orders, outcome=none} {lock.name=orders/42} "
                + "InterruptedException", next());
    }

    // ---- tasks ------------------------------------------------------------------------------------------------------

    @Test
    void aTaskIsAPartOfTheHold() throws Exception {
        RunOutcome<Observation> outcome = orders.call("orders/42", OPTIONS, lease -> {
            assertTrue(lease.isHeld());
            Observation.createNotStarted("work", registry).observe(() -> {
                assertTrue(lease.isHeld());
            });
            return registry.getCurrentObservation();
        });
        assertNull(registry.getCurrentObservation());
        assertAcquired();
        Observation.Context work = nextContext();
        Observation.Context hold = nextContext();
        assertEquals(hold("RELEASED"), text(hold));
        assertSame(hold, outcome.value().getContext());
        assertSame(hold, work.getParentObservation().getContextView());
        assertTrue(outcome.acquired().isAcquired());
    }

    @Test
    void everyMethodForTasksRunsItOnce() throws Exception {
        List<String> ran = new ArrayList<>();
        assertTrue(orders.run("orders/42", OPTIONS, lease -> ran.add("run")).isAcquired());
        assertTrue(orders.tryRun("orders/42", OPTIONS, lease -> ran.add("tryRun")).isAcquired());
        assertEquals(7, orders.call("orders/42", OPTIONS, lease -> 7).value());
        assertEquals(8, orders.tryCall("orders/42", OPTIONS, lease -> 8).value());
        orders.runOrThrow("orders/42", OPTIONS, lease -> ran.add("runOrThrow"));
        assertEquals(9, orders.<Integer, IOException>callOrThrow("orders/42", OPTIONS, lease -> 9));
        assertEquals(List.of("run", "tryRun", "runOrThrow"), ran);
        int acquires = 0;
        for (int i = 0; i < 12; i++) {
            acquires += next().startsWith("redlock.lock.acquire {lock.group=orders, outcome=ACQUIRED}") ? 1 : 0;
        }
        assertEquals(6, acquires);
        Refusal.ofNull("task is null", () -> orders.run("orders/42", OPTIONS, null));
        Refusal.ofNull("task is null", () -> orders.call("orders/42", OPTIONS, null));
        Refusal.ofNull("task is null", () -> orders.runAsync("orders/42", OPTIONS, null));
        assertNull(stopped.poll(), "nothing was acquired");
    }

    @Test
    void aTaskThatThrowsIsTheErrorOfTheHold() throws Exception {
        IOException thrown = new IOException("from the task");
        assertSame(thrown, assertThrows(IOException.class, () -> orders.run("orders/42", OPTIONS, lease -> {
            throw thrown;
        })));
        assertAcquired();
        assertEquals(hold("RELEASED") + " IOException", next());
    }

    // ---- stages -----------------------------------------------------------------------------------------------------

    private static CompletionStage<String> stage(String value) {
        return CompletableFuture.completedFuture(value);
    }

    /** The task is called on another thread, whose scope is that of the hold. */
    @Test
    void anAsynchronousTaskIsAPartOfTheHoldOnItsThread() throws Exception {
        Observation request = Observation.start("request", registry);
        Lease before = redlock.acquire("orders/42", OPTIONS).lease();
        CompletableFuture<Observation> current = new CompletableFuture<>();
        CompletableFuture<Thread> thread = new CompletableFuture<>();
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletableFuture<RunOutcome<String>> result = request
                .scoped(() -> orders.runAsync("orders/42", OPTIONS, lease -> {
                    current.complete(registry.getCurrentObservation());
                    thread.complete(Thread.currentThread());
                    return work;
                }))
                .toCompletableFuture();
        before.release();
        Observation held = current.get();
        assertNotSame(Thread.currentThread(), thread.get());
        Observation.Context acquire = nextContext();
        assertTrue(text(acquire).contains("outcome=ACQUIRED"), () -> text(acquire));
        assertSame(request.getContext(), acquire.getParentObservation().getContextView());
        assertNull(stopped.poll(), "the task runs");
        work.complete("done");
        assertEquals("done", result.get().value());
        Observation.Context hold = nextContext();
        assertEquals(hold("RELEASED"), text(hold));
        assertSame(hold, held.getContext());
        assertSame(request.getContext(), hold.getParentObservation().getContextView());
    }

    @Test
    void aStageThatFailsIsTheErrorOfTheHold() throws Exception {
        List<CompletionStage<RunOutcome<String>>> failing = List.of(
                orders.runAsync("orders/42", OPTIONS, lease -> CompletableFuture.failedFuture(new IOException("late"))),
                orders.runAsync("orders/42", OPTIONS, lease -> {
                    throw new IllegalStateException("at once");
                }), orders.runAsync("orders/42", OPTIONS, lease -> null),
                orders.runAsync("orders/42", OPTIONS, lease -> new CompletableFuture<>() {
                    @Override
                    public CompletableFuture<String> whenComplete(
                            BiConsumer<? super String, ? super Throwable> function) {
                        throw new UnsupportedOperationException("no stage");
                    }
                }));
        List<String> causes = new ArrayList<>();
        for (CompletionStage<RunOutcome<String>> stage : failing) {
            causes.add(assertThrows(ExecutionException.class, () -> stage.toCompletableFuture().get()).getCause()
                    .getMessage());
        }
        assertEquals(List.of("late", "at once", "the task returned null instead of a stage", "no stage"), causes);
        Set<String> holds = new TreeSet<>();
        while (holds.size() < 4) {
            String text = next();
            if (text.startsWith("redlock.lock.hold")) {
                holds.add(text);
            }
        }
        assertEquals(new TreeSet<>(Set.of(hold("RELEASED") + " IOException",
                hold("RELEASED") + " IllegalStateException",
                hold("RELEASED") + " NullPointerException", hold("RELEASED") + " UnsupportedOperationException")),
                holds);
        assertTrue(redlock.tryAcquire("orders/42", OPTIONS.tryOnce()).isAcquired(), "all have released");
    }

    @Test
    void aResultThatIsGivenUpEndsTheWait() throws Exception {
        Lease before = redlock.acquire("orders/42", OPTIONS).lease();
        CompletableFuture<RunOutcome<String>> result = orders
                .runAsync("orders/42", OPTIONS,
                        lease -> CompletableFuture.<String>failedFuture(new AssertionError("ran")))
                .toCompletableFuture();
        assertTrue(result.cancel(false));
        while (redlock.counters().waitingCount() > 0) {
            Thread.onSpinWait();
        }
        before.release();
        assertTrue(redlock.acquire("orders/42", OPTIONS).isAcquired());
        assertNull(stopped.poll(), "an acquisition that is given up is not recorded");
    }

    @Test
    void aTaskThatHasReleasedItsLeaseEndsTheHold() throws Exception {
        RunOutcome<ReleaseOutcome> outcome = orders
                .runAsync("orders/42", OPTIONS, lease -> lease.releaseAsync())
                .toCompletableFuture()
                .get();
        assertEquals(ReleaseOutcome.RELEASED, outcome.value());
        assertAcquired();
        assertEquals(hold("RELEASED"), next());
        assertNull(stopped.poll());
    }

    // ---- handlers and registries ------------------------------------------------------------------------------------

    /** The loop serves all locks: a handler that blocks must not stop it. */
    @Test
    void noHandlerRunsOnTheEventLoop() throws Exception {
        CompletableFuture<String> loop = new CompletableFuture<>();
        Lease lease = orders.acquire("orders/42", OPTIONS).lease();
        lease.release((one, outcome) -> loop.complete(Thread.currentThread().getName()));
        assertAcquired();
        assertEquals(hold("RELEASED"), next());
        orders.acquire("orders/42", OPTIONS).lease().close();
        orders.runAsync("orders/42", OPTIONS, one -> stage("done")).toCompletableFuture().get();
        for (int i = 0; i < 4; i++) {
            next();
        }
        assertFalse(threads.contains(loop.get()), threads::toString);
    }

    private static final class ThrowingHandler implements ObservationHandler<Observation.Context> {

        private final Set<String> thrown = ConcurrentHashMap.newKeySet();
        private final boolean isChecked;

        ThrowingHandler(boolean isChecked) {
            this.isChecked = isChecked;
        }

        private void fail(String where) {
            thrown.add(where);
            if (isChecked) {
                throwUndeclared(new IOException("in " + where));
            }
            throw new IllegalStateException("in " + where);
        }

        /** As languages without checked exceptions do. */
        @SuppressWarnings("unchecked")
        private static <X extends Throwable> void throwUndeclared(Throwable thrown) throws X {
            throw (X) thrown;
        }

        @Override
        public void onStart(Observation.Context context) {
            fail("start");
        }

        @Override
        public void onError(Observation.Context context) {
            fail("error");
        }

        @Override
        public void onScopeOpened(Observation.Context context) {
            fail("open");
        }

        @Override
        public void onStop(Observation.Context context) {
            fail("stop");
        }

        @Override
        public boolean supportsContext(Observation.Context context) {
            return true;
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aHandlerThatThrowsHarmsNoLockAndIsLoggedOnce(boolean isChecked) throws Exception {
        ObservationRegistry hostile = ObservationRegistry.create();
        ThrowingHandler handler = new ThrowingHandler(isChecked);
        hostile.observationConfig().observationHandler(handler);
        RedlockObservations locks = new RedlockObservations(redlock, hostile, "orders");
        try (LogLines log = new LogLines()) {
            assertEquals(7, locks.call("orders/42", OPTIONS, lease -> 7).value());
            assertThrows(IOException.class, () -> locks.run("orders/42", OPTIONS, lease -> {
                throw new IOException("from the task");
            }));
            assertEquals("done",
                    locks.runAsync("orders/42", OPTIONS, lease -> stage("done")).toCompletableFuture().get().value());
            Lease lease = locks.acquire("orders/42", OPTIONS).lease();
            assertNull(hostile.getCurrentObservationScope());
            assertEquals(ReleaseOutcome.RELEASED, lease.release());
            assertThrows(IllegalArgumentException.class, () -> locks.acquire("", OPTIONS));
            List<String> lines = log.with("an observation of the locks of \"orders\" failed");
            assertEquals(1, lines.size(), lines::toString);
        }
        assertEquals(Set.of("start", "error", "open", "stop"), handler.thrown);
    }

    @Test
    void aScopeThatCannotBeClosedDoesNotStayOnTheThread() throws Exception {
        ObservationRegistry hostile = ObservationRegistry.create();
        hostile.observationConfig().observationHandler(new ObservationHandler<>() {
            @Override
            public void onScopeClosed(Observation.Context context) {
                throw new IllegalStateException("in close");
            }

            @Override
            public boolean supportsContext(Observation.Context context) {
                return true;
            }
        });
        try (LogLines log = new LogLines()) {
            RedlockObservations locks = new RedlockObservations(redlock, hostile, "orders");
            assertTrue(locks.run("orders/42", OPTIONS, lease -> assertTrue(lease.isHeld())).isAcquired());
            assertEquals(1, log.with("an observation of the locks").size());
        }
        assertNull(hostile.getCurrentObservationScope());
    }

    @Test
    void withoutHandlersTheMethodsAreThoseOfTheClient() throws Exception {
        for (ObservationRegistry silent : List.of(ObservationRegistry.NOOP, ObservationRegistry.create())) {
            RedlockObservations locks = new RedlockObservations(redlock, silent, "orders");
            AcquireOutcome outcome = locks.acquire("orders/42", OPTIONS);
            assertFalse(outcome instanceof ObservedOutcome);
            assertFalse(outcome.lease() instanceof ObservedLease);
            assertEquals(ReleaseOutcome.RELEASED, outcome.lease().release());
            assertEquals(7, locks.call("orders/42", OPTIONS, lease -> 7).value());
            assertEquals("ran", locks.callOrThrow("orders/42", OPTIONS, lease -> "ran"));
            assertEquals("done",
                    locks.runAsync("orders/42", OPTIONS, lease -> stage("done")).toCompletableFuture().get().value());
        }
    }

    /** An application may switch single observations off. */
    @Test
    void anObservationThatTheRegistryRejectsChangesNothing() throws Exception {
        registry.observationConfig().observationPredicate((name, context) -> !name.equals("redlock.lock.acquire"));
        assertEquals(7, orders.call("orders/42", OPTIONS, lease -> 7).value());
        assertEquals(hold("RELEASED"), next());
    }

    /** The timers of observations and the meters of the client have different names: Prometheus has both. */
    @Test
    void metersOfObservationsStandBesideThoseOfTheClient() throws Exception {
        PrometheusMeterRegistry prometheus = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        new RedlockMetrics(redlock).bindTo(prometheus);
        registry.observationConfig().observationHandler(new DefaultMeterObservationHandler(prometheus));
        assertTrue(orders.run("orders/42", OPTIONS, lease -> assertTrue(lease.isHeld())).isAcquired());
        next();
        next();
        String scrape = prometheus.scrape();
        assertTrue(scrape.contains("redlock_acquire_seconds_count{outcome=\"ACQUIRED\"} 1"), scrape);
        assertTrue(scrape.contains("redlock_lock_acquire_seconds_count{error=\"none\",lock_group=\"orders\","
                + "outcome=\"ACQUIRED\"} 1"), scrape);
        assertTrue(scrape.contains("redlock_lock_hold_seconds_count{error=\"none\",lock_group=\"orders\","
                + "outcome=\"RELEASED\"} 1"), scrape);
        assertFalse(scrape.contains("orders/42"), "names of locks are no tags");
    }

    /** An application may trace without meters. */
    @Test
    void observationsNeedNoMeters() throws Exception {
        List<URL> places = new ArrayList<>();
        for (String place : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (!place.contains("micrometer-core")) {
                places.add(Path.of(place).toUri().toURL());
            }
        }
        try (URLClassLoader loader = new URLClassLoader(places.toArray(URL[]::new),
                ClassLoader.getPlatformClassLoader())) {
            assertThrows(ClassNotFoundException.class, () -> loader.loadClass("io.micrometer.core.instrument.Meter"));
            assertThrows(NoClassDefFoundError.class,
                    () -> loader.loadClass("dev.redlock.micrometer.RedlockMetrics").getDeclaredMethods());
            Class<?> type = Class.forName("dev.redlock.micrometer.RedlockObservations", true, loader);
            assertTrue(type.getDeclaredMethods().length > 8);
        }
    }

    @Test
    void wrongArgumentsAreNamed() {
        Refusal.ofNull("client is null: give the one that acquires",
                () -> new RedlockObservations(null, registry, "orders"));
        Refusal.ofNull("registry is null: give the one whose handlers observe",
                () -> new RedlockObservations(redlock, null, "orders"));
        Refusal.ofNull("group is null: name what these locks are for",
                () -> new RedlockObservations(redlock, registry, null));
        Refusal.ofArgument("group \" \" is blank: name what these locks are for",
                () -> new RedlockObservations(redlock, registry, " "));
    }
}
