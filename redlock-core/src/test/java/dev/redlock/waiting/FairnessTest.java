package dev.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How long the waiters of one client pass a lock by local handoffs, and the pause that follows. */
class FairnessTest extends VirtualTest {

    private static final Duration WAIT = Duration.ofSeconds(5);
    private static final long PAUSE_MS = 20;
    /** A streak lasts at least ten times its pause. */
    private static final long STREAK_MS = 10 * PAUSE_MS;

    private final List<Long> acquiredAtMs = new ArrayList<>();

    /** Without pushes of the nodes, the pause is a delay of the retry policy. */
    @Override
    protected RedlockContext context() {
        return super.context().wakeUpKeysMax(0);
    }

    /** Acquires repeatedly and holds each lease for a time. */
    private final class Worker {
        private final VirtualWorld.Client client;
        private final AcquireOptions options;
        private final long holdNs;
        private final long thinkNs;
        private int served;
        private long longestWaitMs;
        private int timedOut;

        Worker(VirtualWorld.Client client, AcquireOptions options, long holdUs, long thinkUs) {
            this.client = client;
            this.options = options;
            this.holdNs = holdUs * 1_000;
            this.thinkNs = thinkUs * 1_000;
            ask();
        }

        private void ask() {
            long requestedMs = nowMs();
            acquireAsync(client, options).thenAccept(outcome -> {
                longestWaitMs = Math.max(longestWaitMs, nowMs() - requestedMs);
                if (outcome.isAcquired()) {
                    served++;
                    acquiredAtMs.add(nowMs());
                    after(holdNs, () -> outcome.lease().releaseAsync().thenRun(() -> after(thinkNs, this::ask)));
                } else if (outcome.kind() == AcquireOutcome.Kind.TIMED_OUT) {
                    timedOut++;
                    after(thinkNs, this::ask);
                }
            });
        }
    }

    private void after(long delayNs, Runnable task) {
        if (delayNs == 0) {
            task.run();
        } else {
            world.after(delayNs, task);
        }
    }

    private List<Worker> workers(int count, VirtualWorld.Client client, AcquireOptions options,
            long holdUs, long thinkUs) {
        List<Worker> workers = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            workers.add(new Worker(client, options, holdUs, thinkUs));
        }
        return workers;
    }

    private static int served(List<Worker> workers) {
        return workers.stream().mapToInt(worker -> worker.served).sum();
    }

    private VirtualWorld.Client limitedTo(int handoffsMax) {
        return client(context().localHandoffsMax(handoffsMax));
    }

    private VirtualWorld.Client worldLimitedTo(int handoffsMax) {
        world = new VirtualWorld(3);
        return limitedTo(handoffsMax);
    }

    /** A retry policy with a constant delay. */
    private static AcquireOptions patient() {
        return options().waitUpTo(WAIT).retryPolicy((attempts, reason, ttl, random) -> PAUSE_MS * 1_000_000);
    }

    // ---- two clients ------------------------------------------------------------------------------------------------

    /** The mistake: the client with the first lock gets all of them. */
    @Test
    void withoutALimitOneClientStarvesTheOther() {
        world = new VirtualWorld(3);
        eachNode(node -> node.delay(() -> 100_000));
        List<Worker> first = workers(4, limitedTo(0), options().waitUpTo(WAIT), 1_000, 0);
        List<Worker> second = workers(4, limitedTo(0), options().waitUpTo(WAIT), 1_000, 0);
        world.runMs(6_000);
        assertTrue(served(first) > 3_000, "served " + served(first));
        assertEquals(0, served(second), "not once in 6 seconds");
    }

    /** Hold time and think time, microseconds: with a think time, the local queue empties between locks. */
    @ParameterizedTest
    @ValueSource(strings = {"0 0", "1000 0", "10000 0", "100000 0", "1000 300"})
    void aHandoffLimitSharesTheLockBetweenTwoClients(String times) {
        long holdUs = Long.parseLong(times.split(" ")[0]);
        long thinkUs = Long.parseLong(times.split(" ")[1]);
        int count = thinkUs > 0 ? 2 : 4;
        world = new VirtualWorld(3);
        eachNode(node -> node.delay(() -> 100_000));
        List<Worker> first = workers(count, client(), options().waitUpTo(WAIT), holdUs, thinkUs);
        List<Worker> second = workers(count, client(), options().waitUpTo(WAIT), holdUs, thinkUs);
        // More handoffs than streaks need, and longer than the wait budget.
        long runMs = holdUs < 10_000 ? 6_000 : 20_000;
        world.runMs(runMs);
        double share = served(second) / (double) (served(first) + served(second));
        assertTrue(share > 0.35 && share < 0.65, "share of one " + share);
        List<Worker> all = new ArrayList<>(first);
        all.addAll(second);
        all.forEach(worker -> assertEquals(0, worker.timedOut, "budgets of five seconds used up"));
        // A handoff takes 200 us, for the release and the next acquire.
        double held = (served(first) + served(second)) * (holdUs + 200.0) / (runMs * 1_000);
        assertTrue(held > 0.85, "share of the time in which the lock was held or handed off: " + held);
    }

    // ---- the run ----------------------------------------------------------------------------------------------------

    private List<Long> pausesMs(long holdMs) {
        List<Long> gaps = new ArrayList<>();
        for (int i = 1; i < acquiredAtMs.size(); i++) {
            gaps.add(acquiredAtMs.get(i) - acquiredAtMs.get(i - 1) - holdMs);
        }
        return gaps;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4, 5})
    void aPauseFollowsTheLimitOfHandoffs(int handoffsMax) {
        workers(3, worldLimitedTo(handoffsMax), patient(), 250_000, 0);
        world.runMs(10_000);
        List<Long> expected = new ArrayList<>();
        while (expected.size() < 20) {
            expected.addAll(Collections.nCopies(handoffsMax, 0L));
            expected.add(PAUSE_MS);
        }
        assertEquals(expected.subList(0, 20), pausesMs(250).subList(0, 20));
    }

    @Test
    void aStreakLastsAtLeastTenTimesItsPause() {
        workers(3, worldLimitedTo(1), patient(), 10_000, 0);
        world.runMs(1_000);
        int handOvers = (int) STREAK_MS / 10 - 1;
        List<Long> expected = new ArrayList<>(Collections.nCopies(handOvers, 0L));
        expected.add(PAUSE_MS);
        expected.addAll(Collections.nCopies(handOvers, 0L));
        expected.add(PAUSE_MS);
        assertEquals(expected, pausesMs(10).subList(0, expected.size()));
    }

    @Test
    void withoutALimitThereIsNoPause() {
        workers(3, worldLimitedTo(0), patient(), 250_000, 0);
        world.runMs(10_000);
        assertEquals(Collections.nCopies(38, 0L), pausesMs(250).subList(0, 38));
    }

    /** Two workers return shortly after their release: the queue empties at each handoff, and the streak continues. */
    @Test
    void aQueueThatEmptiesByAHandoffKeepsTheStreak() {
        workers(2, worldLimitedTo(4), patient(), 250_000, 1_000);
        world.runMs(5_000);
        assertEquals(List.of(0L, 0L, 0L, 0L, PAUSE_MS, 0L, 0L, 0L, 0L, PAUSE_MS), pausesMs(250).subList(0, 10));
    }

    /** A single worker never has a local waiter: each release frees the lock, so no pause is needed. */
    @Test
    void aClientWithoutLocalWaitersNeverPauses() {
        workers(1, worldLimitedTo(1), patient(), 250_000, 0);
        world.runMs(5_000);
        assertEquals(Collections.nCopies(18, 0L), pausesMs(250).subList(0, 18));
    }

    /** A refusal shows that another client got the lock during the streak. */
    @Test
    void aRefusalEndsTheStreak() {
        VirtualWorld.Client client = worldLimitedTo(1);
        Lease first = lease(client);
        CompletableFuture<AcquireOutcome> second = acquireAsync(client, patient());
        CompletableFuture<AcquireOutcome> third = acquireAsync(client, patient());
        world.runMs(STREAK_MS);
        eachNode(node -> node.redis().set("orders", "foreign", -1));
        first.releaseAsync();
        world.runMs(5);
        assertFalse(second.isDone(), "handed off, and refused");
        eachNode(node -> node.redis().delete("orders"));
        world.runMs(PAUSE_MS);
        Lease next = acquired(second.getNow(null));
        world.runMs(STREAK_MS);
        next.releaseAsync();
        world.runMs(1);
        acquired(third.getNow(null));
    }

    /** The attempt of the head is in flight when the streak ends: the delay after its refusal is the pause. */
    @Test
    void aPauseDueDuringAnAttemptFollowsTheAttempt() {
        VirtualWorld.Client client = worldLimitedTo(1);
        Lease first = lease(client);
        CompletableFuture<AcquireOutcome> second = acquireAsync(client, patient());
        world.runMs(STREAK_MS);
        first.releaseAsync();
        world.runMs(1);
        Lease held = acquired(second.getNow(null));
        eachNode(node -> node.delay(() -> 5_000_000));
        CompletableFuture<AcquireOutcome> third = acquireAsync(client, patient());
        world.runMs(1);
        held.releaseAsync();
        world.runMs(9 + PAUSE_MS + 9);
        assertNull(third.getNow(null), "refused after 10 ms, then a pause, then 10 ms");
        world.runMs(2);
        assertEquals(2, acquired(third.getNow(null)) == null ? 0 : third.join().attemptCount(), "attempts");
    }

    @Test
    void aLostLeaseIsHandedOffInTheSameStreak() {
        VirtualWorld.Client client = worldLimitedTo(1);
        AcquireOptions brief = AcquireOptions.ofTtl(Duration.ofSeconds(1))
                .waitUpTo(WAIT)
                .retryPolicy((attempts, reason, ttl, random) -> PAUSE_MS * 1_000_000);
        for (int i = 0; i < 4; i++) {
            acquireAsync(client, brief).thenAccept(outcome -> acquiredAtMs.add(nowMs()));
        }
        world.runMs(5_000);
        // Each lease is not released, and expires.
        assertEquals(List.of(0L, PAUSE_MS, 0L), pausesMs(validityMs(1_000)), "expired, handed off; expired, paused");
    }

    // ---- the pause --------------------------------------------------------------------------------------------------

    private List<CompletableFuture<AcquireOutcome>> waiting;

    /** A queue whose head has just started a pause of twenty milliseconds. */
    private VirtualWorld.Client pausing(Duration... budgets) {
        VirtualWorld.Client client = worldLimitedTo(1);
        Lease first = lease(client);
        CompletableFuture<AcquireOutcome> second = acquireAsync(client, patient());
        world.runMs(STREAK_MS);
        first.releaseAsync();
        world.runMs(1);
        waiting = new ArrayList<>();
        for (Duration budget : budgets) {
            waiting.add(acquireAsync(client, patient().waitUpTo(budget)));
        }
        Lease held = acquired(second.getNow(null));
        world.runMs(1);
        held.releaseAsync();
        world.settle();
        assertEquals(0, keyCount(), "free");
        return client;
    }

    private AcquireOutcome.Kind kindOf(int index) {
        return waiting.get(index).isDone() ? waiting.get(index).join().kind() : null;
    }

    @Test
    void anotherClientAcquiresDuringThePause() {
        pausing(WAIT);
        VirtualWorld.Client other = world.newClient("other", context(), 7);
        world.runMs(PAUSE_MS / 2);
        Lease theirs = lease(other);
        world.runMs(100);
        assertNull(kindOf(0), "refused while the other holds it");
        theirs.releaseAsync();
        world.runMs(PAUSE_MS + 1);
        assertEquals(AcquireOutcome.Kind.ACQUIRED, kindOf(0), "detected by its own attempt");
        other.engine().close(Duration.ofMillis(100));
    }

    @Test
    void thePauseContinuesAfterTheHeadTimesOut() {
        pausing(WAIT, Duration.ofMillis(15), WAIT);
        waiting.get(0).cancel(true);
        world.runMs(PAUSE_MS - 1);
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, kindOf(1), "the next one's budget ended in the pause");
        assertEquals(AcquireOutcome.Kind.CONTENDED, waiting.get(1).join().lastReason());
        assertNull(kindOf(2), "the last one still pauses");
        world.runMs(1);
        assertEquals(AcquireOutcome.Kind.ACQUIRED, kindOf(2));
    }

    @Test
    void aWaitBudgetThatEndsInThePauseTimesOutOnTime() {
        pausing(Duration.ofMillis(12));
        world.runMs(9);
        assertNull(kindOf(0));
        world.runMs(2);
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, kindOf(0));
    }

    /**
     * An acquire without wait budget takes the free lock and releases it within the pause, which does not shorten it.
     */
    @Test
    void aHandoffDuringThePauseDoesNotEndIt() {
        VirtualWorld.Client client = pausing(WAIT);
        release(lease(client));
        world.runMs(PAUSE_MS - 1);
        assertNull(kindOf(0), "still pausing");
        world.runMs(1);
        assertEquals(AcquireOutcome.Kind.ACQUIRED, kindOf(0));
    }

    @Test
    void anAcquireAfterThePausingQueueHasEmptiedStartsImmediately() {
        VirtualWorld.Client client = pausing(WAIT);
        waiting.get(0).cancel(true);
        world.settle();
        CompletableFuture<AcquireOutcome> next = acquireAsync(client, patient());
        world.settle();
        acquired(next.getNow(null));
    }

    @Test
    void closingEndsThePause() {
        VirtualWorld.Client client = pausing(WAIT, WAIT);
        client.engine().close(Duration.ofMillis(100));
        world.settle();
        assertEquals(AcquireOutcome.Kind.CLOSED, kindOf(0));
        assertEquals(AcquireOutcome.Kind.CLOSED, kindOf(1));
    }

    @Test
    void aPauseLeavesNoState() {
        VirtualWorld.Client client = pausing(WAIT);
        world.runMs(PAUSE_MS);
        release(acquired(waiting.get(0).getNow(null)));
        assertEquals(0, keyCount(), "keys");
        assertEquals(0, client.engine().heldCount(), "leases");
    }

    // ---- the policy -------------------------------------------------------------------------------------------------

    @Test
    void theRetryPolicyIsCalledOncePerStreakAsAfterARefusal() {
        VirtualWorld.Client client = worldLimitedTo(1);
        List<String> asked = new ArrayList<>();
        AcquireOptions noting = options().waitUpTo(WAIT).retryPolicy((attempts, reason, ttl, random) -> {
            asked.add(attempts + " " + reason + " " + ttl);
            return PAUSE_MS * 1_000_000;
        });
        workers(3, client, noting, 10_000, 0);
        world.runMs(STREAK_MS + PAUSE_MS);
        assertEquals(List.of("1 CONTENDED -1", "1 CONTENDED -1"), asked,
                "attempts, reason, remaining ttl: of the first refusal, and of the pause");
    }

    @Test
    void aRetryPolicyThatThrowsStillPauses() {
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = worldLimitedTo(1);
            AcquireOptions throwing = options().waitUpTo(WAIT).retryPolicy((attempts, reason, ttl, random) -> {
                throw new IllegalStateException("on purpose");
            });
            workers(3, client, throwing, 300_000, 0);
            world.runMs(5_000);
            List<Long> pauses = pausesMs(300);
            assertEquals(0, pauses.get(0), "handed off");
            assertTrue(pauses.get(1) >= 24 && pauses.get(1) <= 50, "pauses " + pauses);
            assertFalse(log.with("retry policy").isEmpty(), "the exception is logged");
        }
        clearRecordedExceptions();
    }

    /** A delay of zero needs no pause, and no streak is long enough for an endless one. */
    @ParameterizedTest
    @ValueSource(longs = {Long.MIN_VALUE, 0, Long.MAX_VALUE})
    void extremeRetryDelaysLoseNoAcquisition(long delayNs) {
        VirtualWorld.Client client = worldLimitedTo(1);
        // A refused attempt without a delay is followed by the next one at once.
        eachNode(node -> node.delay(() -> 10_000));
        workers(3, client, options().waitUpTo(WAIT).retryPolicy((attempts, reason, ttl, random) -> delayNs), 250_000,
                0);
        world.runMs(5_000);
        assertEquals(Collections.nCopies(15, 0L), pausesMs(250).subList(0, 15));
    }
}
