package dev.redlock.semaphore;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.engine.TestEngine;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Searches for a free permit whose reply is wrong, late, or does not come. */
class PermitSearchTest extends PermitsTest {

    private static final int SEARCHES_MAX = 8;
    /** A search is given up after four times this, on a fast link. */
    private static final long GRACE_MS = 1;

    private List<Integer> permitsAskedAfterSearches(int count, long reply) {
        VirtualWorld.Client client = fullWorld(count);
        searchReply(reply);
        node(0).redis().startLog();
        long startNs = world.nowNs();
        AcquireOutcome outcome = acquire(client, permitOf(count));
        assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind());
        // Each node needs the script once.
        long roundTripsMax = 1 + 2 * SEARCHES_MAX + 3;
        assertTrue(world.nowNs() - startNs <= 2 * LINK_US * 1_000 * roundTripsMax, "no search times out");
        List<Integer> asked = askedPermits(node(0));
        asked.forEach(number -> assertTrue(number >= 0 && number < count, asked::toString));
        return asked.subList(1, asked.size());
    }

    /** The coordinator of a waiter gets marks too, which look like attempts there. */
    @Test
    void aMarkIsNoVote() {
        VirtualWorld.Client client = fullWorld(1);
        eachNode(node -> node.redis().startLog());
        long before = votes(client);
        assertEquals(AcquireOutcome.Kind.TIMED_OUT,
                get(acquireAsync(client, permitOf(1).waitUpTo(Duration.ofSeconds(5)))).kind());
        world.runMs(100);
        long marks = world.nodes()
                .stream()
                .flatMap(node -> node.redis().log().stream())
                .filter(line -> line.startsWith("acquire ") && line.contains(":waiting"))
                .count();
        assertTrue(marks > 0, "marks");
        int attempts = world.nodes().stream().mapToInt(node -> askedPermits(node).size()).sum();
        assertEquals(attempts, votes(client) - before);
    }

    private long votes(VirtualWorld.Client client) {
        return IntStream.range(0, 3)
                .mapToObj(i -> status(client, i))
                .mapToLong(node -> node.grantedCount() + node.refusedCount() + node.errorCount())
                .sum();
    }

    // ---- replies ----------------------------------------------------------------------------------------------------

    /** The nodes name a permit that is in use, again and again. */
    @ParameterizedTest
    @CsvSource({"4, 1, 0", "4, 4, 3", "4, 3585, 0", "256, 256, 255", "256, 562949953420801, 0"})
    void theNextAttemptAsksForThePermitOfTheReply(int count, long reply, int expected) {
        List<Integer> asked = permitsAskedAfterSearches(count, reply);
        assertEquals(SEARCHES_MAX, asked.size());
        assertEquals(Set.of(expected), new HashSet<>(asked));
    }

    /** The first permit or another one does not exist, so the client trusts no part of the reply. */
    @ParameterizedTest
    @CsvSource({"4, 5", "4, 511", "4, 512", "4, 4097", "256, 257", "256, 562949953421313",
        "256, 9007199254740991", "256, 9223372036854775807"})
    void aReplyOutOfRangeIsReplacedByARandomPermit(int count, long reply) {
        List<Integer> asked = permitsAskedAfterSearches(count, reply);
        assertEquals(SEARCHES_MAX, asked.size());
        assertTrue(new HashSet<>(asked).size() > 1, asked::toString);
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "-1, 1", "-4096, 4096", "-9007199254740991, 9223372036854775807"})
    void aReplyWithoutAPermitEndsTheAttempt(long reply, long remainingTtlMs) {
        VirtualWorld.Client client = fullWorld(4);
        searchReply(reply);
        AcquireOutcome outcome = acquire(client, permitOf(4));
        assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind());
        assertEquals(remainingTtlMs, outcome.shortestRemainingTtlMs());
        assertEquals(1, searches());
        assertEquals(3, attempts(), "one attempt");
    }

    /** Their permits are taken each time. Every second search asks any node, because the coordinator may be wrong. */
    @Test
    void anAttemptEndsAfterSomeSearchesAndTheWaiterRetries() {
        VirtualWorld.Client client = fullWorld(4);
        searchReply(1);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, waitingForPermitOf(4));
        world.runMs(RETRY_MS);
        assertEquals(SEARCHES_MAX, searches());
        assertTrue(world.nodes().stream().anyMatch(node -> searches(node) >= SEARCHES_MAX / 2), "the coordinator");
        assertTrue(world.nodes().stream().filter(node -> searches(node) > 0).count() > 1, "and others");
        assertEquals(3 * (1 + SEARCHES_MAX), attempts());
        assertEquals(1 + SEARCHES_MAX, client.redlock().counters().contendedAttemptCount());
        // No node pushes this: each has pushed the last change of the permit, or has refused it before the search.
        eachNode(node -> node.pushFault((name, delivery) -> {
        }));
        eachNode(node -> node.redis().delete(permit(0)));
        world.runMs(RETRY_MS);
        acquired(waiting.getNow(null));
    }

    /** The waiter asks for a permit that it knows before it searches again. */
    @Test
    void eachPermitOfTheReplyIsAskedForBeforeTheNextSearch() {
        VirtualWorld.Client client = fullWorld(4);
        searchReply(1 + 512 * 0b11);
        node(0).redis().startLog();
        acquireAsync(client, waitingForPermitOf(4));
        world.runMs(RETRY_MS);
        assertEquals(SEARCHES_MAX, searches());
        List<Integer> asked = askedPermits(node(0));
        assertEquals(1 + 3 * SEARCHES_MAX, asked.size());
        for (int i = 1; i < asked.size(); i++) {
            assertEquals((i - 1) % 3, asked.get(i), asked::toString);
        }
    }

    /** All clients ask the same node, which has their registrations. */
    @Test
    void theFirstSearchAsksTheCoordinator() {
        fullWorld(4);
        for (int i = 0; i < 8; i++) {
            assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(client(), permitOf(4)).kind());
        }
        assertEquals(8, searches());
        assertEquals(1, world.nodes().stream().filter(node -> searches(node) > 0).count());
    }

    /** The coordinator may have failed. */
    @Test
    void theSearchAfterAFailedAttemptAsksAnyNode() {
        fullWorld(4);
        for (int i = 0; i < 8; i++) {
            VirtualWorld.Client client = client();
            eachNode(node -> node.redis().failNext("SET", OOM, 1));
            acquire(client, waitingForPermitOf(4).waitUpTo(Duration.ofMillis(RETRY_MS + 2)));
        }
        assertEquals(8, searches());
        assertTrue(world.nodes().stream().filter(node -> searches(node) > 0).count() > 1);
    }

    /** So that clients that search at the same time rarely meet. */
    @Test
    void searchesStartAtRandomPermits() {
        fullWorld(64);
        Set<String> permits = new HashSet<>();
        for (int i = 0; i < 32; i++) {
            int number = i;
            eachNode(node -> node.redis().delete(permit(number)));
        }
        for (int i = 0; i < 16; i++) {
            AcquireOutcome outcome = acquire(client(), permitOf(64));
            if (outcome.attemptCount() == 2) {
                permits.add(TestEngine.lockedResource(outcome.lease()));
            }
            release(acquired(outcome));
        }
        assertTrue(permits.size() > 4, permits::toString);
    }

    /** A node that has lost the key of this client's permit names it before the free permit. */
    @Test
    void theFirstFreePermitThatTheClientDoesNotUseIsAskedFor() {
        VirtualWorld.Client client = slowLinks();
        eachNode(node -> setForeign(node, 0));
        Lease own = acquired(acquire(client, permitOf(2)));
        assertEquals(permit(1), TestEngine.lockedResource(own));
        searchReply(2 + 512);
        node(0).redis().startLog();
        acquireAsync(client, waitingForPermitOf(2));
        world.runMs(RETRY_MS / 2);
        assertEquals(Set.of(0), new HashSet<>(askedPermits(node(0))));
    }

    // ---- no reply ---------------------------------------------------------------------------------------------------

    @Test
    void aWaiterWithoutANodeToSearchEndsWithItsBudget() {
        VirtualWorld.Client client = fullWorld(4);
        eachNode(FakeNode::crash);
        long startMs = nowMs();
        AcquireOutcome outcome = acquire(client, waitingForPermitOf(4).waitUpTo(Duration.ofMillis(500)));
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, outcome.kind());
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.lastReason());
        assertEquals(500, nowMs() - startMs);
        eachNode(node -> node.restart(true));
    }

    @Test
    void aSilentSearchTakesAtMostHalfANodeTimeout() {
        long linkMs = 5;
        VirtualWorld.Client client = fullWorld(2);
        eachNode(node -> node.delay(() -> linkMs * 1_000_000));
        world.runMs(3_000);
        long startMs = nowMs();
        CompletableFuture<AcquireOutcome> acquiring = acquireAsync(client, permitOf(2));
        world.await("the search", NODE_TIMEOUT_MS, () -> searches() == 1);
        FakeNode coordinator = world.nodes().stream().filter(node -> searches(node) == 1).findFirst().orElseThrow();
        coordinator.loseReplies(name -> true);
        eachNode(node -> List.of(0, 1).forEach(number -> node.redis().delete(permit(number))));
        acquired(get(acquiring));
        assertEquals(startMs + 2 * linkMs + NODE_TIMEOUT_MS / 2 + 2 * linkMs, nowMs());
    }

    /** The search of the waiter at the head fails while a waiter behind it asks for the only permit. */
    @Test
    void aHeadWhoseSearchFailsWaitsForTheWaiterBehindIt() {
        VirtualWorld.Client client = slowLinks();
        Lease own = acquired(acquire(client, permitOf(1)));
        eachNode(node -> node.redis().failNext("find_permit", OOM, 1));
        CompletableFuture<AcquireOutcome> head = acquireAsync(client, waitingForPermitOf(1));
        CompletableFuture<AcquireOutcome> next = acquireAsync(client, waitingForPermitOf(1));
        runUs(LINK_US / 2);
        eachNode(node -> node.delay(() -> 4 * LINK_US * 1_000));
        own.releaseAsync();
        Lease first = acquired(get(next));
        assertFalse(head.isDone());
        assertEquals(2 * 3, attempts(), "the head does not ask for the same permit");
        release(first);
        acquired(get(head));
    }

    // ---- reasons ----------------------------------------------------------------------------------------------------

    private static void assertTimedOut(AcquireOutcome.Kind reason, AcquireOutcome outcome) {
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, outcome.kind());
        assertEquals(reason, outcome.lastReason());
    }

    /** No node answers the attempt, and none the search that is in progress when the budget ends. */
    @Test
    void aSilentSearchKeepsTheReasonOfTheLastAttempt() {
        VirtualWorld.Client client = slowLinks();
        eachNode(FakeNode::pause);
        long budgetMs = NODE_TIMEOUT_MS + RETRY_MS + GRACE_MS;
        assertTimedOut(AcquireOutcome.Kind.NO_QUORUM,
                acquire(client, waitingForPermitOf(4).waitUpTo(Duration.ofMillis(budgetMs))));
        eachNode(FakeNode::resume);
    }

    /** The client has the only permit itself, so its waiter starts with a search. */
    @Test
    void aSilentSearchWithoutAnAttemptFoundNoQuorum() {
        VirtualWorld.Client client = slowLinks();
        acquired(acquire(client, permitOf(1)));
        eachNode(FakeNode::pause);
        AcquireOutcome outcome = acquire(client, waitingForPermitOf(1).waitUpTo(Duration.ofMillis(GRACE_MS)));
        assertTimedOut(AcquireOutcome.Kind.NO_QUORUM, outcome);
        assertEquals(0, outcome.attemptCount());
        eachNode(FakeNode::resume);
    }

    /** The refused attempt follows one that met errors. */
    @Test
    void aSilentSearchAfterARefusalKeepsThatReason() {
        VirtualWorld.Client client = fullWorld(4);
        searchReply(1);
        node(0).redis().failNext("SET", OOM, 1);
        node(1).redis().failNext("SET", OOM, 1);
        long budgetMs = RETRY_MS + 2 * GRACE_MS;
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client,
                waitingForPermitOf(4).waitUpTo(Duration.ofMillis(budgetMs)));
        world.await("a refusal", budgetMs, () -> client.redlock().counters().contendedAttemptCount() == 1);
        assertEquals(1, client.redlock().counters().noQuorumAttemptCount());
        // The next search is on its way.
        eachNode(FakeNode::pause);
        AcquireOutcome outcome = get(waiting);
        assertTimedOut(AcquireOutcome.Kind.CONTENDED, outcome);
        assertEquals(2, outcome.attemptCount());
        eachNode(FakeNode::resume);
    }

    // ---- exceptions -------------------------------------------------------------------------------------------------

    /** The exception is thrown inside a reply: without an end, no other event would end the acquisition. */
    @Test
    void aSearchThatThrowsEndsTheAcquisition() {
        for (String method : List.of("search", "attempt")) {
            VirtualWorld.Client client = fullWorld(4);
            List<CompletableFuture<AcquireOutcome>> acquiring = new ArrayList<>();
            boolean[] hasThrown = new boolean[1];
            searchReply(1);
            client.clockListener(() -> {
                if (!hasThrown[0] && isIn("PermitOperation.runGuarded") && isIn("PermitOperation." + method)) {
                    hasThrown[0] = true;
                    throw new OutOfMemoryError("thrown by a test");
                }
            });
            quietly(() -> {
                acquiring.add(acquireAsync(client, waitingForPermitOf(4)));
                world.runMs(RETRY_MS);
            });
            clearRecordedExceptions();
            assertTrue(hasThrown[0], method);
            assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquiring.get(0).join().kind(), method);
            eachNode(node -> node.redis().flushAll());
            acquired(acquire(client, permitOf(4)));
            nothingIsLeft();
            world = null;
        }
    }

    /** The head starts the attempt behind it, and must not fail with it. */
    @Test
    void anAttemptBehindTheHeadThatThrowsEndsItsOwnAcquisition() {
        VirtualWorld.Client client = slowLinks();
        boolean[] hasThrown = new boolean[1];
        client.clockListener(() -> {
            if (!hasThrown[0] && isIn("PermitFollowers.start")) {
                hasThrown[0] = true;
                throw new OutOfMemoryError("thrown by a test");
            }
        });
        try (LogLines log = new LogLines()) {
            CompletableFuture<AcquireOutcome> head = acquireAsync(client, waitingForPermitOf(4));
            CompletableFuture<AcquireOutcome> next = acquireAsync(client, waitingForPermitOf(4));
            assertEquals(AcquireOutcome.Kind.NO_QUORUM, get(next).kind());
            acquired(get(head));
            assertEquals(1, log.with("a request threw").size());
        }
        clearRecordedExceptions();
        assertEquals(1, client.engine().heldCount());
        acquired(acquire(client, waitingForPermitOf(4)));
    }

    private static boolean isIn(String method) {
        return StackWalker.getInstance()
                .walk(all -> all.anyMatch(
                        frame -> (frame.getClassName() + "." + frame.getMethodName()).endsWith("." + method)));
    }
}
