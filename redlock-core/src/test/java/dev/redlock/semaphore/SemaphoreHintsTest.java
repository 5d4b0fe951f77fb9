package dev.redlock.semaphore;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.engine.TestEngine;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** How the waiters of one client share the permits that searches, pushes and releases have named. */
class SemaphoreHintsTest extends PermitsTest {

    private static final long ROUND_TRIP_US = 2 * LINK_US;

    private VirtualWorld.Client client;
    private FakeNode coordinator;
    private List<FakeNode> others;
    private final List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>();

    private void wait(int waiters, int count) {
        for (int i = 0; i < waiters; i++) {
            waiting.add(acquireAsync(client, waitingForPermitOf(count)));
        }
    }

    private int doneCount() {
        return (int) waiting.stream().filter(CompletableFuture::isDone).count();
    }

    private long roundTripsUntil(int count) {
        long startNs = world.nowNs();
        world.await("permits", 10_000, () -> doneCount() >= count);
        return ((world.nowNs() - startNs) / 1_000 + ROUND_TRIP_US / 2) / ROUND_TRIP_US;
    }

    private Set<String> permits() {
        Set<String> permits = new HashSet<>();
        waiting.stream()
                .filter(CompletableFuture::isDone)
                .forEach(done -> permits.add(TestEngine.lockedResource(acquired(done.join()))));
        return permits;
    }

    /** Another client finds the coordinator by a search, which has the script of searches from then on. */
    private void findCoordinator(int count) {
        assertFalse(acquire(client(), permitOf(count)).isAcquired());
        coordinator = world.nodes().stream().filter(node -> searches(node) == 1).findFirst().orElseThrow();
        others = world.nodes().stream().filter(node -> node != coordinator).toList();
        coordinator.redis().startLog();
    }

    /** All permits are in use, and waiters sleep until a push. */
    private void sleepingWaiters(int waiters, int count) {
        client = fullWorld(count);
        findCoordinator(count);
        wait(waiters, count);
        world.runMs(RETRY_MS / 2);
        assertEquals(0, doneCount());
    }

    /** The waiters search at once, as after the pushes that a node has lost. */
    private void wakeWithoutHints() {
        coordinator.pushInvalidation(name -> true, null);
    }

    private void losePushes() {
        eachNode(node -> node.pushFault((name, delivery) -> {
        }));
    }

    // ---- searches ---------------------------------------------------------------------------------------------------

    @Test
    void allPermitsOfASearchAreTakenTogether() {
        sleepingWaiters(4, 8);
        losePushes();
        List.of(1, 2, 5, 7).forEach(this::free);
        int searches = searches();
        int attempts = attempts();
        wakeWithoutHints();
        runUs(LINK_US + ROUND_TRIP_US + ROUND_TRIP_US + LINK_US / 2);
        assertEquals(4, doneCount(), "after the push, the search and the attempts");
        assertEquals(Set.of(permit(1), permit(2), permit(5), permit(7)), permits());
        assertEquals(1, searches() - searches);
        assertEquals(4 * 3, attempts() - attempts);
    }

    /** Only one attempt at a time is allowed, so the others use the reply later. */
    @Test
    void waitersThatAreServedLaterDoNotSearchAgain() {
        client = fullWorld(8, 1);
        findCoordinator(8);
        searchReply(1 + 512 * 0b111);
        wait(4, 8);
        runUs(ROUND_TRIP_US + LINK_US / 2);
        List.of(0, 1, 2, 3).forEach(this::free);
        world.await("permits", 10, () -> doneCount() == 4);
        assertEquals(2, searches(), "that of the other client, and one");
    }

    /**
     * A search has named permits 0 to 3. The head asks for the first, and the votes of two nodes, a grant and an error,
     * do not decide. The third node is slow.
     */
    private void startHeadBesideSlowNode() {
        client = fullWorld(4);
        findCoordinator(4);
        searchReply(1 + 512 * 0b111);
        wait(1, 4);
        runUs(ROUND_TRIP_US + LINK_US / 2);
        free(0);
        others.get(0).redis().failNext("acquire", OOM, 1);
        runUs(LINK_US);
        others.get(1).delay(() -> RETRY_MS * 1_000_000);
        runUs(ROUND_TRIP_US);
        assertFalse(waiting.get(0).isDone());
    }

    /** A refusal says nothing about the other permits of the search. */
    @Test
    void aPermitOfTheSearchIsAskedForAfterARefusalOfAnother() {
        startHeadBesideSlowNode();
        free(2);
        wait(1, 4);
        assertEquals(2, roundTripsUntil(1), "permit 1 is refused, and permit 2 is granted");
        assertEquals(Set.of(permit(2)), permits());
        assertFalse(waiting.get(0).isDone(), "the head is still attempting");
    }

    /** The next attempt would probably meet the same errors. */
    @Test
    void thePermitsOfTheSearchAreForgottenAfterErrors() {
        startHeadBesideSlowNode();
        eachNode(node -> node.redis().failNext("acquire", OOM, 100));
        wait(1, 4);
        runUs(4 * ROUND_TRIP_US);
        assertEquals(1, client.redlock().counters().noQuorumAttemptCount());
        eachNode(node -> node.redis().clearErrors());
    }

    /** A later search has found none of them free. */
    @Test
    void thePermitsOfASearchAreForgottenAfterTheNext() {
        client = fullWorld(4);
        findCoordinator(4);
        searchReply(1 + 512);
        wait(1, 4);
        runUs(2 * ROUND_TRIP_US + LINK_US / 2);
        others.forEach(node -> node.redis().failNext("acquire", OOM, 1));
        runUs(ROUND_TRIP_US);
        honestSearches();
        world.runMs(2 * RETRY_MS);
        assertEquals(1, client.redlock().counters().noQuorumAttemptCount());
        int attempts = attempts(coordinator);
        client.pause();
        free(2);
        setForeign(2);
        runUs(ROUND_TRIP_US);
        client.resume();
        world.runMs(RETRY_MS / 2);
        assertEquals(1, attempts(coordinator) - attempts, "the permit of the push only");
    }

    // ---- pushes -----------------------------------------------------------------------------------------------------

    @Test
    void twoPermitsThatArePushedTogetherAreTakenTogether() {
        sleepingWaiters(2, 4);
        client.pause();
        free(1);
        free(2);
        runUs(ROUND_TRIP_US);
        client.resume();
        assertEquals(2, roundTripsUntil(2), "the coordinator, then the other nodes");
        assertEquals(Set.of(permit(1), permit(2)), permits());
    }

    /** The coordinator has granted it, so it does not push the next change. */
    @Test
    void aPushedPermitThatOtherNodesRefuseIsFollowedByASearch() {
        sleepingWaiters(1, 2);
        int searches = searches();
        coordinator.redis().delete(permit(0));
        runUs(LINK_US + 2 * ROUND_TRIP_US + LINK_US + LINK_US / 2);
        assertEquals(1, searches() - searches, "after the push, the coordinator and the others");
    }

    /** It cannot ask for both, and one of them is taken again. */
    @Test
    void aLoneWaiterSearchesAfterTwoPushes() {
        sleepingWaiters(1, 4);
        int searches = searches();
        client.pause();
        free(1);
        free(2);
        setForeign(1);
        runUs(ROUND_TRIP_US);
        client.resume();
        assertEquals(2, roundTripsUntil(1), "the search, then all nodes");
        assertEquals(Set.of(permit(2)), permits());
        assertEquals(1, searches() - searches);
    }

    /** The coordinator still pushes all permits, as after any refusal of a permit that it has pushed. */
    @Test
    void aPushedPermitThatIsTakenAgainCostsNoSearch() {
        client = slowLinks();
        Lease own = acquired(acquire(client, permitOf(3)));
        List<Integer> taken = new ArrayList<>(List.of(0, 1, 2));
        taken.removeIf(number -> permit(number).equals(TestEngine.lockedResource(own)));
        taken.forEach(this::setForeign);
        findCoordinator(3);
        wait(2, 3);
        world.runMs(RETRY_MS / 2);
        int searches = searches();
        int attempts = attempts();
        client.pause();
        // The head would ask for this one, which the client has.
        coordinator.redis().delete(TestEngine.lockedResource(own));
        free(taken.get(0));
        setForeign(taken.get(0));
        runUs(ROUND_TRIP_US);
        client.resume();
        world.runMs(RETRY_MS / 2);
        assertEquals(1, attempts() - attempts, "refused by the coordinator");
        assertEquals(searches, searches());
        free(taken.get(0));
        assertEquals(3, roundTripsUntil(1), "the push, the coordinator, and the others");
    }

    // ---- attempts behind the head -----------------------------------------------------------------------------------

    /** The waiter behind the head asks the coordinator, and then two slow nodes, while the head searches. */
    private int startSearchBesideAttempt() {
        client = fullWorld(3);
        findCoordinator(3);
        wait(1, 3);
        runUs(LINK_US + LINK_US / 2);
        others.forEach(node -> node.delay(() -> RETRY_MS * 1_000_000));
        int before = askedPermits(coordinator).size();
        wait(1, 3);
        runUs(LINK_US + LINK_US / 4);
        List<Integer> asked = askedPermits(coordinator);
        assertEquals(before + 1, asked.size(), "the waiter behind the head has asked");
        return asked.get(before);
    }

    @Test
    void theHeadDoesNotAskForThePermitOfTheWaiterBehindIt() {
        int permit = startSearchBesideAttempt();
        searchReply(1 + permit);
        int attempts = attempts(coordinator);
        runUs(4 * ROUND_TRIP_US);
        assertEquals(attempts, attempts(coordinator));
        honestSearches();
        eachNode(node -> node.delay(() -> LINK_US * 1_000));
        List.of(0, 1, 2).forEach(this::free);
        world.await("both", 10 * RETRY_MS, () -> doneCount() == 2);
    }

    @Test
    void theHeadAsksForAnotherPermitThanTheWaiterBehindIt() {
        int permit = startSearchBesideAttempt();
        int other = (permit + 1) % 3;
        searchReply(1 + other);
        runUs(4 * ROUND_TRIP_US);
        List<Integer> asked = askedPermits(coordinator);
        assertEquals(other, asked.get(asked.size() - 1), asked::toString);
    }

    /** The waiter behind the head takes the permit, so the refusal of the head is no reason for another attempt. */
    @Test
    void aReleasedPermitIsGivenToOneWaiter() {
        client = slowLinks();
        Lease own = acquired(acquire(client, permitOf(2)));
        String permit = TestEngine.lockedResource(own);
        setForeign(permit.equals(permit(0)) ? 1 : 0);
        int attempts = attempts();
        wait(2, 2);
        runUs(LINK_US / 2);
        own.releaseAsync();
        runUs(5 * ROUND_TRIP_US);
        assertEquals(Set.of(permit), permits());
        assertEquals(3 + 3, attempts() - attempts, "of the head and of the waiter behind it");
    }

    @Test
    void cancelledAttemptsDoNotSlowDownLaterWaiters() {
        client = slowLinks();
        wait(8, 16);
        runUs(LINK_US / 2);
        List<CompletableFuture<AcquireOutcome>> cancelled = List.copyOf(waiting.subList(1, 8));
        waiting.removeAll(cancelled);
        cancelled.forEach(each -> each.cancel(false));
        wait(7, 16);
        assertEquals(1, roundTripsUntil(8));
    }

    @Test
    void theNextWaiterStartsWhenAnAttemptIsCancelled() {
        client = slowLinks(2);
        wait(3, 8);
        runUs(LINK_US / 2);
        waiting.remove(1).cancel(false);
        assertEquals(1, roundTripsUntil(2));
    }

    /** The attempt behind it, which becomes the head, is still in progress. */
    @Test
    void theNextWaiterStartsWhenTheHeadHasItsPermit() {
        client = slowLinks(2);
        wait(1, 8);
        runUs(LINK_US / 2);
        wait(2, 8);
        runUs(2 * ROUND_TRIP_US - LINK_US / 4);
        assertEquals(3, doneCount());
    }

    @Test
    void asManyWaitersAskTogetherAsTheLimitAllows() {
        client = slowLinks(2);
        wait(8, 8);
        assertEquals(4, roundTripsUntil(8));
        assertEquals(8, permits().size());
    }

    // ---- errors -----------------------------------------------------------------------------------------------------

    /** An attempt behind the head that fails does not start the next one of the head. */
    @Test
    void waitersThatMeetErrorsKeepTheirRetryDelay() {
        int delays = 20;
        for (int waiters = 1; waiters <= 4; waiters++) {
            client = slowLinks();
            for (String command : List.of("SET", "MSETEX", "acquire")) {
                node(0).redis().failNext(command, OOM, 10_000);
                node(1).redis().failNext(command, OOM, 10_000);
            }
            wait(waiters, 8);
            world.runMs(delays * RETRY_MS);
            assertEquals(0, doneCount());
            long attempts = client.redlock().counters().noQuorumAttemptCount();
            assertTrue(attempts <= waiters * (1 + delays), attempts + " attempts of " + waiters + " waiters");
            nothingIsLeft();
            world = null;
            waiting.clear();
        }
    }

    /** The attempt behind it fails first. */
    @Test
    void aHeadThatMeetsErrorsKeepsItsRetryDelay() {
        startHeadBesideSlowNode();
        eachNode(node -> node.redis().failNext("acquire", OOM, 100));
        others.get(1).delay(() -> LINK_US * 1_000);
        // Its request to the slow node has not arrived.
        wait(1, 4);
        world.await("both", 2 * RETRY_MS, () -> client.redlock().counters().noQuorumAttemptCount() == 2);
        int searches = searches();
        world.runMs(RETRY_MS / 2);
        assertEquals(searches, searches());
    }

    /** The coordinator has seen the permit of the failed attempt in use, and does not push that it is free again. */
    @Test
    void aSearchThatOverlapsAFailedAttemptIsRepeated() {
        client = fullWorld(2);
        findCoordinator(2);
        wait(1, 2);
        runUs(LINK_US + LINK_US / 2);
        List<Integer> asked = askedPermits(coordinator);
        int next = 1 - asked.get(asked.size() - 1);
        free(next);
        others.forEach(node -> node.redis().failNext("SET", OOM, 1));
        others.forEach(node -> node.delay(() -> 2 * LINK_US * 1_000));
        wait(1, 2);
        runUs(LINK_US + LINK_US / 4);
        coordinator.delay(() -> RETRY_MS * 1_000_000 / 4);
        runUs(LINK_US / 2);
        eachNode(node -> node.delay(() -> LINK_US * 1_000));
        world.await("the search of the head", 1, () -> client.redlock().counters().noQuorumAttemptCount() == 1);
        assertEquals(0, doneCount());
        world.runMs(RETRY_MS / 2);
        assertEquals(Set.of(permit(next)), permits());
    }
}
