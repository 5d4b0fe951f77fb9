package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.engine.TestEngine;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
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
    private FakeNode doorkeeper;
    private List<FakeNode> others;
    /** The slot that the head asks for, in vain. */
    private String taken;
    /** The slot that the other waiter asks for. */
    private String free;
    private final List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>();

    private static AcquireOptions permitOf(int count) {
        return options().forPermitOf(count);
    }

    private static int searches(FakeNode node) {
        return node.redis().commandCount("find_permit");
    }

    private static String slotOf(Lease lease) {
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

    /** Finds the doorkeeper by a search, which has its script from then on. */
    private void findDoorkeeper(int permits) {
        List<Integer> before = world.nodes().stream().map(SemaphoreFollowersTest::searches).toList();
        assertFalse(acquire(client, permitOf(permits)).isAcquired());
        List<FakeNode> asked = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            if (searches(node(i)) > before.get(i)) {
                asked.add(node(i));
            }
        }
        assertEquals(1, asked.size(), "one node searches");
        doorkeeper = asked.get(0);
        others = world.nodes().stream().filter(node -> node != doorkeeper).toList();
    }

    private void runUs(long us) {
        world.runUntilNs(world.nowNs() + us * 1_000);
    }

    /**
     * The doorkeeper pushes two slots. The head asks for one of them, which is still in use, and the waiter behind it
     * for the other one, which is free. Ends when the doorkeeper has refused the head, and before it executes the
     * attempt of the other waiter.
     */
    private void startBoth() {
        slowLinks();
        VirtualWorld.Client holder = client();
        List<Lease> leases = List.of(acquired(acquire(holder, permitOf(2))), acquired(acquire(holder, permitOf(2))));
        taken = slotOf(leases.get(0));
        free = slotOf(leases.get(1));
        findDoorkeeper(2);
        for (int i = 0; i < 2; i++) {
            waiting.add(acquireAsync(client, permitOf(2).waitUpTo(WAIT)));
        }
        world.runMs(5);
        int refused = doorkeeper.redis().commandCount("acquire");
        leases.get(1).releaseAsync();
        runUs(50);
        // As an extension by its holder does.
        doorkeeper.redis().set(taken, doorkeeper.redis().get(taken), 10_000);
        runUs(225);
        assertEquals(refused + 1, doorkeeper.redis().commandCount("acquire"), "the head has been refused");
        others.forEach(node -> assertEquals(null, node.redis().get(free), "released"));
    }

    private void assertPermitSoon(String reason) {
        long startMs = nowMs();
        world.await("the permit", 10_000, () -> waiting.stream().anyMatch(CompletableFuture::isDone));
        long tookMs = nowMs() - startMs;
        assertTrue(tookMs <= SOON_MS, () -> reason + ": waited for " + tookMs + " ms");
        Lease lease = acquired(waiting.stream().filter(CompletableFuture::isDone).findFirst().orElseThrow().join());
        assertEquals(free, slotOf(lease));
        assertEquals(0, client.redlock().counters().backstopCount());
    }

    @Test
    void aCancelledAttemptBehindASleepingHead() {
        startBoth();
        others.forEach(node -> node.delay(() -> 10_000_000));
        world.runMs(5);
        assertTrue(doorkeeper.redis().get(free) != null, "granted by the doorkeeper alone");
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

    /** The doorkeeper has refused nothing, so it does not push the next change. */
    @Test
    void anAttemptThatMeetsARefusalAndErrorsBehindASleepingHead() {
        startBoth();
        doorkeeper.redis().failNext("acquire", OOM, 1);
        others.get(0).redis().set(free, "foreign", 10_000);
        others.get(1).redis().failNext("acquire", OOM, 1);
        assertPermitSoon("a refusal and errors");
    }

    /** Two nodes do not answer in time, and execute the attempt and its rollback later. */
    @Test
    void anAttemptThatMeetsSilenceBehindASleepingHead() {
        startBoth();
        doorkeeper.pause();
        others.get(0).pause();
        world.runMs(NODE_TIMEOUT_MS + 5);
        doorkeeper.resume();
        others.get(0).resume();
        assertPermitSoon("silence");
    }

    /** A node that has lost keys names their slots, and the client knows that it has them. */
    @Test
    void waitersDoNotAskForSlotsThatTheirClientHas() {
        slowLinks();
        List<Lease> own = new ArrayList<>();
        VirtualWorld.Client holder = client();
        for (int i = 0; i < 3; i++) {
            own.add(acquired(acquire(client, permitOf(6))));
            acquired(acquire(holder, permitOf(6)));
        }
        findDoorkeeper(6);
        for (int i = 0; i < 3; i++) {
            waiting.add(acquireAsync(client, permitOf(6).waitUpTo(WAIT)));
        }
        world.runMs(5);
        int before = others.get(0).redis().commandCount("acquire");
        int searchesBefore = searches(doorkeeper);
        own.forEach(lease -> doorkeeper.redis().delete(slotOf(lease)));
        runUs(450);
        assertEquals(searchesBefore + 1, searches(doorkeeper));
        assertEquals(before + 1, others.get(0).redis().commandCount("acquire"), "only the head tries one of them");
        own.forEach(lease -> assertTrue(lease.isHeld()));
    }

    /**
     * The client reads three pushes at once: of a slot for each waiter, and of one that it has, which makes it forget
     * the first one. The slot that it still asks for is refused, and it must not rely on a push of the forgotten one.
     */
    @Test
    void aPushThatIsForgottenIsReplacedByASearch() {
        slowLinks();
        Lease own = acquired(acquire(client, permitOf(3)));
        VirtualWorld.Client holder = client();
        VirtualWorld.Client next = client();
        List<Lease> leases = List.of(acquired(acquire(holder, permitOf(3))), acquired(acquire(holder, permitOf(3))));
        String forgotten = slotOf(leases.get(0));
        findDoorkeeper(3);
        for (int i = 0; i < 2; i++) {
            waiting.add(acquireAsync(client, permitOf(3).waitUpTo(WAIT)));
        }
        world.runMs(5);
        client.pause();
        leases.forEach(Lease::releaseAsync);
        runUs(150);
        doorkeeper.redis().delete(slotOf(own));
        List<Lease> taken = List.of(acquired(acquire(next, permitOf(3))), acquired(acquire(next, permitOf(3))));
        client.resume();
        world.runMs(5);
        assertFalse(waiting.get(0).isDone() || waiting.get(1).isDone());
        taken.stream().filter(lease -> slotOf(lease).equals(forgotten)).findFirst().orElseThrow().releaseAsync();
        free = forgotten;
        assertPermitSoon("forgotten");
    }

    /** A node has lost the key of a permit, so the head asks for it while the client still has it. */
    @Test
    void aReleasedSlotThatTheHeadAsksForIsAskedForOnce() {
        assertAskedForOnce(0);
    }

    /** An attempt without a queue asks for the same slot, and ends first. */
    @Test
    void aSlotIsInUseUntilTheLastOfItsUsesEnds() {
        assertAskedForOnce(1);
    }

    private void assertAskedForOnce(int attemptsWithoutQueue) {
        slowLinks();
        Lease own = acquired(acquire(client, permitOf(1)));
        free = slotOf(own);
        findDoorkeeper(1);
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
        doorkeeper.redis().delete(free);
        runUs(380);
        own.releaseAsync();
        runUs(110);
        assertEquals(1 + attemptsWithoutQueue, other.commandCount("acquire") + other.commandCount("SET NX") - before);
        assertPermitSoon("released");
    }
}
