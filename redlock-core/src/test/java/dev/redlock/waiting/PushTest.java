package dev.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.RedlockCounters;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which nodes push to a waiter, which pushes wake it, and what happens to waiters that lose a node. */
class PushTest extends WokenTest {

    /** A push of another node than the coordinator, its grace of a millisecond, and one round trip. */
    private static final long WITHOUT_COORDINATOR_US = 2_000;
    /** A waiter that has been refused registers with the other nodes within 50 ms. */
    private static final long REGISTERED_MS = 100;

    private Lease held(VirtualWorld.Client client, String resource) {
        return acquired(get(client.redlock().acquireAsync(resource, options())));
    }

    private static CompletableFuture<AcquireOutcome> waiter(VirtualWorld.Client client, String resource) {
        return client.redlock().acquireAsync(resource, options().waitUpTo(WAIT)).toCompletableFuture();
    }

    private static CompletableFuture<AcquireOutcome> setWaiter(VirtualWorld.Client client, String... resources) {
        return client.redlock()
                .acquireAllAsync(List.of(resources), options().waitUpTo(WAIT))
                .toCompletableFuture();
    }

    // ---- registration -----------------------------------------------------------------------------------------------

    @Test
    void aResourceBeyondTheLimitIsNotRegistered() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client(context().wakeUpKeysMax(1));
        Lease first = held(client, "first");
        Lease second = held(client, "second");
        CompletableFuture<AcquireOutcome> registered = waiter(other, "first");
        world.runMs(REGISTERED_MS);
        CompletableFuture<AcquireOutcome> polling = waiter(other, "second");
        world.runMs(REGISTERED_MS);
        second.releaseAsync();
        acquired(get(polling));
        assertEquals(0, other.redlock().counters().wokenCount(), "no node pushes the second resource");
        handoffUs(first, registered);
        assertTrue(other.redlock().counters().wokenCount() > 0, "the first resource stays registered");
    }

    /** A push ends the registration of its node, so the waiter asks every node for the next one. */
    @Test
    void aWaiterIsRegisteredOnEveryNodeAgainAfterARenewal() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        Lease holder = lease(client);
        CompletableFuture<AcquireOutcome> waiting = waiter(other);
        world.runMs(3);
        int coordinator = coordinator();
        world.runMs(REGISTERED_MS);
        assertEquals(ExtendOutcome.EXTENDED, extend(holder, Duration.ofSeconds(20)));
        world.runMs(REGISTERED_MS);
        node(coordinator).pause();
        assertHandoff(holder, waiting, WITHOUT_COORDINATOR_US);
    }

    /** The next coordinator may stop too. */
    @Test
    void aWaiterThatHasLostTheCoordinatorIsRegisteredOnAllOtherNodes() {
        VirtualWorld.Client client = slowWorld(5);
        VirtualWorld.Client other = client();
        Lease holder = lease(client);
        CompletableFuture<AcquireOutcome> waiting = waiter(other);
        world.runMs(3);
        int first = coordinator();
        int[] before = world.nodes().stream().mapToInt(WokenTest::attempts).toArray();
        node(first).crash();
        world.runMs(2 * REGISTERED_MS);
        int next = 0;
        while (attempts(node(next)) == before[next]) {
            next++;
        }
        node(next).pause();
        assertHandoff(holder, waiting, WITHOUT_COORDINATOR_US);
    }

    // ---- pushes -----------------------------------------------------------------------------------------------------

    @Test
    void aPushIsSpuriousIfNobodyWaitsForItsKey() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        Lease holder = held(client, "a");
        CompletableFuture<AcquireOutcome> waiting = setWaiter(other, "a", "b");
        world.runMs(10);
        node(0).pushInvalidation(other::isNamed, "nobody");
        world.runMs(1);
        assertEquals(1, other.redlock().counters().spuriousPushCount());
        assertEquals(0, other.redlock().counters().wokenCount());
        holder.releaseAsync();
        world.await("a push", 10, () -> other.redlock().counters().wokenCount() > 0);
        assertEquals(1, other.redlock().counters().spuriousPushCount(), "a set waits for the key");
        release(acquired(get(waiting)));
    }

    /** Returns the coordinator of the resource, and leaves the lock free. */
    private int coordinatorOfFreeLock(VirtualWorld.Client client, VirtualWorld.Client other) {
        Lease holder = lease(client);
        CompletableFuture<AcquireOutcome> waiting = waiter(other);
        world.runMs(3);
        int coordinator = coordinator();
        handoffUs(holder, waiting);
        release(waiting.join().lease());
        world.runMs(REGISTERED_MS);
        return coordinator;
    }

    /** The coordinator grants each attempt, and the others refuse it. */
    private void setForeignKeysExceptAt(int coordinator) {
        for (int i = 0; i < 3; i++) {
            if (i != coordinator) {
                node(i).redis().set("orders", "foreign", -1);
            }
        }
    }

    /** Only a change after the refusal of a node shows that its refusal is outdated. */
    @Test
    void aPushDuringAnAttemptCountsAfterTheRefusalOfItsNode() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        int coordinator = coordinatorOfFreeLock(client, other);
        int free = coordinator == 2 ? 1 : 2;
        int slow = 3 - coordinator - free;
        long[] before = pushes(other);
        setForeignKeysExceptAt(coordinator);
        // Each refusal of a writer registers.
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(other, options().forWriting().waitUpTo(WAIT));
        // The first attempt, the script at the coordinator, and the requests to the other nodes.
        runUs(450);
        node(slow).delay(() -> 5_000_000);
        runUs(200);
        node(coordinator).pushInvalidation(other::isNamed, "orders");
        runUs(110);
        assertArrayEquals(new long[]{before[0], before[1] + 1}, pushes(other), "before a refusal");
        node(free).redis().delete("orders");
        runUs(110);
        assertArrayEquals(new long[]{before[0] + 1, before[1] + 1}, pushes(other), "after the refusal");
        long startMs = nowMs();
        world.await("the lock", 10_000, waiting::isDone);
        assertTrue(nowMs() - startMs <= 6, "the next attempt follows the slow refusal");
        release(acquired(waiting.join()));
    }

    /** The plain commands that follow the coordinator's grant register nobody: that follows their refusals. */
    @ParameterizedTest
    @CsvSource({"plain, 450", "plain, 650", "plain, 750", "plain, 850", "plain, 5000", "fenced, 450", "fenced, 650",
        "fenced, 850", "fenced, 5000", "scripts, 450", "scripts, 650", "scripts, 850", "scripts, 5000"})
    void aWaiterThatTheOthersHaveRefusedIsWokenByThemWheneverTheyBecomeFree(String form, int usAfterTheStart) {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = form.equals("scripts")
                ? client(context().commands(CommandMode.SCRIPTS))
                : client();
        int coordinator = coordinatorOfFreeLock(client, client());
        setForeignKeysExceptAt(coordinator);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(other,
                (form.equals("fenced") ? options().fenced() : options()).waitUpTo(WAIT));
        runUs(usAfterTheStart);
        node(coordinator == 2 ? 1 : 2).redis().delete("orders");
        long startNs = world.nowNs();
        world.await("the lock", 10_000, waiting::isDone);
        long tookUs = (world.nowNs() - startNs) / 1_000;
        // The rest of the attempt under way, and the pause after it; a fence needs another round.
        assertTrue(tookUs <= WOKEN_US + 850, () -> "woken after " + tookUs + " us");
        assertEquals(0, other.redlock().counters().backstopCount());
        release(acquired(waiting.join()));
    }

    /** The first answer has a ttl, which starts a timer. The second one tells that its key has gone. */
    @ParameterizedTest
    @ValueSource(ints = {600, 900, 1_200, 1_500, 1_800, 2_100, 2_400})
    void aLaterAnswerOfANodeThatHasBecomeFreeCounts(int usAfterTheStart) {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        int coordinator = coordinatorOfFreeLock(client, other);
        int quick = coordinator == 0 ? 1 : 0;
        int slow = 3 - coordinator - quick;
        node(quick).redis().set("orders", "foreign", 300);
        node(slow).redis().set("orders", "foreign", -1);
        node(slow).delay(() -> 500_000);
        CompletableFuture<AcquireOutcome> waiting = waiter(other);
        runUs(usAfterTheStart);
        node(slow).redis().delete("orders");
        long startMs = nowMs();
        world.await("the lock", 10_000, waiting::isDone);
        long tookMs = nowMs() - startMs;
        assertTrue(tookMs <= 5, () -> "acquired after " + tookMs + " ms");
        release(acquired(waiting.join()));
    }

    @Test
    void theShorterTtlOfTwoAnswersCountsAlsoIfItComesLater() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        int coordinator = coordinatorOfFreeLock(client, other);
        int quick = coordinator == 0 ? 1 : 0;
        int slow = 3 - coordinator - quick;
        eachNode(node -> node.redis().activeExpiry(() -> -1));
        node(quick).redis().set("orders", "foreign", 180);
        node(slow).redis().set("orders", "foreign", 40);
        node(slow).delay(() -> 500_000);
        long startMs = nowMs();
        CompletableFuture<AcquireOutcome> waiting = waiter(other);
        world.await("the lock", 10_000, waiting::isDone);
        long tookMs = nowMs() - startMs;
        assertTrue(tookMs <= 46, () -> "acquired after " + tookMs + " ms");
        release(acquired(waiting.join()));
    }

    /** The delay of the policy is shorter than a round trip. One of the others is down, so the answer counts alone. */
    @ParameterizedTest
    @ValueSource(ints = {14, 16, 18, 20, 22, 24, 26})
    void anAnswerThatComesAfterTheRegistrationAtAllNodesCounts(int msAfterTheStart) {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        int coordinator = coordinatorOfFreeLock(client, other);
        int refusing = coordinator == 0 ? 1 : 0;
        node(3 - coordinator - refusing).crash();
        node(refusing).delay(() -> 5_000_000);
        world.runMs(1_000);
        node(refusing).redis().set("orders", "foreign", -1);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(other,
                options().waitUpTo(WAIT).retryPolicy((attempts, reason, ttl, random) -> 1_000_000));
        world.runMs(msAfterTheStart);
        node(refusing).redis().delete("orders");
        long startMs = nowMs();
        world.await("the lock", 10_000, waiting::isDone);
        long tookMs = nowMs() - startMs;
        assertTrue(tookMs <= 80, () -> "acquired after " + tookMs + " ms");
        release(acquired(waiting.join()));
    }

    /** It pushes nothing, so the waiter must not wait for that. */
    @Test
    void aNodeThatDoesNotAnswerTheQuestionIsNotRegistered() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        int coordinator = coordinatorOfFreeLock(client, other);
        setForeignKeysExceptAt(coordinator);
        eachNode(node -> node.redis().failNext("PTTL", "ERR broken", 1));
        CompletableFuture<AcquireOutcome> waiting = waiter(other);
        runUs(2_000);
        node(coordinator == 2 ? 1 : 2).redis().delete("orders");
        long startMs = nowMs();
        world.await("the lock", 10_000, waiting::isDone);
        long tookMs = nowMs() - startMs;
        assertTrue(tookMs <= 60, () -> "acquired after " + tookMs + " ms");
        release(acquired(waiting.join()));
    }

    @Test
    void theOutcomeHasTheTtlOfTheNodesThatRefused() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        int coordinator = coordinatorOfFreeLock(client, other);
        for (int i = 0; i < 3; i++) {
            if (i != coordinator) {
                node(i).redis().set("orders", "foreign", 9_000);
            }
        }
        AcquireOutcome outcome = get(acquireAsync(other, options().waitUpTo(Duration.ofMillis(20))));
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, outcome.kind());
        long ttlMs = outcome.shortestRemainingTtlMs();
        assertTrue(ttlMs > 8_000 && ttlMs <= 9_000, () -> "ttl " + ttlMs);
    }

    /** The answers of the nodes have the ttl that the refusals of the plain commands lack. */
    @Test
    void aWaiterThatTheOthersHaveRefusedKnowsWhenTheirKeysExpire() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        int coordinator = coordinatorOfFreeLock(client, other);
        for (int i = 0; i < 3; i++) {
            if (i != coordinator) {
                node(i).redis().set("orders", "foreign", 200);
                node(i).redis().activeExpiry(() -> -1);
            }
        }
        long startMs = nowMs();
        CompletableFuture<AcquireOutcome> waiting = waiter(other);
        world.await("the lock", 10_000, waiting::isDone);
        long tookMs = nowMs() - startMs;
        assertTrue(tookMs >= 199 && tookMs <= 204, () -> "acquired after " + tookMs + " ms");
        release(acquired(waiting.join()));
    }

    /**
     * Its backstop has asked all nodes. Then nobody touches the keys of the dead holder, so no node pushes. The keys of
     * the others end a little later than the coordinator's.
     */
    @Test
    void aWaiterThatIsRegisteredEverywhereIsNotLateIfTheOthersExpireLater() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        int coordinator = coordinatorOfFreeLock(client, other);
        for (int i = 0; i < 3; i++) {
            node(i).redis().set("orders", "foreign", i == coordinator ? 580 : 600);
            node(i).redis().activeExpiry(() -> -1);
        }
        // The coordinator's refusal is one of the first two, which decide.
        node(coordinator == 0 ? 1 : 0).delay(() -> 500_000);
        long startMs = nowMs();
        CompletableFuture<AcquireOutcome> waiting = waiter(other);
        world.await("the lock", 10_000, waiting::isDone);
        long tookMs = nowMs() - startMs;
        assertTrue(tookMs >= 599 && tookMs <= 604, () -> "acquired after " + tookMs + " ms");
        release(acquired(waiting.join()));
    }

    /** The pushes that have woken a waiter of a client, and its spurious pushes. */
    private static long[] pushes(VirtualWorld.Client client) {
        RedlockCounters counters = client.redlock().counters();
        return new long[]{counters.wokenCount(), counters.spuriousPushCount()};
    }

    /** It has granted the last attempt, so it pushes nothing. */
    @Test
    void aWokenWaiterDoesNotExpectAPushOfACoordinatorThatHasGranted() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        int coordinator = coordinatorOfFreeLock(client, other);
        setForeignKeysExceptAt(coordinator);
        CompletableFuture<AcquireOutcome> waiting = waiter(other);
        world.runMs(10);
        node(coordinator == 2 ? 1 : 2).redis().delete("orders");
        long startNs = world.nowNs();
        world.await("the lock", 10_000, waiting::isDone);
        long tookUs = (world.nowNs() - startNs) / 1_000;
        assertTrue(tookUs <= WOKEN_US, () -> "woken after " + tookUs + " us");
        release(acquired(waiting.join()));
    }

    /** The waiter of a set ignored it until the random delay after the lost registration had passed. */
    @Test
    void aPushWakesAWaiterThatHasLostAnotherNodeBefore() {
        for (int i = 0; i < 8; i++) {
            VirtualWorld.Client client = slowWorld(3);
            VirtualWorld.Client other = client();
            Lease holder = held(client, "a");
            CompletableFuture<AcquireOutcome> waiting = setWaiter(other, "a", "b");
            world.runMs(REGISTERED_MS);
            node(i % 3).breakConnections(other::isNamed);
            assertHandoff(holder, waiting, WITHOUT_COORDINATOR_US);
            nothingIsLeft();
        }
        world = null;
    }

    /** The client wakes its own waiters when it removes a reservation, but not one that waits for another resource. */
    @Test
    void waitersThatGiveUpDoNotWakeASetThatWaitsForAnotherResource() {
        VirtualWorld.Client client = slowWorld(1);
        VirtualWorld.Client other = client();
        List.of("a", "e").forEach(each -> held(client, each));
        Lease holder = held(client, "d");
        CompletableFuture<AcquireOutcome> first = setWaiter(other, "a", "b");
        CompletableFuture<AcquireOutcome> second = setWaiter(other, "c", "e");
        CompletableFuture<AcquireOutcome> third = setWaiter(other, "b", "c", "d");
        world.runMs(REGISTERED_MS);
        int before = node(0).redis().commandCount("acquire_set");
        first.cancel(false);
        runUs(50);
        second.cancel(false);
        world.runMs(5);
        assertEquals(0, node(0).redis().commandCount("acquire_set") - before, "attempts while d is in use");
        assertHandoff(holder, third, WOKEN_US);
    }

    // ---- lost nodes -------------------------------------------------------------------------------------------------

    @Test
    void theEndOfAConnectionWakesTheWaitersThatAreRegisteredThere() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        lease(client);
        waiter(other);
        world.runMs(10);
        int coordinator = coordinator();
        int before = attempts();
        node((coordinator + 1) % 3).breakConnections(other::isNamed);
        world.runMs(10);
        assertEquals(0, other.redlock().counters().wokenCount(), "it waits for the coordinator alone");
        assertEquals(before, attempts());
        node(coordinator).breakConnections(other::isNamed);
        world.runMs(26);
        assertEquals(1, other.redlock().counters().wokenCount());
        assertTrue(attempts() > before);
    }

    /** All clients of a node lose it at the same time. */
    @Test
    void clientsThatLoseANodeAskTheNextOneAtDifferentTimes() {
        VirtualWorld.Client client = slowWorld(3);
        for (int i = 0; i < 24; i++) {
            held(client, "r" + i);
            waiter(client(), "r" + i);
        }
        world.runMs(REGISTERED_MS);
        int before = attempts();
        node(0).crash();
        world.runMs(1);
        int atOnce = attempts() - before;
        assertTrue(atOnce <= 4, () -> atOnce + " ask within a millisecond");
        world.runMs(26);
        assertEquals(24, attempts() - before);
    }

    /** A server may send pushes of any kind, and each costs the event loop its time. */
    @ParameterizedTest
    @CsvSource({"message, 1024", "empty, 1024", "null, 1024", "two nulls, 512", "a thousand numbers, 1",
        "a megabyte, 15", "nested, 113"})
    void pushesThatAreNoInvalidationsEndTheConnectionAboveALimit(String push, int count) {
        String bytes = switch (push) {
            case "message" -> ">2\r\n$7\r\nmessage\r\n$1\r\na\r\n";
            case "empty" -> ">2\r\n$10\r\ninvalidate\r\n*0\r\n";
            case "null" -> ">2\r\n$10\r\ninvalidate\r\n_\r\n";
            case "two nulls" -> ">3\r\n$10\r\ninvalidate\r\n_\r\n_\r\n";
            case "a thousand numbers" -> ">2\r\n$7\r\nmessage\r\n*1000\r\n" + ":1\r\n".repeat(1_000);
            case "a megabyte" -> ">2\r\n$7\r\nmessage\r\n$1048576\r\n" + "x".repeat(1 << 20) + "\r\n";
            default -> ">2\r\n$10\r\ninvalidate\r\n*1\r\n*7\r\n" + "#t\r\n".repeat(7);
        };
        VirtualWorld.Client client = world(3);
        node(0).sendRaw(bytes.repeat(count));
        world.runMs(900);
        assertEquals(0, status(client, 0).disconnectCount(), "up to the limit of a second");
        node(0).sendRaw(bytes);
        world.runMs(1);
        assertEquals(1, status(client, 0).disconnectCount());
        assertTrue(status(client, 0).problem().contains("more than 1024 pushes"), () -> status(client, 0).problem());
    }

    @Test
    void aFlushedNodeGetsTheAttemptsOfManyWaitersOneAfterAnother() {
        VirtualWorld.Client client = slowWorld(1);
        VirtualWorld.Client other = client();
        for (int i = 0; i < 200; i++) {
            held(client, "r" + i);
            waiter(other, "r" + i);
        }
        world.runMs(100);
        int before = attempts();
        node(0).pushInvalidation(other::isNamed, null);
        world.runMs(1);
        int atOnce = attempts() - before;
        assertTrue(atOnce <= 25, () -> atOnce + " attempts in a millisecond");
        world.runMs(10);
        assertEquals(200, attempts() - before);
    }
}
