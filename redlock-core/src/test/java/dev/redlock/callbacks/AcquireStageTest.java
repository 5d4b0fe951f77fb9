package dev.redlock.callbacks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Await;
import dev.redlock.testing.Refusal;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** The stage of an acquisition that its caller gives up: no lock stays that nobody has taken. */
class AcquireStageTest extends VirtualTest {

    private static final Duration WAIT = Duration.ofSeconds(5);

    private VirtualWorld.Client client;

    private CompletableFuture<AcquireOutcome> acquiring() {
        if (client == null) {
            client = world(3);
        }
        return acquireAsync(client, options().waitUpTo(TTL).autoExtend());
    }

    private CompletableFuture<AcquireOutcome> complete() {
        CompletableFuture<AcquireOutcome> future = acquiring();
        world.await("completion", 1_000, future::isDone);
        assertEquals(3, keyCount(), "acquired");
        return future;
    }

    private void assertReleased(String after) {
        world.runMs(20);
        assertEquals(0, keyCount(), after);
        assertEquals(0, client.engine().heldCount(), after);
        assertEquals(0, client.redlock().counters().waitingCount(), after);
    }

    private void assertHeld(String after) {
        world.runMs(20);
        assertEquals(3, keyCount(), after);
        assertEquals(1, client.engine().heldCount(), after);
    }

    @Test
    void aCancelledStageReleasesAlsoAfterItsCompletion() {
        CompletableFuture<AcquireOutcome> future = complete();
        assertTrue(future.cancel(false), "as Future demands if it is cancelled");
        assertTrue(future.isCancelled());
        assertThrows(CancellationException.class, future::join);
        assertTrue(future.cancel(true), "again");
        assertReleased("cancelled after its completion");
    }

    @Test
    void aStageThatIsCompletedOtherwiseReleases() {
        List<Consumer<CompletableFuture<AcquireOutcome>>> ends = List.of(
                future -> assertTrue(future.completeExceptionally(new TimeoutException())),
                future -> future.obtrudeException(new TimeoutException()), future -> future.obtrudeValue(null));
        for (int i = 0; i < ends.size(); i++) {
            CompletableFuture<AcquireOutcome> future = complete();
            ends.get(i).accept(future);
            if (i < 2) {
                assertEquals(TimeoutException.class,
                        assertThrows(ExecutionException.class, future::get).getCause().getClass());
            }
            assertReleased("after its completion, " + i);
            CompletableFuture<AcquireOutcome> early = acquiring();
            ends.get(i).accept(early);
            assertReleased("before its completion, " + i);
        }
        CompletableFuture<AcquireOutcome> replaced = acquiring();
        assertTrue(replaced.complete(null));
        assertReleased("completed by its caller");
    }

    /** The thread of the timeout completes the stage first, and ends the acquisition then. */
    private void awaitEnd() {
        Await.until("the end of the acquisition", () -> {
            world.runMs(1);
            return client.redlock().counters().waitingCount() == 0;
        });
    }

    /** The acquisition does not wait on for a lock that nobody wants. */
    @Test
    void aStageThatTimesOutEndsTheAcquisition() throws InterruptedException {
        client = world(3);
        Lease holder = lease(client);
        CompletableFuture<AcquireOutcome> waiting = acquiring();
        waiting.orTimeout(1, TimeUnit.MILLISECONDS);
        Await.until("the timeout", waiting::isDone);
        awaitEnd();
        assertEquals(1, client.redlock().counters().outcomeCount(AcquireOutcome.Kind.CANCELLED));
        CompletableFuture<AcquireOutcome> other = acquiring();
        other.completeOnTimeout(null, 1, TimeUnit.MILLISECONDS);
        Await.until("the timeout", other::isDone);
        awaitEnd();
        release(holder);
        assertReleased("timed out");
    }

    @Test
    void aTakenLockStays() {
        List<Function<AcquireOutcome, Object>> questions = List.of(AcquireOutcome::isAcquired, AcquireOutcome::kind,
                AcquireOutcome::lease, AcquireOutcome::lastReason, AcquireOutcome::advice);
        for (Function<AcquireOutcome, Object> question : questions) {
            CompletableFuture<AcquireOutcome> future = complete();
            question.apply(future.join());
            assertFalse(future.cancel(true), "it was completed");
            assertFalse(future.completeExceptionally(new TimeoutException()));
            assertFalse(future.isCancelled());
            assertHeld("a caller knows that it has the lock");
            release(future.join().lease());
        }
    }

    @Test
    void anOutcomeWithoutTheLockIsNotReplaced() {
        client = world(3);
        lease(client);
        CompletableFuture<AcquireOutcome> refused = acquireAsync(client, options());
        world.await("refusal", 1_000, refused::isDone);
        assertFalse(refused.cancel(true));
        assertEquals(AcquireOutcome.Kind.CONTENDED, refused.join().kind());
        assertHeld("the lock of another acquisition");
    }

    @Test
    void aWithdrawnOutcomeIsCancelledWhoeverReadsIt() {
        CompletableFuture<AcquireOutcome> future = complete();
        AcquireOutcome outcome = future.join();
        assertTrue(future.cancel(true), "nobody has asked it");
        assertFalse(outcome.isAcquired());
        assertEquals(AcquireOutcome.Kind.CANCELLED, outcome.kind());
        assertEquals(AcquireOutcome.Kind.CANCELLED, outcome.lastReason());
        assertEquals(AcquireOutcome.Kind.CANCELLED.advice(), outcome.advice());
        Refusal.ofState(
                "\"orders\" is released: the stage of its acquisition was cancelled before its outcome was read",
                outcome::lease);
        assertReleased("cancelled");
    }

    @Test
    void aDependentStageThatIsGivenUpCancelsTheAcquisition() {
        List<Function<CompletableFuture<AcquireOutcome>, CompletableFuture<?>>> chains = List.of(
                future -> future.thenApply(AcquireOutcome::lease),
                future -> future.thenAccept(AcquireOutcome::lease),
                future -> future.thenCompose(outcome -> outcome.lease().releaseAsync()),
                future -> future.handle((outcome, thrown) -> outcome.lease()),
                future -> future.thenApply(AcquireOutcome::lease).whenComplete((lease, thrown) -> {
                }).thenApply(Lease::state),
                future -> future.orTimeout(1, TimeUnit.DAYS).thenApply(AcquireOutcome::lease));
        for (Function<CompletableFuture<AcquireOutcome>, CompletableFuture<?>> chain : chains) {
            CompletableFuture<AcquireOutcome> future = acquiring();
            CompletableFuture<?> dependent = chain.apply(future);
            assertTrue(dependent.completeExceptionally(new TimeoutException()), "as orTimeout does");
            assertTrue(future.isCancelled());
            assertReleased("nobody waits");
            CompletableFuture<AcquireOutcome> other = acquiring();
            assertTrue(chain.apply(other).cancel(false));
            assertTrue(other.isCancelled());
            assertReleased("cancelled");
        }
    }

    @Test
    void anAcquisitionEndsWithTheLastOfItsDependentStages() {
        CompletableFuture<AcquireOutcome> future = acquiring();
        CompletableFuture<Lease> one = future.thenApply(AcquireOutcome::lease);
        CompletableFuture<LeaseState> afterOne = one.thenApply(Lease::state);
        CompletableFuture<Lease> two = future.thenApply(AcquireOutcome::lease);
        assertTrue(afterOne.cancel(false));
        assertTrue(one.cancel(false), "counts once");
        assertTrue(one.cancel(false));
        assertFalse(future.isDone(), "another stage waits");
        release(get(two));
        CompletableFuture<AcquireOutcome> next = acquiring();
        next.thenApply(AcquireOutcome::lease).cancel(false);
        assertTrue(next.isCancelled());
        assertReleased("the last");
    }

    @Test
    void aCopyProtectsTheAcquisition() {
        CompletableFuture<AcquireOutcome> future = acquiring();
        CompletableFuture<AcquireOutcome> copy = future.copy();
        CompletionStage<AcquireOutcome> minimal = future.minimalCompletionStage();
        assertTrue(copy.cancel(false));
        assertTrue(minimal.toCompletableFuture().cancel(false));
        assertTrue(future.thenApply(AcquireOutcome::lease).cancel(false));
        assertFalse(future.isDone());
        release(acquired(get(future)));
        CompletableFuture<AcquireOutcome> other = acquiring();
        release(acquired(get(other.copy())));
        assertReleased("the outcome reaches a copy");
    }

    /** A stage that waits for a thread of its executor has not taken the lock. */
    @Test
    void aDependentStageThatIsGivenUpBeforeItRunsReleases() {
        List<Runnable> executor = new ArrayList<>();
        CompletableFuture<AcquireOutcome> future = acquiring();
        CompletableFuture<Boolean> dependent = future.thenApplyAsync(AcquireOutcome::isAcquired, executor::add);
        world.await("completion", 1_000, future::isDone);
        assertHeld("its stage may run");
        assertTrue(dependent.cancel(false));
        assertTrue(future.isCancelled());
        assertReleased("its stage never runs");
        executor.forEach(Runnable::run);
        CompletableFuture<AcquireOutcome> second = acquiring();
        CompletableFuture<Boolean> late = second.thenApplyAsync(AcquireOutcome::isAcquired, executor::add);
        world.await("completion", 1_000, second::isDone);
        assertTrue(second.cancel(false));
        assertReleased("cancelled");
        executor.get(1).run();
        assertEquals(CancellationException.class,
                assertThrows(CompletionException.class, late::join).getCause().getClass());
    }

    @Test
    void aDependentStageThatHasRunKeepsTheLock() {
        CompletableFuture<AcquireOutcome> future = acquiring();
        CompletableFuture<Lease> dependent = future.thenApply(AcquireOutcome::lease);
        CompletableFuture<Void> slow = dependent.thenAcceptAsync(Lease::close, task -> {
        });
        world.await("completion", 1_000, future::isDone);
        assertFalse(dependent.cancel(false), "it was completed");
        assertTrue(slow.cancel(false));
        assertFalse(future.cancel(false), "its outcome was read");
        assertHeld("a function has the lease");
        release(dependent.join());
    }

    @Test
    void aFailedFunctionIsNotGivenUp() {
        CompletableFuture<AcquireOutcome> future = acquiring();
        CompletableFuture<Object> failed = future.thenApply(outcome -> {
            throw new IllegalStateException("of the user");
        });
        world.await("completion", 1_000, failed::isDone);
        assertThrows(CompletionException.class, failed::join);
        assertHeld("the caller still has the stage");
        release(acquired(future.join()));
    }

    @Test
    void aStageOfAClosedClientIsCancelledWithoutEffect() {
        CompletableFuture<AcquireOutcome> future = complete();
        get(client.engine().close(TTL));
        assertTrue(future.cancel(false));
        assertReleased("closed");
        CompletableFuture<AcquireOutcome> closed = acquireAsync(client, options());
        assertEquals(AcquireOutcome.Kind.CLOSED, get(closed).kind());
        assertFalse(closed.cancel(false));
    }

    @Test
    void aCancelledStageCancelsItsAcquisition() {
        VirtualWorld.Client client = world(3);
        Lease holder = lease(client);
        acquireAsync(client, options().waitUpTo(WAIT)).cancel(true);
        world.runMs(1);
        assertEquals(1, client.redlock().counters().outcomeCount(AcquireOutcome.Kind.CANCELLED));
        release(holder);
        world.runMs(1);
        assertEquals(0, keyCount());
    }

    /** CompletableFuture.orTimeout completes a stage like this. Nobody else could release its lock. */
    @Test
    void anAcquisitionEndsWithTheStageThatItsCallerHasCompleted() {
        VirtualWorld.Client client = world(3);
        Lease holder = lease(client);
        acquireAsync(client, options().waitUpTo(WAIT)).completeExceptionally(new TimeoutException("by a test"));
        world.runMs(1);
        assertEquals(0, client.redlock().counters().waitingCount());
        release(holder);
        world.runMs(1);
        assertEquals(1, client.redlock().counters().acquiredCount());
        assertEquals(0, keyCount());
    }
}
