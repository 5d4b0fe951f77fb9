package dev.redlock.semaphore;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.engine.TestEngine;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Pushes of several permits of one semaphore: which permit its waiters ask for, and when they search. */
class SemaphorePushTest extends VirtualTest {

    private static final Duration WAIT = Duration.ofSeconds(60);
    /** A waiter that has been refused registers with the other nodes within 50 ms. */
    private static final long REGISTERED_MS = 100;

    private VirtualWorld.Client client;
    private final List<Lease> permits = new ArrayList<>();
    private final List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>();
    private FakeNode coordinator;
    private List<FakeNode> others;

    private static int searches(FakeNode node) {
        return node.redis().commandCount("find_permit");
    }

    private static int attempts(FakeNode node) {
        return node.redis().commandCount("acquire");
    }

    /** Another client has all permits. The coordinator alone has refused the head, and pushes each permit. */
    private void start(int permitCount, int waiterCount) {
        world = new VirtualWorld(3);
        // Direct commands release there, which a node does not push to their own connection.
        eachNode(node -> node.redis().kind(FakeRedis.Kind.REDIS_8_4));
        client = client();
        VirtualWorld.Client holder = client();
        eachNode(node -> node.delay(() -> LINK_NS));
        world.runMs(1_100);
        for (int i = 0; i < permitCount; i++) {
            permits.add(acquired(acquire(holder, options().forPermitOf(permitCount))));
        }
        for (int i = 0; i < waiterCount; i++) {
            waiting.add(acquireAsync(client, options().forPermitOf(permitCount).waitUpTo(WAIT)));
        }
        world.runMs(5);
        coordinator = world.nodes().stream().filter(node -> searches(node) > 0).findFirst().orElseThrow();
        others = world.nodes().stream().filter(node -> node != coordinator).toList();
        others.forEach(node -> assertEquals(0, searches(node), "one node searches"));
    }

    private String permit(int number) {
        return TestEngine.lockedResource(permits.get(number));
    }

    /** Changes a key as an extension by its holder does. */
    private void renew(FakeNode node, int number) {
        node.redis().set(permit(number), node.redis().get(permit(number)), 10_000);
    }

    @Test
    void thePermitThatIsPushedDuringAnAttemptForAnotherIsAskedForNext() {
        start(2, 1);
        int before = searches(coordinator);
        String free = permit(1);
        renew(coordinator, 0);
        runUs(50);
        permits.get(1).releaseAsync();
        Lease found = acquired(get(waiting.get(0)));
        assertEquals(free, TestEngine.lockedResource(found));
        assertEquals(before, searches(coordinator), "the push names the permit");
    }

    /** The client reads three pushes at once, and can ask for one permit at a time. */
    @Test
    void aWaiterSearchesAfterPushesOfSeveralPermits() {
        start(3, 1);
        int searchesBefore = searches(coordinator);
        int attemptsBefore = attempts(coordinator);
        client.pause();
        for (int i = 0; i < 3; i++) {
            renew(coordinator, i);
        }
        runUs(200);
        client.resume();
        world.runMs(5);
        assertEquals(1, searches(coordinator) - searchesBefore);
        assertEquals(attemptsBefore, attempts(coordinator), "the search finds no free permit");
    }

    /** Its pushes of other permits may be lost. */
    @Test
    void aWaiterThatLosesANodeSearchesInsteadOfAskingForAPushedPermit() {
        start(2, 1);
        world.runMs(REGISTERED_MS);
        int searchesBefore = searches(coordinator);
        int attemptsBefore = attempts(coordinator);
        // The waiter leaves the coordinator a millisecond for its own push.
        renew(others.get(0), 0);
        runUs(200);
        others.get(1).breakConnections(client::isNamed);
        world.runMs(5);
        assertEquals(1, searches(coordinator) - searchesBefore);
        assertEquals(attemptsBefore, attempts(coordinator), "the search finds no free permit");
    }

    /** Each push ends a registration, of any waiter, so the head asks every node for the next one. */
    @Test
    void waitersAreRegisteredOnEveryNodeAgainAfterPushesDuringAnAttempt() {
        start(2, 2);
        world.runMs(REGISTERED_MS);
        renew(coordinator, 0);
        runUs(50);
        // The first of them starts an attempt of the second waiter, and the other one another attempt of the head.
        others.forEach(node -> renew(node, 1));
        runUs(200);
        assertEquals(3, client.redlock().counters().wokenCount());
        world.runMs(REGISTERED_MS);
        coordinator.pause();
        long startMs = nowMs();
        permits.get(1).releaseAsync();
        world.await("the permit", 10_000, () -> waiting.stream().anyMatch(CompletableFuture::isDone));
        long tookMs = nowMs() - startMs;
        assertTrue(tookMs <= 5, () -> "woken by the other nodes after " + tookMs + " ms");
    }
}
