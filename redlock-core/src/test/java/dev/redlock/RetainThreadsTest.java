package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.SocketNodes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Threads of two clients that retain the locks which the others want, at the same time. */
class RetainThreadsTest {

    private static final int THREADS = 3;
    private static final int LOCKS = 2_000;
    private static final AcquireOptions RETAINING = AcquireOptions.ofTtl(Duration.ofSeconds(10))
            .waitUpTo(Duration.ofSeconds(30))
            .retain(Duration.ofSeconds(10));

    private final AtomicInteger inside = new AtomicInteger();
    private final Queue<String> failures = new ConcurrentLinkedQueue<>();

    private static Redlock client(SocketNodes nodes) {
        return Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(2)));
    }

    private void use(Redlock client, int number) {
        try {
            ResourceKey key = client.key("orders");
            for (int i = 0; i < LOCKS && failures.isEmpty(); i++) {
                AcquireOutcome outcome = client.acquire(key, RETAINING);
                if (!outcome.isAcquired()) {
                    failures.add(outcome.toString());
                    return;
                }
                Lease lease = outcome.lease();
                int others = inside.getAndIncrement();
                boolean isHeld = lease.isHeld();
                inside.decrementAndGet();
                if (others != 0 || !isHeld) {
                    failures.add(others + " others, held " + isHeld);
                }
                if (i % 16 == number) {
                    lease.extend(Duration.ofSeconds(10));
                }
                if (i % 2 == 0) {
                    lease.close();
                } else {
                    lease.releaseAsync();
                }
            }
        } catch (InterruptedException | RuntimeException e) {
            failures.add(e.toString());
        }
    }

    @Test
    void oneThreadAtATimeHasTheLock() throws InterruptedException {
        try (SocketNodes nodes = new SocketNodes(3);
                Redlock busy = client(nodes);
                Redlock other = client(nodes)) {
            CountDownLatch done = new CountDownLatch(THREADS);
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                int number = i;
                Thread thread = new Thread(() -> {
                    use(number == 0 ? other : busy, number);
                    done.countDown();
                });
                threads.add(thread);
                thread.start();
            }
            assertTrue(done.await(120, TimeUnit.SECONDS), "the threads end");
            assertEquals(List.of(), List.copyOf(failures));
        }
    }

    /** While one client takes its lock from memory all the time, another one gets it whenever it wants it. */
    @Test
    void anotherClientInterruptsTheLocalGrants() throws InterruptedException {
        try (SocketNodes nodes = new SocketNodes(3);
                Redlock busy = client(nodes);
                Redlock other = client(nodes)) {
            AtomicBoolean isOver = new AtomicBoolean();
            Thread thread = new Thread(() -> {
                while (!isOver.get() && failures.isEmpty()) {
                    use(busy, THREADS);
                }
            });
            thread.start();
            AcquireOptions plain = AcquireOptions.ofTtl(Duration.ofSeconds(10)).waitUpTo(Duration.ofSeconds(30));
            for (int i = 0; i < 20; i++) {
                long before = busy.counters().localGrantCount();
                Await.until("local grants", () -> busy.counters().localGrantCount() - before > 100);
                Lease lease = other.acquire("orders", plain).lease();
                assertEquals(0, inside.getAndIncrement());
                assertTrue(lease.isHeld());
                inside.decrementAndGet();
                lease.close();
            }
            isOver.set(true);
            thread.join();
            assertEquals(List.of(), List.copyOf(failures));
            assertTrue(busy.counters().revokedCount() > 0, "it had to ask for the lock");
        }
    }
}
