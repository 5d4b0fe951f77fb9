package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two threads release one lease at once: each is told an outcome, or that another release is under way. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ConcurrentReleaseTest {

    private static final int ROUNDS = 10_000;

    private final AtomicInteger arrived = new AtomicInteger();

    @Test
    void everyCallerIsAnswered() throws Exception {
        final ExecutorService another = Executors.newSingleThreadExecutor();
        try (Redlock redlock = RedlockBadInputTest.unreachable()) {
            final Lease lease = redlock.newLease();
            final AcquireOptions options = AcquireOptions.ofTtl(Duration.ofSeconds(10));
            redlock.acquire(redlock.key("r"), options, lease, outcome -> {
            });
            Await.until("not acquired", () -> lease.state() == LeaseState.NOT_ACQUIRED);
            final Future<Integer> others = another.submit(() -> releaseOften(lease));
            final int told = releaseOften(lease) + others.get();
            assertTrue(told >= ROUNDS, "one of two in each round: " + told);
        } finally {
            another.shutdownNow();
        }
    }

    private int releaseOften(final Lease lease) throws Exception {
        int told = 0;
        for (int round = 1; round <= ROUNDS; round++) {
            arrived.incrementAndGet();
            while (arrived.get() < 2 * round) {
                assertFalse(Thread.currentThread().isInterrupted(), "the other one has ended");
                Thread.onSpinWait();
            }
            final CompletionStage<ReleaseOutcome> released;
            try {
                released = lease.releaseAsync();
            } catch (final IllegalStateException e) {
                assertTrue(e.getMessage().contains("under way"), e.getMessage());
                continue;
            }
            released.toCompletableFuture().get(10, TimeUnit.SECONDS);
            told++;
        }
        return told;
    }
}
