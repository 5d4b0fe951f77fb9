package dev.redlock.retain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.RetentionEnd;
import dev.redlock.sim.SocketNodes;
import dev.redlock.testing.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Threads of two clients that retain the locks which the others want, at the same time. */
@Timeout(60)
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
            // An acquire that comes before the release before it was seen gives the lock up too.
            for (int i = 0; i < 20 || i < 2_000 && revokedCount(busy) == 0; i++) {
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
            assertTrue(revokedCount(busy) > 0, "it had to ask for the lock");
        }
    }

    private static long revokedCount(Redlock client) {
        return client.counters().retentionEndCount(RetentionEnd.REVOKED);
    }

    /** Keeps the event loop of a client from its work. */
    private static CountDownLatch block(Redlock client) throws InterruptedException {
        CountDownLatch isBlocked = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        AcquireOptions options = AcquireOptions.ofTtl(Duration.ofSeconds(10)).tryOnce();
        // A stage that has completed would run it on this thread.
        client.acquire(client.key("blocker"), options, client.newLease(), outcome -> {
            isBlocked.countDown();
            try {
                end.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        isBlocked.await();
        return end;
    }

    private static void retain(Redlock client) throws InterruptedException {
        assertEquals(ReleaseOutcome.RETAINED, client.acquire("orders", RETAINING).lease().release());
    }

    /** The release must not overtake it, although it needs no event loop. */
    @Test
    void aLocalLeaseIsHeldForTheShortestHold() throws InterruptedException {
        try (SocketNodes nodes = new SocketNodes(3);
                Redlock client = client(nodes);
                Redlock other = client(nodes)) {
            retain(client);
            Lease lease = client.acquire("orders", RETAINING).lease();
            assertEquals(1, client.counters().localGrantCount());
            CountDownLatch end = block(client);
            Thread thread = new Thread(() -> {
                lease.holdAtLeast(Duration.ofSeconds(9));
                ReleaseOutcome outcome = lease.release();
                if (outcome != ReleaseOutcome.KEPT) {
                    failures.add(outcome.toString());
                }
            });
            thread.start();
            Await.until("the release waits or has ended",
                    () -> thread.getState() == Thread.State.WAITING || !thread.isAlive());
            end.countDown();
            thread.join();
            assertEquals(List.of(), List.copyOf(failures));
            assertEquals(AcquireOutcome.Kind.CONTENDED, other.tryAcquire("orders", Duration.ofSeconds(10)).kind());
        }
    }

    /** The event loop gets the acquisition and its cancellation together, and the lock is free again by then. */
    @Test
    void anInterruptedCallerLeavesNoLock() throws InterruptedException {
        try (SocketNodes nodes = new SocketNodes(3);
                Redlock client = client(nodes);
                Redlock other = client(nodes)) {
            retain(client);
            Lease lease = client.acquire("orders", RETAINING).lease();
            CountDownLatch end = block(client);
            Thread thread = new Thread(() -> {
                try {
                    failures.add(client.acquire("orders", RETAINING).toString());
                } catch (InterruptedException e) {
                    // As wanted.
                }
            });
            thread.start();
            Await.until("the acquisition waits", () -> thread.getState() == Thread.State.WAITING);
            assertEquals(ReleaseOutcome.RETAINED, lease.release());
            thread.interrupt();
            thread.join();
            end.countDown();
            assertEquals(List.of(), List.copyOf(failures));
            assertFree(other);
        }
    }

    @Test
    void aClosedAcquisitionLeavesNoLock() throws InterruptedException {
        try (SocketNodes nodes = new SocketNodes(3);
                Redlock client = client(nodes);
                Redlock other = client(nodes)) {
            retain(client);
            CountDownLatch end = block(client);
            Lease lease = client.newLease();
            client.acquire(client.key("orders"), RETAINING, lease, outcome -> {
            });
            lease.close();
            end.countDown();
            assertFree(other);
        }
    }

    private static void assertFree(Redlock other) throws InterruptedException {
        AcquireOptions plain = AcquireOptions.ofTtl(Duration.ofSeconds(10)).waitUpTo(Duration.ofSeconds(3));
        AcquireOutcome outcome = other.acquire("orders", plain);
        assertTrue(outcome.isAcquired(), outcome::toString);
    }

    /** One of two threads that release a lease may come between the steps of the other. */
    @Test
    void twoThreadsThatReleaseOneLeaseGetItsOutcome() throws InterruptedException {
        try (SocketNodes nodes = new SocketNodes(3); Redlock client = client(nodes)) {
            retain(client);
            AtomicReference<Lease> shared = new AtomicReference<>();
            Thread second = new Thread(() -> {
                Lease last = null;
                for (Lease lease = shared.get(); lease != null; lease = shared.get()) {
                    if (lease != last) {
                        last = lease;
                        ReleaseOutcome outcome = lease.release();
                        if (outcome != ReleaseOutcome.RETAINED) {
                            failures.add("second " + outcome);
                        }
                    }
                }
            });
            for (int i = 0; i < 20_000 && failures.isEmpty(); i++) {
                Lease lease = client.acquire("orders", RETAINING).lease();
                shared.set(lease);
                if (i == 0) {
                    second.start();
                }
                ReleaseOutcome outcome = lease.release();
                if (outcome != ReleaseOutcome.RETAINED && outcome != ReleaseOutcome.RELEASED) {
                    failures.add("first " + outcome);
                }
            }
            shared.set(null);
            second.join();
            failures.removeIf(failure -> failure.endsWith("RELEASED"));
            assertEquals(List.of(), List.copyOf(failures));
        }
    }
}
