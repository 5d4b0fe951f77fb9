package dev.redlock.test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Scenarios of a user's tests, which end in the same way on the nodes of the kit and on real servers. */
@Timeout(60)
abstract class KitContract {

    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration LIMIT = Duration.ofSeconds(20);

    private final List<Redlock> clients = new ArrayList<>();
    private Trial trial;
    private Redlock redlock;

    /** Three nodes. */
    interface Trial extends AutoCloseable {

        RedlockContext context();

        /** Returns when all nodes vote. */
        Redlock connect(RedlockContext context) throws InterruptedException;

        void fail(int index);

        void pause(int index);

        void resume(int index);

        void restart(int index);

        void expire(String name);

        /** Real servers only wait. */
        void advance(Duration duration);

        @Override
        void close();
    }

    abstract Trial start();

    /** A ttl and a quarantine that a test may wait for. */
    abstract Duration awaited();

    @BeforeEach
    void open() throws InterruptedException {
        trial = start();
        redlock = client();
    }

    @AfterEach
    void close() {
        clients.forEach(Redlock::close);
        trial.close();
    }

    private Redlock client() throws InterruptedException {
        return client(trial.context());
    }

    private Redlock client(RedlockContext context) throws InterruptedException {
        Redlock client = trial.connect(context.nodeTimeout(Duration.ofMillis(500)));
        clients.add(client);
        return client;
    }

    @Test
    void aLockExcludesOtherClients() throws InterruptedException {
        Redlock other = client();
        Lease lease = redlock.tryAcquire("orders", LONG).lease();
        assertEquals(AcquireOutcome.Kind.CONTENDED, other.tryAcquire("orders", LONG).kind());
        assertEquals(ReleaseOutcome.RELEASED, lease.release());
        assertTrue(other.tryAcquire("orders", LONG).isAcquired(), "released");
    }

    @Test
    void aWaiterGetsTheReleasedLock() throws InterruptedException {
        Lease lease = redlock.tryAcquire("orders", LONG).lease();
        Redlock other = client();
        CompletableFuture<AcquireOutcome> waiting = other
                .acquireAsync("orders", AcquireOptions.ofTtl(LONG).waitUpTo(LIMIT))
                .toCompletableFuture();
        await(() -> other.counters().contendedAttemptCount() > 0);
        assertFalse(waiting.isDone(), "it is held");
        lease.release();
        assertTrue(waiting.join().isAcquired(), "it was released");
    }

    @Test
    void oneOfThreeNodesMayFailAndTwoMayNot() throws InterruptedException {
        trial.fail(0);
        Lease lease = redlock.tryAcquire("orders", LONG).lease();
        trial.fail(1);
        assertTrue(lease.isHeld(), "until its validity ends");
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, redlock.tryAcquire("other", LONG).kind());
    }

    @Test
    void pausedNodesDoNotAnswerUntilTheyResume() throws InterruptedException {
        trial.pause(0);
        assertTrue(redlock.tryAcquire("orders", LONG).isAcquired(), "two nodes answer");
        trial.pause(1);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, redlock.tryAcquire("other", LONG).kind());
        trial.resume(0);
        trial.resume(1);
        assertTrue(redlock.tryAcquire("other", LONG, LIMIT).isAcquired(), "all answer");
    }

    @Test
    void restartedNodesVoteAfterTheLongestTtl() throws InterruptedException {
        Redlock guarded = client(trial.context().maxTtl(awaited()));
        // They have forgotten this lock, so they must not grant it.
        assertTrue(guarded.tryAcquire("orders", awaited()).isAcquired());
        trial.restart(0);
        trial.restart(1);
        await(() -> guarded.nodes().stream().filter(node -> node.state() == NodeState.QUARANTINED).count() == 2);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, guarded.tryAcquire("orders", awaited()).kind());
        // Servers round their uptime, by up to two seconds.
        trial.advance(awaited().plusSeconds(3));
        assertTrue(guarded.tryAcquire("orders", awaited(), LIMIT).isAcquired());
    }

    @Test
    void aLeaseExpires() throws InterruptedException {
        CompletableFuture<LeaseState> lost = new CompletableFuture<>();
        Lease lease = redlock.tryAcquire("orders", options(lost)).lease();
        trial.advance(awaited());
        assertEquals(LeaseState.EXPIRED, lost.orTimeout(60, TimeUnit.SECONDS).join());
        assertFalse(lease.isHeld());
        assertTrue(client().tryAcquire("orders", LONG, LIMIT).isAcquired());
    }

    @Test
    void anExtendedLeaseOutlivesItsTtl() throws InterruptedException {
        CompletableFuture<Integer> thrice = new CompletableFuture<>();
        Lease lease = redlock.tryAcquire("orders", AcquireOptions.ofTtl(awaited())
                .autoExtend()
                .listener(
                        new LeaseListener() {
                            @Override
                            public void onLost(Lease lost, LeaseState state) {
                                thrice.completeExceptionally(new AssertionError(lost));
                            }

                            @Override
                            public void onExtended(Lease held, int extensionCount) {
                                if (extensionCount == 4) {
                                    thrice.complete(extensionCount);
                                }
                            }
                        }))
                .lease();
        trial.advance(awaited().multipliedBy(3));
        thrice.orTimeout(60, TimeUnit.SECONDS).join();
        assertTrue(lease.isHeld(), lease::toString);
        assertEquals(AcquireOutcome.Kind.CONTENDED, client().tryAcquire("orders", LONG).kind());
    }

    @Test
    void aHolderIsToldThatItsKeysAreGone() throws InterruptedException {
        CompletableFuture<LeaseState> lost = new CompletableFuture<>();
        AcquireOptions options = AcquireOptions.ofTtl(LONG)
                .watchLoss()
                .listener((lease, state) -> lost.complete(state));
        Lease lease = redlock.tryAcquire("orders", options).lease();
        assertTrue(lease.isHeld());
        trial.expire("orders");
        assertEquals(LeaseState.LOST, lost.orTimeout(60, TimeUnit.SECONDS).join());
        assertFalse(lease.isHeld());
        assertTrue(client().tryAcquire("orders", LONG, LIMIT).isAcquired());
    }

    @Test
    void fencingTokensGrow() throws InterruptedException {
        AcquireOptions fenced = AcquireOptions.ofTtl(LONG).fenced().waitUpTo(LIMIT);
        long last = 0;
        for (Redlock client : List.of(redlock, client(), redlock)) {
            try (Lease lease = client.acquire("orders", fenced).lease()) {
                assertTrue(lease.fencingToken() > last, last + " < " + lease.fencingToken());
                last = lease.fencingToken();
            }
        }
        trial.fail(2);
        try (Lease lease = redlock.acquire("orders", fenced).lease()) {
            assertTrue(lease.fencingToken() > last, last + " < " + lease.fencingToken());
        }
    }

    @Test
    void aSemaphoreHasItsPermits() throws InterruptedException {
        AcquireOptions permit = AcquireOptions.ofTtl(LONG).forPermitOf(2);
        Lease first = redlock.tryAcquire("printers", permit).lease();
        assertTrue(client().tryAcquire("printers", permit).isAcquired());
        assertEquals(AcquireOutcome.Kind.CONTENDED, client().tryAcquire("printers", permit).kind());
        first.release();
        assertTrue(redlock.tryAcquire("printers", permit.waitUpTo(LIMIT)).isAcquired());
        trial.expire("printers");
        assertTrue(client().tryAcquire("printers", permit.waitUpTo(LIMIT)).isAcquired(), "all permits are free");
    }

    @Test
    void readersExcludeWritersOnly() throws InterruptedException {
        AcquireOptions options = AcquireOptions.ofTtl(LONG).tryOnce();
        Redlock other = client();
        Lease first = redlock.acquire("stock", options.forReading()).lease();
        Lease second = other.acquire("stock", options.forReading()).lease();
        assertEquals(AcquireOutcome.Kind.CONTENDED, client().acquire("stock", options.forWriting()).kind());
        first.release();
        second.release();
        assertTrue(redlock.acquire("stock", options.forWriting().waitUpTo(LIMIT)).isAcquired());
        assertEquals(AcquireOutcome.Kind.CONTENDED, other.acquire("stock", options.forReading()).kind());
    }

    private AcquireOptions options(CompletableFuture<LeaseState> lost) {
        return AcquireOptions.ofTtl(awaited()).listener((lease, state) -> lost.complete(state));
    }

    static void await(BooleanSupplier condition) throws InterruptedException {
        long startNs = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() - startNs < LIMIT.toNanos(), "not within the limit");
            new CountDownLatch(1).await(1, TimeUnit.MILLISECONDS);
        }
    }
}
