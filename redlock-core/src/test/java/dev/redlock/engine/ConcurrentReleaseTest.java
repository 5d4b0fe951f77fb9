package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.LiveNodes;
import dev.redlock.testing.Await;
import dev.redlock.time.NanoClock;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Two threads release one lease at the same time: each gets an outcome, or an exception that another release is in
 * progress.
 */
@Timeout(value = 240, unit = TimeUnit.SECONDS)
class ConcurrentReleaseTest {

    private static final int ROUNDS = 10_000;

    private final AtomicInteger arrived = new AtomicInteger();

    @Test
    void everyConcurrentReleaseCompletes() throws Exception {
        ExecutorService another = Executors.newSingleThreadExecutor();
        try (Redlock redlock = TestClient.unreachable()) {
            Lease lease = redlock.newLease();
            AcquireOptions options = AcquireOptions.ofTtl(Duration.ofSeconds(10)).tryOnce();
            redlock.acquire(redlock.key("r"), options, lease, outcome -> {
            });
            Await.until("not acquired", () -> lease.state() == LeaseState.NOT_ACQUIRED);
            Future<Integer> others = another.submit(() -> releaseOften(lease));
            int received = releaseOften(lease) + others.get();
            assertTrue(received >= ROUNDS, "one of two in each round: " + received);
        } finally {
            another.shutdownNow();
        }
    }

    /** A release with a callback arrives while the loop ends another one without a callback. */
    @Test
    void aReleaseDuringTheEndOfAnotherCompletes() throws Exception {
        try (LiveNodes nodes = new LiveNodes(1)) {
            TestClient client = new TestClient(new RedlockContext().nodes(nodes.addresses())
                    .autoExtendedLeasesMax(0), nodes.clientLoop(), nodes.newTransport(), NanoClock.system(), 1);
            client.open().join();
            LeaseHandle lease = (LeaseHandle) client.redlock().newLease();
            client.redlock()
                    .acquire(client.redlock().key("r"),
                            AcquireOptions.ofTtl(Duration.ofSeconds(10)).tryOnce().autoExtend(), lease, outcome -> {
                            });
            Await.until("not acquired", () -> lease.state() == LeaseState.NOT_ACQUIRED);
            for (int round = 1; round <= ROUNDS; round++) {
                int last = 2 * round;
                client.execute(() -> {
                    meet(last);
                    lease.completeRelease(ReleaseOutcome.EXPIRED);
                });
                meet(last);
                for (int i = round % 64; i > 0; i--) {
                    Thread.onSpinWait();
                }
                lease.releaseAsync().toCompletableFuture().get(240, TimeUnit.SECONDS);
            }
            client.redlock().close();
        }
    }

    private void meet(int last) {
        arrived.incrementAndGet();
        spinUntil(() -> arrived.get() >= last);
    }

    /** Spins for the tightest meeting, and yields if the other thread has no processor. */
    private static void spinUntil(BooleanSupplier condition) {
        for (int i = 0; !condition.getAsBoolean(); i++) {
            if (i < 1_000) {
                Thread.onSpinWait();
            } else {
                Thread.yield();
            }
        }
    }

    private int releaseOften(Lease lease) throws Exception {
        int received = 0;
        for (int round = 1; round <= ROUNDS; round++) {
            arrived.incrementAndGet();
            int last = 2 * round;
            spinUntil(() -> {
                assertFalse(Thread.currentThread().isInterrupted(), "the other one has ended");
                return arrived.get() >= last;
            });
            CompletionStage<ReleaseOutcome> released;
            try {
                released = lease.releaseAsync();
            } catch (IllegalStateException e) {
                assertTrue(e.getMessage().contains("in progress"), e.getMessage());
                continue;
            }
            released.toCompletableFuture().get(240, TimeUnit.SECONDS);
            received++;
        }
        return received;
    }
}
