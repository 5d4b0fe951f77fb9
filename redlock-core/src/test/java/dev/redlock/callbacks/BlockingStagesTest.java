package dev.redlock.callbacks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.SocketNodes;
import dev.redlock.testing.Await;
import dev.redlock.testing.LogLines;
import java.net.URL;
import java.net.URLClassLoader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.logging.Level;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Functions of the user that block: they run on threads of the client, so they stop no lock. */
@Timeout(60)
class BlockingStagesTest {

    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(50)).tryOnce();
    /** More than the client has threads. */
    private static final int MANY = 40;

    private final CountDownLatch unblocked = new CountDownLatch(1);
    private SocketNodes nodes;
    private Redlock redlock;

    @BeforeEach
    void connect() {
        nodes = new SocketNodes(3);
        redlock = connected();
    }

    private Redlock connected() {
        return Redlock.connect(context());
    }

    private RedlockContext context() {
        return new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(5));
    }

    @AfterEach
    void close() {
        unblocked.countDown();
        redlock.close();
        nodes.close();
    }

    private Thread block() {
        try {
            unblocked.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        return Thread.currentThread();
    }

    private void assertOthersLock() throws InterruptedException {
        Lease lease = redlock.tryAcquire("other", OPTIONS).lease();
        assertEquals(ReleaseOutcome.RELEASED, lease.release());
    }

    /** No stage completes meanwhile: a function that is added to a complete one runs in the thread that adds it. */
    private void whileNothingCompletes(Redlock client, Runnable additions) {
        CountDownLatch added = new CountDownLatch(1);
        client.acquire(client.key("first"), OPTIONS, client.newLease(), outcome -> {
            try {
                added.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            outcome.lease().releaseAsync();
        });
        try {
            additions.run();
        } finally {
            added.countDown();
        }
    }

    /** A function that blocks, in each place where a user can give one. */
    private void assertStopsNothing(BiConsumer<Redlock, Runnable> use) throws Exception {
        CompletableFuture<Void> started = new CompletableFuture<>();
        whileNothingCompletes(redlock, () -> use.accept(redlock, () -> {
            started.complete(null);
            block();
        }));
        started.get(30, TimeUnit.SECONDS);
        assertOthersLock();
    }

    @Test
    void aStageOfAnAcquisition() throws Exception {
        assertStopsNothing((client, blocking) -> client.acquireAsync("r", OPTIONS).thenRun(blocking));
    }

    @Test
    void aStageOfARelease() throws Exception {
        assertStopsNothing((client, blocking) -> client.acquireAsync("r", OPTIONS)
                .thenCompose(outcome -> outcome.lease().releaseAsync())
                .thenRun(blocking));
    }

    @Test
    void aStageOfAnExtension() throws Exception {
        assertStopsNothing((client, blocking) -> client.acquireAsync("r", OPTIONS)
                .thenCompose(outcome -> outcome.lease().extendAsync(Duration.ofSeconds(50)))
                .thenRun(blocking));
    }

    @Test
    void aTask() throws Exception {
        assertStopsNothing((client, blocking) -> client.runAsync("r", OPTIONS, lease -> {
            blocking.run();
            return CompletableFuture.completedFuture(null);
        }));
    }

    @Test
    void aStageOfATask() throws Exception {
        assertStopsNothing((client, blocking) -> client
                .runAsync("r", OPTIONS, lease -> CompletableFuture.completedFuture(null))
                .thenRun(blocking));
    }

    @Test
    void aListener() throws Exception {
        assertStopsNothing((client, blocking) -> client.acquireAsync("r",
                AcquireOptions.ofTtl(Duration.ofSeconds(2)).tryOnce().listener((lease, state) -> blocking.run())));
    }

    @Test
    void aFunctionOfAnElection() throws Exception {
        assertStopsNothing((client, blocking) -> client.elect("r", OPTIONS, term -> blocking.run()));
    }

    @Test
    void theEndOfATerm() throws Exception {
        assertStopsNothing((client, blocking) -> client.elect("r", OPTIONS, term -> {
            term.ended().thenRun(blocking);
            CompletableFuture.runAsync(term::resign);
        }));
    }

    @Test
    void aStageMayUseBlockingCalls() {
        ReleaseOutcome released = redlock.acquireAsync("r", OPTIONS)
                .thenApply(outcome -> outcome.lease().release())
                .toCompletableFuture()
                .join();
        assertEquals(ReleaseOutcome.RELEASED, released);
    }

    /** The stages that wait for a thread lose nothing, and listeners have threads of their own. */
    @Test
    void aLossIsHeardWhileAllThreadsOfStagesBlock() throws Exception {
        List<CompletableFuture<Void>> blocking = new ArrayList<>();
        CountDownLatch started = new CountDownLatch(8);
        whileNothingCompletes(redlock, () -> {
            for (int i = 0; i < MANY; i++) {
                blocking.add(redlock.acquireAsync("r" + i, OPTIONS).thenAccept(outcome -> {
                    started.countDown();
                    assertTrue(outcome.isAcquired());
                    block();
                }).toCompletableFuture());
            }
        });
        assertTrue(started.await(30, TimeUnit.SECONDS));
        CompletableFuture<LeaseState> lost = new CompletableFuture<>();
        acquireAndLose("lost", lost::complete);
        assertEquals(LeaseState.EXPIRED, lost.get(30, TimeUnit.SECONDS));
        assertOthersLock();
        unblocked.countDown();
        blocking.forEach(CompletableFuture::join);
    }

    /** A candidate whose function does not start would hold its lock without leading. */
    @Test
    void manyCandidatesLeadInsideTheirFunctions() throws Exception {
        CountDownLatch started = new CountDownLatch(MANY);
        for (int i = 0; i < MANY; i++) {
            redlock.elect("r" + i, OPTIONS, term -> {
                started.countDown();
                block();
            });
        }
        assertTrue(started.await(30, TimeUnit.SECONDS), () -> started.getCount() + " do not lead");
        CompletableFuture<LeaseState> lost = new CompletableFuture<>();
        acquireAndLose("lost", lost::complete);
        assertEquals(LeaseState.EXPIRED, lost.get(30, TimeUnit.SECONDS));
    }

    /** As above, in a pool of the user that is too small for them. */
    @Test
    void manyCandidatesLeadInsideTheirFunctionsInASmallPool() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        CountDownLatch started = new CountDownLatch(5);
        try (Redlock client = Redlock.connect(context().callbackExecutor(pool))) {
            for (int i = 0; i < 5; i++) {
                client.elect("r" + i, OPTIONS, term -> {
                    started.countDown();
                    block();
                });
            }
            assertTrue(started.await(30, TimeUnit.SECONDS), () -> started.getCount() + " do not lead");
        } finally {
            unblocked.countDown();
            pool.shutdown();
        }
    }

    private void acquireAndLose(String resource, Consumer<LeaseState> onLost) throws InterruptedException {
        AcquireOptions options = AcquireOptions.ofTtl(Duration.ofMillis(200))
                .tryOnce()
                .listener((lease, state) -> onLost.accept(state));
        boolean isAcquired;
        do {
            // An attempt may take longer than the ttl.
            isAcquired = redlock.tryAcquire(resource, options).isAcquired();
        } while (!isAcquired);
    }

    @Test
    void aLossIsHeardWhileAllThreadsOfListenersBlock() throws Exception {
        int count = 20;
        CountDownLatch heard = new CountDownLatch(count);
        try (LogLines log = new LogLines()) {
            for (int i = 0; i < count; i++) {
                acquireAndLose("r" + i, state -> {
                    heard.countDown();
                    block();
                });
            }
            assertTrue(heard.await(30, TimeUnit.SECONDS), () -> heard.getCount() + " are not heard");
            assertEquals(1, log.with(Level.WARNING, "all 16 redlock-listener threads are busy").size());
        }
    }

    @Test
    void theEndOfATermIsHeardWhileAllThreadsOfStagesBlock() throws Exception {
        CompletableFuture<LeaseState> ended = new CompletableFuture<>();
        CountDownLatch leads = new CountDownLatch(1);
        AcquireOptions options = AcquireOptions.ofTtl(Duration.ofMillis(200)).autoExtend(Duration.ofSeconds(5));
        redlock.elect("leader", options, term -> {
            term.ended().thenAccept(ended::complete);
            leads.countDown();
            block();
        });
        assertTrue(leads.await(30, TimeUnit.SECONDS));
        CountDownLatch started = new CountDownLatch(16);
        whileNothingCompletes(redlock, () -> {
            for (int i = 0; i < MANY; i++) {
                redlock.acquireAsync("r" + i, OPTIONS).thenRun(() -> {
                    started.countDown();
                    block();
                });
            }
        });
        assertTrue(started.await(30, TimeUnit.SECONDS));
        assertEquals(LeaseState.EXPIRED, ended.get(30, TimeUnit.SECONDS));
    }

    @Test
    void aCandidateMayLeadInsideItsFunction() throws Exception {
        CompletableFuture<Void> first = new CompletableFuture<>();
        CompletableFuture<Long> second = new CompletableFuture<>();
        redlock.elect("r", OPTIONS, term -> {
            if (first.complete(null)) {
                Await.until("the end of the term", () -> !term.isHeld());
            } else {
                second.complete(term.fencingToken());
            }
        });
        first.get(30, TimeUnit.SECONDS);
        for (int i = 0; i < 3; i++) {
            FakeNode node = nodes.node(i);
            nodes.onLoop(i, () -> {
                node.redis().flushAll();
                return null;
            });
        }
        assertTrue(second.get(30, TimeUnit.SECONDS) > 0, "it leads again");
    }

    @Test
    void theThreadsHaveTheClassLoaderOfTheCreatorAndEndWithTheClient() throws Exception {
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        URLClassLoader own = new URLClassLoader(new URL[0], before);
        Thread.currentThread().setContextClassLoader(own);
        Redlock client;
        try {
            client = connected();
        } finally {
            Thread.currentThread().setContextClassLoader(before);
        }
        Thread thread = client.acquireAsync("r", OPTIONS)
                .thenApply(outcome -> Thread.currentThread())
                .toCompletableFuture()
                .thenApply(ran -> {
                    assertSame(own, ran.getContextClassLoader());
                    return ran;
                })
                .join();
        assertTrue(thread.isDaemon());
        assertTrue(thread.getName().startsWith("redlock-callback-"), thread::getName);
        client.close();
        thread.join(30_000);
        assertFalse(thread.isAlive());
    }

    @Test
    void aCloseInsideAStageReturns() {
        Redlock client = connected();
        AcquireOutcome after = client.acquireAsync("r", OPTIONS).thenApply(outcome -> {
            client.close();
            return client.acquireAsync("r", OPTIONS).toCompletableFuture().join();
        }).toCompletableFuture().join();
        assertEquals(AcquireOutcome.Kind.CLOSED, after.kind());
    }

    @Test
    void anExecutorThatRunsInTheCallerIsTheEventLoop() {
        try (Redlock client = Redlock.connect(context().callbackExecutor(Runnable::run))) {
            CompletableFuture<Thread> thread = new CompletableFuture<>();
            whileNothingCompletes(client, () -> client.acquireAsync("r", OPTIONS)
                    .thenAccept(outcome -> thread.complete(Thread.currentThread())));
            assertEquals("redlock-0", thread.join().getName());
        }
    }
}
