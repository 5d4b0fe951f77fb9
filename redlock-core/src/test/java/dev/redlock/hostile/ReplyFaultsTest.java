package dev.redlock.hostile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LockNotAcquiredException;
import dev.redlock.engine.TestEngine;
import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * An exception while the client processes a reply, or the lack of one, as from a heap without memory: the acquisition
 * still gets one outcome in its time, and the lock can be acquired again. The clock throws it. Each scenario runs once
 * for each read of the clock by an event of a claim.
 */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
@Tag("jdk")
class ReplyFaultsTest extends FailingReads {

    private static final AcquireOptions WAITING = AcquireOptions.ofTtl(TTL).waitUpTo(Duration.ofSeconds(3));
    private static final int BUDGET_MS = 3_000;

    private VirtualWorld.Client client;
    private VirtualWorld.Client other;

    @Override
    protected RedlockContext context() {
        // The flight recorder reads the clock too, and survives what that throws.
        return super.context().flightRecorderEvents(0);
    }

    @Override
    protected boolean isInStep() {
        List<String> frames = StackWalker.getInstance()
                .walk(all -> all.map(frame -> frame.getClassName() + "." + frame.getMethodName()).toList());
        return frames.stream()
                .noneMatch(frame -> frame.contains(".DirectBuffers.") || frame.contains(".RequestMailbox."))
                && frames.stream()
                        .anyMatch(frame -> frame.startsWith("dev.redlock.engine.Claim.on")
                                || frame.startsWith("dev.redlock.engine.WaitTimers.onTimer"));
    }

    private void atEachRead(Runnable scenario) {
        throwAtEachRead(() -> {
            client = world(3);
            other = client();
            client.clockListener(this::onClockRead);
            scenario.run();
            isArmed = false;
            assertLockIsFree();
        });
        assertTrue(failingRead > 1, "the clock was read");
    }

    private String name() {
        return "read " + failingRead + (hasThrown ? " threw" : "");
    }

    private void assertLockIsFree() {
        world.runMs(TTL.toMillis() + 1_000);
        CompletableFuture<AcquireOutcome> next = acquireAsync(client, WAITING);
        world.runMs(BUDGET_MS + 100);
        assertTrue(next.isDone() && next.join().isAcquired(), () -> name() + ": " + next);
        release(next.join().lease());
        world.runMs(TTL.toMillis() + 1_000);
        assertEquals(0, client.engine().claimsOut(), this::name);
        assertEquals(0, client.engine().heldCount(), this::name);
        assertEquals(0, keyCount(), this::name);
        assertEquals(List.of(), client.engine().engine().stateViolations(List.of()), this::name);
    }

    private static CompletableFuture<AcquireOutcome> start(VirtualWorld.Client caller, AcquireOptions options,
            List<String> resources) {
        return (resources.size() == 1
                ? caller.redlock().acquireAsync(resources.get(0), options)
                : caller.redlock().acquireAllAsync(resources, options)).toCompletableFuture();
    }

    /** Two callers wait for a lock of another client, which releases it. */
    private void waitFor(AcquireOptions options, List<String> resources) {
        atEachRead(() -> {
            Lease held = acquired(get(start(other, options, resources)));
            isArmed = true;
            List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                waiting.add(start(client, options, resources));
            }
            world.runMs(1_000);
            held.releaseAsync();
            world.runMs(500);
            waiting.stream()
                    .filter(outcome -> outcome.isDone() && outcome.join().isAcquired())
                    .forEach(outcome -> outcome.join().lease().releaseAsync());
            world.runMs(BUDGET_MS);
            isArmed = false;
            for (CompletableFuture<AcquireOutcome> outcome : waiting) {
                assertTrue(outcome.isDone(), () -> "an outcome within the budget, " + name());
                if (outcome.join().isAcquired()) {
                    outcome.join().lease().releaseAsync();
                }
            }
        });
    }

    @Test
    void anAcquisitionOfAPlainLockEnds() {
        waitFor(WAITING, List.of("orders"));
    }

    @Test
    void anAcquisitionOfAFencedLockEnds() {
        waitFor(WAITING.fenced(), List.of("orders"));
    }

    @Test
    void anAcquisitionOfAWriteLockEnds() {
        waitFor(WAITING.forWriting(), List.of("orders"));
    }

    @Test
    void anAcquisitionOfASetEnds() {
        waitFor(WAITING, List.of("orders", "items"));
    }

    @Test
    void anAcquisitionOfAPermitEnds() {
        waitFor(WAITING.forPermitOf(1), List.of("orders"));
    }

    @Test
    void anAcquisitionWhoseVotesCannotBeRecordedEnds() {
        endWithoutVotes(WAITING);
    }

    @Test
    void anAcquisitionOfAPermitWhoseVotesCannotBeRecordedEnds() {
        endWithoutVotes(WAITING.forPermitOf(2));
    }

    @Test
    void anAcquisitionOfARetainedLockWhoseVotesCannotBeRecordedEnds() {
        endWithoutVotes(WAITING.retain(Duration.ofMillis(500)));
    }

    /** The copy of the votes throws each time. The nodes that have granted still get the release. */
    private void endWithoutVotes(AcquireOptions options) {
        quietly(() -> {
            client = world(3);
            node(2).crash();
            world.runMs(500);
            Lease handle = client.redlock().newLease();
            TestEngine.failAtVotes(handle);
            List<AcquireOutcome> outcomes = new ArrayList<>();
            client.redlock().acquire(client.redlock().key("orders"), options, handle, outcomes::add);
            world.await("the outcome", BUDGET_MS, () -> !outcomes.isEmpty());
            world.runMs(10);
            assertEquals(0, keyCount(), "the keys do not wait for their expiry");
            assertEquals(1, outcomes.size(), outcomes::toString);
            assertFalse(outcomes.get(0).isAcquired(), outcomes::toString);
            assertLockIsFree();
        });
    }

    /** The outcome still says that the lock is not acquired, and no other exception hides it. */
    @ParameterizedTest
    @ValueSource(longs = {0, 500})
    void anOutcomeWithoutTheReasonsOfItsVotesIsDescribed(long waitMs) {
        client = world(3);
        node(1).crash();
        node(2).crash();
        world.runMs(500);
        Lease handle = client.redlock().newLease();
        List<AcquireOutcome> outcomes = new ArrayList<>();
        client.redlock()
                .acquire(client.redlock().key("orders"), options().waitUpTo(Duration.ofMillis(waitMs)), handle,
                        outcomes::add);
        world.await("the outcome", BUDGET_MS, () -> !outcomes.isEmpty());
        AcquireOutcome outcome = outcomes.get(0);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.lastReason(), outcome::toString);
        TestEngine.forgetFailures(handle);
        LockNotAcquiredException thrown = assertThrows(LockNotAcquiredException.class, outcome::lease);
        assertTrue(thrown.getMessage().contains(AcquireOutcome.Kind.NO_QUORUM.advice()), thrown::getMessage);
    }

    /** It takes the reason of the one ahead, as far as that is known. */
    @Test
    void anAcquisitionBehindOneWithoutTheReasonsOfItsVotesEnds() {
        client = world(3);
        node(1).crash();
        node(2).crash();
        world.runMs(500);
        Lease ahead = client.redlock().newLease();
        List<AcquireOutcome> outcomes = new ArrayList<>();
        client.redlock().acquire(client.redlock().key("orders"), WAITING, ahead, outcomes::add);
        world.runMs(200);
        CompletableFuture<AcquireOutcome> behind = acquireAsync(client, options().waitUpTo(Duration.ofMillis(100)));
        for (int i = 0; i < 110; i++) {
            world.runMs(1);
            TestEngine.forgetFailures(ahead);
        }
        assertTrue(behind.isDone(), "an outcome within the budget");
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, behind.join().kind(), behind::toString);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, behind.join().lastReason(), behind::toString);
        assertThrows(LockNotAcquiredException.class, behind.join()::lease);
    }
}
