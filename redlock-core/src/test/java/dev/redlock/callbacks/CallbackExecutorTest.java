package dev.redlock.callbacks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Election;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import dev.redlock.engine.callback.CallbackExecutor;
import dev.redlock.engine.callback.CallbackExecutors;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Await;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The executor of the user: what it does, and what the client does if it does not do it. */
class CallbackExecutorTest extends VirtualTest {

    private static final String NOT_ACCEPTED = "the callback executor does not accept a function";
    private final ArrayDeque<Runnable> kept = new ArrayDeque<>();

    private VirtualWorld.Client client(Executor executor) {
        world = new VirtualWorld(3);
        return client(context().callbackExecutor(executor));
    }

    private void runKept() {
        for (Runnable task = kept.poll(); task != null; task = kept.poll()) {
            task.run();
        }
    }

    private void awaitDone(CompletableFuture<?> stage) {
        Await.until("the stage is complete", stage::isDone);
    }

    @Test
    void theLockIsHeldBeforeItsStageCompletes() {
        VirtualWorld.Client client = client(kept::add);
        CompletableFuture<AcquireOutcome> stage = acquireAsync(client, options());
        world.runMs(10);
        assertFalse(stage.isDone());
        assertEquals(1, client.engine().heldCount(), "the lock is there");
        runKept();
        assertTrue(stage.join().isAcquired());
        CompletableFuture<?> released = stage.join().lease().releaseAsync().toCompletableFuture();
        world.runMs(10);
        assertFalse(released.isDone());
        assertEquals(0, keyCount(), "it is free");
        runKept();
        assertTrue(released.isDone());
    }

    /** A caller that gives the stage up leaves no lock, also while the executor has it. */
    @Test
    void aStageThatWaitsForTheExecutorCanBeCancelled() {
        VirtualWorld.Client client = client(kept::add);
        CompletableFuture<AcquireOutcome> stage = acquireAsync(client, options());
        world.runMs(10);
        assertTrue(stage.cancel(false));
        world.runMs(10);
        assertEquals(0, keyCount());
        runKept();
        world.runMs(10);
        assertTrue(stage.isCancelled());
        assertEquals(0, client.engine().heldCount());
    }

    @Test
    void anExecutorInTheCallerIsAsFastAsTheLoop() {
        VirtualWorld.Client client = client(Runnable::run);
        assertTrue(lease(client).isHeld());
    }

    /** The ways in which an executor does not run a function, or not once. */
    private enum Hostile implements Executor {
        REJECTS {
            @Override
            public void execute(Runnable task) {
                throw new RejectedExecutionException("thrown by a test");
            }
        },
        THROWS_AN_ERROR {
            @Override
            public void execute(Runnable task) {
                throw new StackOverflowError("thrown by a test");
            }
        },
        RUNS_AND_THROWS {
            @Override
            public void execute(Runnable task) {
                task.run();
                throw new IllegalStateException("thrown by a test");
            }
        },
        RUNS_TWICE {
            @Override
            public void execute(Runnable task) {
                task.run();
                task.run();
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void whatAnExecutorDoesNotRunRunsElsewhereAndOnce(Hostile executor) {
        VirtualWorld.Client client = client(executor);
        List<AcquireOutcome> outcomes = new CopyOnWriteArrayList<>();
        try (LogLines log = new LogLines()) {
            for (int i = 0; i < 3; i++) {
                CompletableFuture<Void> stage = client.redlock()
                        .acquireAsync("r" + i, options())
                        .thenAccept(outcomes::add)
                        .toCompletableFuture();
                world.runMs(10);
                awaitDone(stage);
            }
            assertEquals(3, outcomes.size());
            assertEquals(executor == Hostile.RUNS_TWICE ? 0 : 1, log.with(Level.SEVERE, NOT_ACCEPTED).size());
        }
        clearRecordedExceptions();
    }

    /** As containers do that close their pools first. */
    @Test
    void whatAPoolDropsAtItsEndRunsElsewhere() throws InterruptedException {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
        CountDownLatch blocked = new CountDownLatch(1);
        pool.execute(() -> awaitUninterruptibly(blocked));
        VirtualWorld.Client client = client(pool);
        CompletableFuture<AcquireOutcome> stage = acquireAsync(client, options());
        world.runMs(10);
        assertEquals(1, pool.shutdownNow().size(), "it is dropped");
        blocked.countDown();
        assertTrue(pool.awaitTermination(30, TimeUnit.SECONDS));
        assertFalse(stage.isDone());
        world.runMs(2_100);
        awaitDone(stage);
        assertTrue(stage.join().isAcquired());
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        boolean isDone = false;
        while (!isDone) {
            try {
                latch.await();
                isDone = true;
            } catch (InterruptedException e) {
                // shutdownNow() interrupts.
            }
        }
    }

    @Test
    void aClientClosesWhileFunctionsWait() {
        VirtualWorld.Client client = client(kept::add);
        CompletableFuture<AcquireOutcome> held = acquireAsync(client, options());
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, options().waitUpTo(TTL));
        world.runMs(10);
        CompletableFuture<CloseReport> closed = client.engine().close(TTL);
        world.runMs(10);
        assertEquals(new CloseReport(1, List.of()), closed.join());
        assertFalse(held.isDone() || waiting.isDone());
        runKept();
        assertFalse(held.join().lease().isHeld());
        assertEquals(AcquireOutcome.Kind.CLOSED, waiting.join().kind());
    }

    // ---- listeners --------------------------------------------------------------------------------------------------

    private static LeaseListener recorder(List<String> events) {
        return new LeaseListener() {
            @Override
            public void onLost(Lease lease, LeaseState state) {
                events.add(state.name());
            }

            @Override
            public void onExtended(Lease lease, int extensionCount) {
                events.add("extension " + extensionCount);
            }
        };
    }

    private void extendTwiceAndLose(VirtualWorld.Client client, List<String> events) {
        acquireAsync(client, AcquireOptions.ofTtl(Duration.ofSeconds(3))
                .tryOnce()
                .autoExtend()
                .listener(recorder(events)));
        world.runMs(2_500);
        eachNode(node -> node.redis().flushAll());
        world.runMs(500);
    }

    @Test
    void theEventsOfALeaseComeInOrderAndOneAtATime() {
        VirtualWorld.Client client = client(kept::add);
        List<String> events = new ArrayList<>();
        extendTwiceAndLose(client, events);
        assertEquals(List.of(), events);
        runKept();
        assertEquals(List.of("extension 1", "extension 2", "LOST"), events);
    }

    /** A pool whose threads are all blocked must not hide it. */
    @Test
    void aLossThatWaitsForTheExecutorIsHeardAfterTwoSeconds() {
        VirtualWorld.Client client = client(kept::add);
        List<String> events = new CopyOnWriteArrayList<>();
        extendTwiceAndLose(client, events);
        world.runMs(2_100);
        Await.until("the loss is heard", () -> events.contains("LOST"));
        runKept();
        assertEquals(List.of("extension 1", "extension 2", "LOST"), events);
    }

    /** The executor is busy with the functions of other elections, which may lead inside them. */
    @Test
    void aCandidateDoesNotHoldItsLockWithoutLeading() {
        VirtualWorld.Client client = client(kept::add);
        List<Election.Term> terms = new CopyOnWriteArrayList<>();
        try (LogLines log = new LogLines()) {
            for (String resource : List.of("orders", "invoices")) {
                client.redlock().elect(resource, AcquireOptions.ofTtl(TTL), terms::add);
            }
            world.runMs(3_100);
            Await.until("both lead", () -> terms.size() == 2);
            runKept();
            assertEquals(2, terms.size());
            assertEquals(1, log.with(Level.WARNING, "one thread for each election that leads").size());
            terms.forEach(Election.Term::resign);
            world.runMs(5_000);
            Await.until("both have joined and lead again", () -> {
                world.runMs(1_000);
                return terms.size() == 4;
            });
        }
    }

    /** A function of an election may never end, and its executor still has it. */
    @Test
    void aCandidateWaitsForItsExecutorIfNoThreadCanStart() {
        CallbackExecutor executor = CallbackExecutors.withLateExtraThreads(kept::add, Integer.MAX_VALUE);
        List<Thread> ran = new CopyOnWriteArrayList<>();
        try (LogLines log = new LogLines()) {
            executor.executeLong(new Object(), () -> ran.add(Thread.currentThread()));
            for (int second = 0; second < 6; second++) {
                executor.poll(TimeUnit.SECONDS.toNanos(second));
            }
            assertEquals(List.of(), ran, "nothing runs on the event loop");
            assertEquals(1, log.with(Level.SEVERE, "no thread can start for a function of an election").size());
            assertEquals(List.of(), log.with(Level.WARNING, "one thread for each election that leads"));
            runKept();
            assertEquals(1, ran.size());
        }
        executor.close();
    }

    /** Three polls do without a thread. */
    @Test
    void aCandidateThatWaitsGetsAThreadAsSoonAsOneCanStart() {
        CallbackExecutor executor = CallbackExecutors.withLateExtraThreads(kept::add, 3);
        List<Thread> ran = new CopyOnWriteArrayList<>();
        try (LogLines log = new LogLines()) {
            executor.executeLong(new Object(), () -> ran.add(Thread.currentThread()));
            for (int second = 0; second < 4; second++) {
                executor.poll(TimeUnit.SECONDS.toNanos(second));
                assertEquals(List.of(), ran, "second " + second);
            }
            executor.poll(TimeUnit.SECONDS.toNanos(4));
            Await.until("it runs", () -> !ran.isEmpty());
            assertFalse(ran.contains(Thread.currentThread()));
            assertEquals(1, log.with(Level.WARNING, "one thread for each election that leads").size());
            runKept();
            assertEquals(1, ran.size());
        }
        executor.close();
    }

    /** An owner whose events cannot be looked up once: there is no memory. */
    private static final class HungryOwner {

        private boolean isHungry;

        @Override
        public boolean equals(Object other) {
            return this == other;
        }

        @Override
        public int hashCode() {
            if (isHungry) {
                isHungry = false;
                throw new InternalError("no memory, thrown by a test");
            }
            return 1;
        }
    }

    @Test
    void eventsComeAfterAnErrorBetweenTwoOfThem() {
        CallbackExecutor executor = new CallbackExecutor(kept::add, false);
        HungryOwner owner = new HungryOwner();
        List<String> events = new CopyOnWriteArrayList<>();
        executor.executeInOrder(owner, () -> owner.isHungry = events.add("first"));
        runKept();
        assertFalse(owner.isHungry, "there was no memory");
        executor.executeInOrder(owner, () -> events.add("second"));
        for (int second = 0; second < 3; second++) {
            executor.poll(TimeUnit.SECONDS.toNanos(second));
        }
        Await.until("the second runs", () -> events.equals(List.of("first", "second")));
        executor.executeInOrder(owner, () -> events.add("third"));
        runKept();
        Await.until("the third runs", () -> events.equals(List.of("first", "second", "third")));
        executor.close();
    }

    @Test
    void aListenerThatBlocksDelaysNoOther() {
        List<Thread> threads = new ArrayList<>();
        VirtualWorld.Client client = client(task -> {
            Thread thread = new Thread(task);
            threads.add(thread);
            thread.start();
        });
        CountDownLatch blocked = new CountDownLatch(1);
        List<String> events = new CopyOnWriteArrayList<>();
        client.redlock().acquireAsync("a", options().listener((lease, state) -> awaitUninterruptibly(blocked)));
        client.redlock().acquireAsync("b", options().listener(recorder(events)));
        world.runMs(10_100);
        Await.until("the other is heard", () -> events.contains("EXPIRED"));
        blocked.countDown();
        threads.forEach(thread -> Await.until("the thread ends", () -> !thread.isAlive()));
    }
}
