package dev.redlock.semaphore;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
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

/**
 * Two waiters of one client: the head is refused and sleeps, and the attempt of the other one ends without a permit. No
 * node pushes what becomes free then, so the head has to search.
 */
class SemaphoreFollowersTest extends VirtualTest {

    private static final Duration WAIT = Duration.ofSeconds(60);
    private static final String OOM = "OOM command not allowed when used memory > 'maxmemory'";
    /** Far below the shortest backstop, 250 ms. */
    private static final long SOON_MS = 100;

    private VirtualWorld.Client client;
    private FakeNode coordinator;
    private List<FakeNode> others;
    /** The permit that the head asks for, in vain. */
    private String taken;
    /** The permit that the other waiter asks for. */
    private String free;
    private final List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>();

    private static AcquireOptions permitOf(int count) {
        return options().forPermitOf(count);
    }

    private static int searches(FakeNode node) {
        return node.redis().commandCount("find_permit");
    }

    private static String permitOf(Lease lease) {
        return TestEngine.lockedResource(lease);
    }

    private void slowLinks() {
        world = new VirtualWorld(3);
        // Direct commands release there, which a node does not push to their own connection.
        eachNode(node -> node.redis().kind(FakeRedis.Kind.REDIS_8_4));
        client = client();
        eachNode(node -> node.delay(() -> LINK_NS));
        world.runMs(1_100);
    }

    /** Finds the coordinator by a search, which has its script from then on. */
    private void findCoordinator(int permits) {
        List<Integer> before = world.nodes().stream().map(SemaphoreFollowersTest::searches).toList();
        assertFalse(acquire(client, permitOf(permits)).isAcquired());
        List<FakeNode> asked = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            if (searches(node(i)) > before.get(i)) {
                asked.add(node(i));
            }
        }
        assertEquals(1, asked.size(), "one node searches");
        coordinator = asked.get(0);
        others = world.nodes().stream().filter(node -> node != coordinator).toList();
    }

    /**
     * The coordinator pushes two permits. The head asks for one of them, which is still in use, and the waiter behind
     * it for the other one, which is free. Ends when the coordinator has refused the head, and before it executes the
     * attempt of the other waiter.
     */
    private void startBoth() {
        slowLinks();
        VirtualWorld.Client holder = client();
        List<Lease> leases = List.of(acquired(acquire(holder, permitOf(2))), acquired(acquire(holder, permitOf(2))));
        taken = permitOf(leases.get(0));
        free = permitOf(leases.get(1));
        findCoordinator(2);
        for (int i = 0; i < 2; i++) {
            waiting.add(acquireAsync(client, permitOf(2).waitUpTo(WAIT)));
        }
        world.runMs(5);
        int refused = coordinator.redis().commandCount("acquire");
        leases.get(1).releaseAsync();
        runUs(50);
        // As an extension by its holder does.
        coordinator.redis().set(taken, coordinator.redis().get(taken), 10_000);
        runUs(225);
        assertEquals(refused + 1, coordinator.redis().commandCount("acquire"), "the head has been refused");
        others.forEach(node -> assertEquals(null, node.redis().get(free), "released"));
    }

    private void assertPermitSoon(String reason) {
        long startMs = nowMs();
        world.await("the permit", 10_000, () -> waiting.stream().anyMatch(CompletableFuture::isDone));
        long tookMs = nowMs() - startMs;
        assertTrue(tookMs <= SOON_MS, () -> reason + ": waited for " + tookMs + " ms");
        Lease lease = acquired(waiting.stream().filter(CompletableFuture::isDone).findFirst().orElseThrow().join());
        assertEquals(free, permitOf(lease));
        assertEquals(0, client.redlock().counters().backstopCount());
    }

    @Test
    void aCancelledAttemptBehindASleepingHead() {
        startBoth();
        others.forEach(node -> node.delay(() -> 10_000_000));
        world.runMs(5);
        assertTrue(coordinator.redis().get(free) != null, "granted by the coordinator alone");
        waiting.remove(1).cancel(false);
        assertPermitSoon("cancelled");
    }

    @Test
    void anAttemptThatMeetsErrorsBehindASleepingHead() {
        startBoth();
        eachNode(node -> node.redis().failNext("acquire", OOM, 1));
        assertPermitSoon("errors");
    }

    @Test
    void anAttemptThatIsGrantedAndRolledBackBehindASleepingHead() {
        startBoth();
        others.get(0).redis().set(free, "foreign", 10_000);
        others.get(1).redis().failNext("acquire", OOM, 1);
        assertPermitSoon("rolled back");
    }

    /** The coordinator has refused nothing, so it does not push the next change. */
    @Test
    void anAttemptThatMeetsARefusalAndErrorsBehindASleepingHead() {
        startBoth();
        coordinator.redis().failNext("acquire", OOM, 1);
        others.get(0).redis().set(free, "foreign", 10_000);
        others.get(1).redis().failNext("acquire", OOM, 1);
        assertPermitSoon("a refusal and errors");
    }

    /** Two nodes do not answer in time, and execute the attempt and its rollback later. */
    @Test
    void anAttemptThatMeetsSilenceBehindASleepingHead() {
        startBoth();
        coordinator.pause();
        others.get(0).pause();
        world.runMs(NODE_TIMEOUT_MS + 5);
        coordinator.resume();
        others.get(0).resume();
        assertPermitSoon("silence");
    }

    /** A node that has lost keys names their permits, and the client knows that it has them. */
    @Test
    void waitersDoNotAskForPermitsThatTheirClientHas() {
        slowLinks();
        List<Lease> own = new ArrayList<>();
        VirtualWorld.Client holder = client();
        for (int i = 0; i < 3; i++) {
            own.add(acquired(acquire(client, permitOf(6))));
            acquired(acquire(holder, permitOf(6)));
        }
        findCoordinator(6);
        for (int i = 0; i < 3; i++) {
            waiting.add(acquireAsync(client, permitOf(6).waitUpTo(WAIT)));
        }
        world.runMs(5);
        int before = others.get(0).redis().commandCount("acquire");
        int searchesBefore = searches(coordinator);
        own.forEach(lease -> coordinator.redis().delete(permitOf(lease)));
        runUs(450);
        assertEquals(searchesBefore + 1, searches(coordinator));
        assertEquals(before + 1, others.get(0).redis().commandCount("acquire"), "only the head tries one of them");
        own.forEach(lease -> assertTrue(lease.isHeld()));
    }

    /**
     * The client reads three pushes at once: of a permit for each waiter, and of one that it has, which makes it forget
     * the first one. The permit that it still asks for is refused, and it must not rely on a push of the forgotten one.
     */
    @Test
    void aPushThatIsForgottenIsReplacedByASearch() {
        slowLinks();
        Lease own = acquired(acquire(client, permitOf(3)));
        VirtualWorld.Client holder = client();
        VirtualWorld.Client next = client();
        List<Lease> leases = List.of(acquired(acquire(holder, permitOf(3))), acquired(acquire(holder, permitOf(3))));
        String forgotten = permitOf(leases.get(0));
        findCoordinator(3);
        for (int i = 0; i < 2; i++) {
            waiting.add(acquireAsync(client, permitOf(3).waitUpTo(WAIT)));
        }
        world.runMs(5);
        client.pause();
        leases.forEach(Lease::releaseAsync);
        runUs(150);
        coordinator.redis().delete(permitOf(own));
        List<Lease> taken = List.of(acquired(acquire(next, permitOf(3))), acquired(acquire(next, permitOf(3))));
        client.resume();
        world.runMs(5);
        assertFalse(waiting.get(0).isDone() || waiting.get(1).isDone());
        taken.stream().filter(lease -> permitOf(lease).equals(forgotten)).findFirst().orElseThrow().releaseAsync();
        free = forgotten;
        assertPermitSoon("forgotten");
    }

    /** A node has lost the key of a permit, so the head asks for it while the client still has it. */
    @Test
    void aReleasedPermitThatTheHeadAsksForIsAskedForOnce() {
        assertAskedForOnce(0);
    }

    /** An attempt without a queue asks for the same permit, and ends first. */
    @Test
    void aPermitIsInUseUntilTheLastOfItsUsesEnds() {
        assertAskedForOnce(1);
    }

    private void assertAskedForOnce(int attemptsWithoutQueue) {
        slowLinks();
        Lease own = acquired(acquire(client, permitOf(1)));
        free = permitOf(own);
        findCoordinator(1);
        for (int i = 0; i < 2; i++) {
            waiting.add(acquireAsync(client, permitOf(1).waitUpTo(WAIT)));
        }
        world.runMs(5);
        FakeRedis other = others.get(0).redis();
        int before = other.commandCount("acquire") + other.commandCount("SET NX");
        for (int i = 0; i < attemptsWithoutQueue; i++) {
            acquireAsync(client, permitOf(1));
        }
        runUs(50);
        coordinator.redis().delete(free);
        runUs(380);
        own.releaseAsync();
        runUs(110);
        assertEquals(1 + attemptsWithoutQueue, other.commandCount("acquire") + other.commandCount("SET NX") - before);
        assertPermitSoon("released");
    }
}
