package dev.redlock.callbacks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.LockNotAcquiredException;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RunOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Await;
import dev.redlock.testing.VirtualTest;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** An asynchronous task owns its lock: it is released at the end of the task, wanted or not. */
class RunAsyncTest extends VirtualTest {

    private VirtualWorld.Client client;
    private final CompletableFuture<String> task = new CompletableFuture<>();
    private Lease lease;

    private CompletableFuture<RunOutcome<String>> running(
            Function<Lease, CompletionStage<String>> body) {
        if (client == null) {
            client = world(3);
        }
        return client.redlock().runAsync("orders", options().waitUpTo(TTL).autoExtend(), body).toCompletableFuture();
    }

    /** Runs {@link #task} under the lock, and waits until it has started. */
    private CompletableFuture<RunOutcome<String>> started() {
        CompletableFuture<RunOutcome<String>> result = running(held -> {
            lease = held;
            return task;
        });
        assertNull(lease, "never inside the call");
        world.await("the task", 1_000, () -> lease != null);
        assertEquals(3, keyCount(), "acquired");
        return result;
    }

    private void assertReleased(String after) {
        world.runMs(20);
        assertEquals(0, keyCount(), after);
        assertEquals(0, client.engine().heldCount(), after);
        assertEquals(0, client.redlock().counters().waitingCount(), after);
    }

    @Test
    void theResultComesAfterTheRelease() {
        CompletableFuture<RunOutcome<String>> result = started();
        eachNode(node -> node.delay(() -> 5_000_000));
        world.runMs(1_000);
        assertTrue(lease.isHeld(), "held while the task runs");
        task.complete("shipped");
        assertFalse(result.isDone(), "the release is not confirmed");
        RunOutcome<String> outcome = get(result);
        assertEquals("shipped", outcome.value());
        assertTrue(outcome.hasRun());
        assertEquals(LeaseState.RELEASED, outcome.acquired().lease().state());
        assertEquals(ReleaseOutcome.RELEASED, get(outcome.acquired().lease().releaseAsync()), "held to the end");
        assertReleased("complete");
    }

    @Test
    void theResultHasALossThatTheReleaseFinds() {
        CompletableFuture<RunOutcome<String>> result = started();
        eachNode(node -> node.redis().delete("orders"));
        task.complete("shipped");
        RunOutcome<String> outcome = get(result);
        Lease ended = outcome.acquired().lease();
        assertEquals("shipped", outcome.value());
        assertEquals(LeaseState.RELEASED, ended.state(), "the client has noticed no loss during the task");
        assertEquals(ReleaseOutcome.EXPIRED, get(ended.releaseAsync()));
    }

    /** As at the end of a blocking call, which does not wait for the release. */
    @Test
    void aLeaseThatIsClosedHasTheOutcomeOfItsRelease() {
        client = world(3);
        Lease held = lease(client);
        held.close();
        assertEquals(LeaseState.RELEASING, held.state());
        assertEquals(ReleaseOutcome.RELEASED, get(held.releaseAsync()));
        Lease lost = lease(client);
        eachNode(node -> node.redis().delete("orders"));
        lost.close();
        assertEquals(ReleaseOutcome.EXPIRED, get(lost.releaseAsync()));
        assertEquals(ReleaseOutcome.EXPIRED, get(lost.releaseAsync()));
    }

    @Test
    void aTaskThatFailsReleases() {
        List<Function<Lease, CompletionStage<String>>> tasks = List.of(
                held -> CompletableFuture.failedFuture(new IOException("it failed")),
                held -> {
                    throw new IllegalArgumentException("it threw");
                },
                held -> {
                    throw new AssertionError("an error");
                },
                held -> null);
        List<Class<? extends Throwable>> expected = List.of(IOException.class, IllegalArgumentException.class,
                AssertionError.class, NullPointerException.class);
        for (int i = 0; i < tasks.size(); i++) {
            CompletableFuture<RunOutcome<String>> result = running(tasks.get(i));
            world.await("the end", 1_000, result::isDone);
            assertSame(expected.get(i), assertThrows(CompletionException.class, result::join).getCause().getClass());
            assertReleased("failed");
        }
    }

    @Test
    void aLockThatIsNotAcquiredIsAValue() {
        client = world(3);
        lease(client);
        RunOutcome<String> outcome = get(client.redlock().runAsync("orders", options(), held -> {
            throw new AssertionError("not acquired");
        }));
        assertFalse(outcome.hasRun());
        assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.acquired().kind());
        LockNotAcquiredException thrown = assertThrows(LockNotAcquiredException.class, outcome::value);
        assertTrue(thrown.getMessage().contains("CONTENDED"));
        assertSame(outcome.acquired().kind(), thrown.kind());
    }

    @Test
    void aStageThatIsGivenUpEndsTheWaitAlsoInTheThrowingForm() {
        client = world(3);
        lease(client);
        CompletableFuture<String> result = client.redlock()
                .<String>runOrThrowAsync("orders", options().waitUpTo(TTL), held -> {
                    throw new AssertionError("not acquired");
                })
                .toCompletableFuture();
        world.runMs(20);
        assertEquals(1, client.redlock().counters().waitingCount());
        result.cancel(false);
        world.runMs(20);
        assertEquals(0, client.redlock().counters().waitingCount());
    }

    /** The program that leaks with acquireAsync: a timeout after the acquisition drops the outcome. */
    @Test
    void aResultThatTimesOutLeaksNoLock() {
        client = world(3);
        AtomicInteger ends = new AtomicInteger();
        for (int i = 0; i < 300; i++) {
            CompletableFuture<String> end = new CompletableFuture<>();
            CompletableFuture<String> result = client.redlock()
                    .runAsync("orders/" + i, options().autoExtend(), held -> end)
                    .thenApply(RunOutcome::value)
                    .toCompletableFuture();
            if (i % 3 > 0) {
                world.runMs(5);
            }
            result.orTimeout(1, TimeUnit.MILLISECONDS);
            Await.until("the timeout", result::isDone);
            end.whenComplete((value, thrown) -> ends.incrementAndGet());
            end.complete("too late");
        }
        world.runMs(20);
        assertEquals(0, client.engine().heldCount());
        assertEquals(300, ends.get());
        assertTrue(client.redlock().counters().acquiredCount() >= 200, "most had their lock");
    }

    @Test
    void aResultThatIsGivenUpEndsTheWait() {
        List<Consumer<CompletableFuture<RunOutcome<String>>>> ends = List.of(future -> future.cancel(true),
                future -> future.completeExceptionally(new TimeoutException()), future -> future.complete(null),
                future -> future.thenApply(RunOutcome::value).cancel(false));
        client = world(3);
        Lease holder = lease(client);
        for (Consumer<CompletableFuture<RunOutcome<String>>> end : ends) {
            CompletableFuture<RunOutcome<String>> result = running(held -> {
                throw new AssertionError("nobody wants it");
            });
            world.runMs(5);
            assertEquals(1, client.redlock().counters().waitingCount());
            end.accept(result);
            world.runMs(5);
            assertEquals(0, client.redlock().counters().waitingCount());
            assertTrue(result.isDone());
        }
        release(holder);
        assertReleased("given up");
    }

    @Test
    void aTaskThatHasStartedKeepsItsLockWhoeverGivesUp() {
        CompletableFuture<RunOutcome<String>> result = started();
        assertTrue(result.cancel(true));
        world.runMs(60_000);
        assertTrue(lease.isHeld(), "the task still runs");
        assertEquals(3, keyCount());
        task.complete("nobody reads it");
        assertThrows(CancellationException.class, result::join);
        assertReleased("the end of the task");
    }

    @Test
    void aTaskMayReleaseAndUseItsLeaseAgain() {
        CompletableFuture<RunOutcome<String>> result = running(held -> {
            held.releaseAsync();
            return CompletableFuture.completedFuture("its release is in progress");
        });
        assertEquals("its release is in progress", get(result).value());
        CompletableFuture<RunOutcome<String>> reused = running(held -> {
            CompletableFuture<String> again = new CompletableFuture<>();
            held.release((ended, how) -> client.redlock()
                    .acquire(client.redlock().key("orders"), options(), ended,
                            outcome -> again.complete(outcome.kind().name())));
            return again;
        });
        assertEquals("ACQUIRED", get(reused).value());
        world.runMs(20);
        assertEquals(3, keyCount(), "the other lock is the task's own business");
        release(reused.join().acquired().lease());
        assertReleased("released");
    }

    @Test
    void aTaskMayRunAnotherOne() {
        CompletableFuture<RunOutcome<String>> result = running(held -> client.redlock()
                .runAsync("inner", options(), inner -> CompletableFuture.completedFuture(inner.resource()))
                .thenApply(RunOutcome::value));
        assertEquals("inner", get(result).value());
        assertReleased("both");
    }

    @Test
    void aClientThatClosesReleasesAndTheResultFollowsTheTask() {
        CompletableFuture<RunOutcome<String>> result = started();
        CompletableFuture<RunOutcome<String>> waiting = running(held -> task);
        client.engine().close(Duration.ofSeconds(1));
        world.runMs(50);
        assertEquals(0, keyCount(), "closed");
        assertFalse(lease.isHeld());
        assertEquals(AcquireOutcome.Kind.CLOSED, get(waiting).acquired().kind());
        assertFalse(result.isDone(), "the task still runs");
        task.complete("done");
        assertEquals("done", get(result).value());
    }

    @Test
    void aLostLeaseIsReported() {
        CompletableFuture<RunOutcome<String>> result = started();
        eachNode(node -> node.redis().delete("orders"));
        world.runMs(10_000);
        task.complete("done");
        RunOutcome<String> outcome = get(result);
        assertEquals("done", outcome.value());
        assertEquals(LeaseState.LOST, outcome.acquired().lease().state());
    }

    @Test
    void wrongArgumentsThrowAtOnce() {
        client = world(3);
        Redlock redlock = client.redlock();
        assertThrows(IllegalArgumentException.class, () -> redlock.runAsync("", options(), held -> task));
        assertThrows(NullPointerException.class, () -> redlock.runAsync("orders", null, held -> task));
        assertThrows(NullPointerException.class, () -> redlock.runAsync("orders", options(), null));
        assertEquals(0, client.redlock().counters().acquiredCount());
    }
}
