package dev.redlock.node.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.NodeStatus;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.RetryPolicy;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.logging.Level;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The default mode of the restart guard: which young nodes vote, from when, and what a caller gets meanwhile. */
class FreshGroupTest extends VirtualTest {

    private static final String MARK = "node:redlock:fence:run_id";
    /** The quarantine with the defaults. */
    private static final long GUARD_MS = 60_000 + 600 + 2 + 1_000;

    private void freshWorld(int nodeCount) {
        world = new VirtualWorld(nodeCount);
        eachNode(node -> node.redis().uptime(0));
    }

    private static void assertStates(VirtualWorld.Client client, NodeState... states) {
        List<NodeStatus> nodes = client.redlock().nodes();
        assertEquals(List.of(states), nodes.stream().map(NodeStatus::state).toList(), nodes::toString);
    }

    private static NodeState[] all(int count, NodeState state) {
        return Stream.generate(() -> state).limit(count).toArray(NodeState[]::new);
    }

    private static void assertProblem(String expected, VirtualWorld.Client client) {
        String problem = String.valueOf(status(client, 0).problem());
        assertTrue(problem.contains(expected), problem);
    }

    private void restartEmpty(int index) {
        node(index).crash();
        node(index).restart(false);
    }

    private void assertMarked(int index) {
        assertEquals(node(index).redis().reign(), node(index).redis().get(MARK), () -> "the mark of node " + index);
    }

    // ---- a fresh group ----------------------------------------------------------------------------------------------

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5})
    void freshNodesVoteAtOnceAndAreMarked(int nodeCount) {
        freshWorld(nodeCount);
        VirtualWorld.Client client = client();
        assertStates(client, all(nodeCount, NodeState.READY));
        for (int i = 0; i < nodeCount; i++) {
            assertMarked(i);
        }
        lease(client);
    }

    @Test
    void freshNodesWithoutResp3VoteAtOnce() {
        freshWorld(3);
        eachNode(node -> node.redis().onlyResp2());
        assertStates(client(), all(3, NodeState.READY));
    }

    @Test
    void twoClientsThatStartTogetherBothVoteSoon() {
        freshWorld(3);
        eachNode(node -> node.delay(() -> 1_000_000));
        VirtualWorld.Client one = world.newClient("one", context(), 1);
        VirtualWorld.Client other = world.newClient("other", context(), 2);
        world.await("both vote", 100, () -> isReady(one) && isReady(other));
    }

    private static boolean isReady(VirtualWorld.Client client) {
        return client.redlock().nodes().stream().allMatch(node -> node.state() == NodeState.READY);
    }

    /** The second client asks after some nodes are marked and before the others are. */
    @Test
    void aClientThatSeesAGroupBeingMarkedVotesSoon() {
        freshWorld(3);
        node(0).redis().set(MARK, node(0).redis().reign(), -1);
        node(1).redis().set(MARK, node(1).redis().reign(), -1);
        VirtualWorld.Client client = client();
        assertStates(client, NodeState.READY, NodeState.READY, NodeState.QUARANTINED);
        node(2).redis().set(MARK, node(2).redis().reign(), -1);
        world.await("the third vote", 100, () -> isReady(client));
    }

    @Test
    void aClientThatStartsLaterReadsTheMarks() {
        freshWorld(3);
        Lease held = lease(client());
        world.runMs(5_000);
        VirtualWorld.Client later = client();
        assertStates(later, all(3, NodeState.READY));
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(later, options()).kind());
        release(held);
        lease(later);
    }

    @Test
    void theGroupIsCompleteWhenTheLastNodeIsUp() {
        freshWorld(3);
        node(2).crash();
        VirtualWorld.Client client = client();
        assertEquals(NodeState.QUARANTINED, status(client, 0).state());
        world.runMs(10_000);
        assertEquals(NodeState.QUARANTINED, status(client, 0).state(), "two of three are no group");
        assertProblem("the nodes are no fresh group: node 2 is not connected", client);
        node(2).start();
        world.await("all vote", 2_000, () -> isReady(client));
        lease(client);
    }

    /** One round trip each for the handshake, the mark, the check and the new mark. */
    @Test
    void aFreshNodeVotesAfterItsMarkIsAcknowledged() {
        freshWorld(3);
        eachNode(node -> node.delay(() -> 10_000_000));
        VirtualWorld.Client client = client();
        world.await("marked", 200, () -> node(0).redis().get(MARK) != null);
        assertStates(client, all(3, NodeState.QUARANTINED));
        world.runMs(11);
        assertStates(client, all(3, NodeState.READY));
    }

    // ---- no fresh group ---------------------------------------------------------------------------------------------

    /** The clients of the list with one node need its vote alone, so the restart of that node is a majority's. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aLoneNodeOfOneOfTwoListsIsGuardedByItsUptime(boolean isNext) {
        world = new VirtualWorld(4);
        VirtualWorld.Client old = client(new RedlockContext().nodes("node-0:1"));
        Lease held = acquired(acquire(old, AcquireOptions.ofTtl(Duration.ofSeconds(60)).tryOnce()));
        restartEmpty(0);
        for (int i = 1; i < 4; i++) {
            node(i).redis().uptime(0);
        }
        world.runMs(3_000);
        String[] others = {"node-1:1", "node-2:1", "node-3:1"};
        VirtualWorld.Client both = client(isNext
                ? new RedlockContext().nodes(others).nextNodes("node-0:1")
                : new RedlockContext().nodes("node-0:1").nextNodes(others));
        assertStates(both, all(4, NodeState.QUARANTINED));
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(both, options()).kind());
        assertTrue(held.isHeld());
        world.await("the end of the quarantine", GUARD_MS, () -> isReady(both));
        assertFalse(held.isHeld());
        lease(both);
    }

    /** The case that the guard exists for. */
    @Test
    void anEmptyRestartOfOneNodeGivesNoSecondHolder() {
        freshWorld(3);
        Lease held = lease(client());
        // As if the acquire had not reached node 2.
        node(2).redis().delete("orders");
        restartEmpty(0);
        VirtualWorld.Client rival = client();
        assertStates(rival, NodeState.QUARANTINED, NodeState.READY, NodeState.READY);
        assertFalse(acquire(rival, options()).isAcquired());
        assertTrue(held.isHeld());
    }

    @ParameterizedTest
    @CsvSource({"orders, x", "node:redlock:fence:run_id, an-earlier-process", "other, x"})
    void aNodeThatIsNotEmptyKeepsTheGroupInQuarantine(String key, String value) {
        freshWorld(3);
        node(1).redis().set(key, value, -1);
        VirtualWorld.Client client = client();
        world.runMs(GUARD_MS - 2_000);
        assertStates(client, all(3, NodeState.QUARANTINED));
        assertProblem("the nodes are no fresh group: node 1 has keys", client);
        world.await("all vote", 3_100, () -> isReady(client));
        assertMarked(0);
        assertMarked(1);
        assertMarked(2);
    }

    @Test
    void anOldNodeKeepsTheYoungOnesInQuarantine() {
        world = new VirtualWorld(3);
        node(0).redis().uptime(0);
        node(1).redis().uptime(0);
        VirtualWorld.Client client = client();
        assertStates(client, NodeState.QUARANTINED, NodeState.QUARANTINED, NodeState.READY);
        world.runMs(GUARD_MS - 2_000);
        assertStates(client, NodeState.QUARANTINED, NodeState.QUARANTINED, NodeState.READY);
    }

    /** Else connect would wait for a group that cannot become complete. */
    @Test
    void anOldNodeThatConnectsLastEndsTheHopeForAGroup() {
        freshWorld(3);
        node(2).redis().uptime(86_400);
        node(2).delay(() -> 10_000_000);
        VirtualWorld.Client client = client();
        assertEquals(null, status(client, 0).problem(), "the group may still be fresh");
        world.runMs(12);
        assertProblem("in quarantine", client);
        assertProblem("the nodes are no fresh group: node 2 has been up for maxTtl or longer", client);
    }

    /** 59 s is young, 60 s may be old for another client, which does not depend on marks. */
    @ParameterizedTest
    @CsvSource({"59, READY", "60, QUARANTINED"})
    void aNodeThatMayBeOldForOthersIsNoneOfAFreshGroup(long uptimeSeconds, NodeState state) {
        freshWorld(3);
        node(1).redis().uptime(uptimeSeconds);
        VirtualWorld.Client client = client();
        world.runMs(1_000);
        assertEquals(state, status(client, 0).state());
        if (state == NodeState.QUARANTINED) {
            assertProblem("the nodes are no fresh group: node 1 has been up for maxTtl or longer", client);
        }
    }

    /** The keys of node 0 arrive after its handshake and before that of node 2. */
    @Test
    void emptinessIsAskedAfterTheLastHandshake() {
        freshWorld(3);
        node(2).crash();
        VirtualWorld.Client client = client();
        node(0).redis().set("orders", "a-lock", 30_000);
        node(2).start();
        world.await("connected", 2_000, () -> status(client, 2).state() == NodeState.QUARANTINED);
        world.runMs(5_000);
        assertStates(client, all(3, NodeState.QUARANTINED));
    }

    /** The checks of nodes 0 and 1 are done when the connection to node 2 ends; then node 0 gets a key. */
    @Test
    void aConnectionThatEndsDuringTheCheckStartsItAgain() {
        freshWorld(3);
        eachNode(node -> node.delay(() -> 10_000_000));
        node(2).delay(() -> 30_000_000);
        VirtualWorld.Client client = world.newClient("client", context(), 7);
        world.await("node 2 has its handshake and its mark read", 1_000,
                () -> node(0).redis().commandCount("INFO keyspace") == 1);
        world.runMs(15);
        node(2).breakConnections();
        node(0).redis().set("orders", "a-lock", 30_000);
        world.await("connected", 2_000, () -> status(client, 2).state() == NodeState.QUARANTINED);
        world.runMs(3_000);
        assertStates(client, all(3, NodeState.QUARANTINED));
        assertEquals(2, node(0).redis().commandCount("INFO keyspace"), "checks");
        client.engine().close(Duration.ZERO);
        world.runMs(100);
    }

    /** Node 2 replies to the check and restarts before the others have replied. */
    @Test
    void aNodeThatRestartsDuringTheCheckEndsIt() {
        freshWorld(3);
        eachNode(node -> node.delay(() -> 20_000_000));
        VirtualWorld.Client client = client();
        world.await("the check", 1_000, () -> node(2).redis().commandCount("INFO keyspace") == 0
                && status(client, 2).state() == NodeState.QUARANTINED);
        node(2).delay(() -> 1_000_000);
        world.await("checked", 1_000, () -> node(2).redis().commandCount("INFO keyspace") == 1);
        world.runMs(2);
        restartEmpty(2);
        world.runMs(5_000);
        assertStates(client, all(3, NodeState.QUARANTINED));
    }

    /** All nodes lose all locks. A client that was there before waits, although others are back at once. */
    @Test
    void aClientThatSawTheNodesRestartIsGuardedByUptimeAlone() {
        freshWorld(3);
        VirtualWorld.Client witness = client();
        lease(witness);
        for (int i = 0; i < 3; i++) {
            restartEmpty(i);
        }
        VirtualWorld.Client newcomer = client();
        assertStates(newcomer, all(3, NodeState.READY));
        assertMarked(0);
        world.await("reconnected", 3_000,
                () -> witness.redlock().nodes().stream().allMatch(node -> node.state() == NodeState.QUARANTINED));
        world.runMs(GUARD_MS - 5_000);
        assertStates(witness, all(3, NodeState.QUARANTINED));
        world.runMs(6_000);
        assertStates(witness, all(3, NodeState.READY));
    }

    // ---- marks ------------------------------------------------------------------------------------------------------

    @Test
    void anOldNodeVotesAfterItsMarkIsAcknowledged() {
        world = new VirtualWorld(3);
        eachNode(node -> node.delay(() -> 10_000_000));
        VirtualWorld.Client client = client();
        world.await("marked", 200, () -> node(0).redis().get(MARK) != null);
        assertStates(client, all(3, NodeState.QUARANTINED));
        world.runMs(11);
        assertStates(client, all(3, NodeState.READY));
    }

    @Test
    void aMarkedNodeIsNotMarkedAgain() {
        world(3);
        int written = node(0).redis().commandCount("SET");
        VirtualWorld.Client second = client();
        node(0).breakConnections();
        world.await("back", 2_000, () -> isReady(second));
        assertEquals(written, node(0).redis().commandCount("SET"), "writes of marks");
    }

    @Test
    void aMarkThatAppearsEndsTheQuarantine() {
        freshWorld(3);
        node(0).redis().set("other", "x", -1);
        VirtualWorld.Client client = client();
        world.runMs(20_000);
        assertStates(client, all(3, NodeState.QUARANTINED));
        eachNode(node -> node.redis().set(MARK, node.redis().reign(), -1));
        world.await("all vote", 1_001, () -> isReady(client));
        assertEquals(null, status(client, 0).problem());
    }

    /** The clock watch has its own reason, which a mark does not remove. */
    @Test
    void aMarkDoesNotEndTheQuarantineAfterAClockJump() {
        freshWorld(3);
        node(0).redis().set("other", "x", -1);
        VirtualWorld.Client client = client();
        world.runMs(1_000);
        node(1).redis().clockJump(-30_000);
        world.runMs(2_000);
        eachNode(node -> node.redis().set(MARK, node.redis().reign(), -1));
        world.runMs(2_000);
        assertStates(client, NodeState.READY, NodeState.QUARANTINED, NodeState.READY);
        assertTrue(status(client, 1).problem().contains("clock watch"), status(client, 1).problem());
    }

    @Test
    void anOldNodeThatRefusesMarksVotesWithAWarning() {
        world = new VirtualWorld(3);
        node(0).redis().failNext("SET", "NOPERM User app has no permissions to run the 'set' command", 1_000);
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = client();
            assertStates(client, all(3, NodeState.READY));
            node(0).breakConnections();
            world.runMs(2_000);
            assertStates(client, all(3, NodeState.READY));
            assertEquals(1, log.with(Level.WARNING, "the mark of the restart guard cannot be written: NOPERM").size());
        }
    }

    /** The first two SETs probe the rights of the user and a conditional command. */
    @ParameterizedTest
    @CsvSource({"GET, 1", "SET, 3"})
    void aYoungNodeThatRefusesMarksStaysInQuarantine(String command, int count) {
        freshWorld(3);
        node(0).redis().failNext(command, "NOPERM User app has no permissions", count);
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = client();
            assertEquals(NodeState.QUARANTINED, status(client, 0).state());
            world.runMs(GUARD_MS - 2_000);
            assertEquals(NodeState.QUARANTINED, status(client, 0).state());
            world.await("all vote", 3_100, () -> isReady(client));
            assertMarked(0);
            assertEquals(1, log.with(Level.WARNING, "the mark of the restart guard cannot be ").size());
        }
    }

    /** Else the nodes would be silent about their problem, and the client about the missing quorum. */
    @Test
    void aYoungNodeThatRefusesMarksForAMomentShowsWhy() {
        freshWorld(3);
        eachNode(node -> node.redis().failNext("SET", "NOREPLICAS Not enough good replicas to write.", 1_000));
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = client();
            world.runMs(5_000);
            assertStates(client, all(3, NodeState.QUARANTINED));
            assertProblem("in quarantine for another 57 s: restart guard: ", client);
            assertProblem("; its mark cannot be written: NOREPLICAS; the server has fewer replicas than"
                    + " min-replicas-to-write; connect them, or lower the setting", client);
            assertEquals(1, log.with(Level.WARNING, "no quorum votes").size());
            String advice = acquire(client, options()).advice();
            assertTrue(advice.contains("a quorum may vote in 56"), advice);
        }
    }

    /** Four refusals are two of probes, and two of marks. */
    @Test
    void aMarkThatIsAcceptedLaterEndsTheQuarantine() {
        freshWorld(3);
        node(0).redis().failNext("SET", "OOM command not allowed when used memory > 'maxmemory'.", 4);
        VirtualWorld.Client client = client();
        assertStates(client, NodeState.QUARANTINED, NodeState.READY, NodeState.READY);
        assertProblem("its mark cannot be written: OOM; ", client);
        world.runMs(1_001);
        assertStates(client, NodeState.QUARANTINED, NodeState.READY, NodeState.READY);
        world.runMs(1_001);
        assertStates(client, all(3, NodeState.READY));
        assertEquals(null, status(client, 0).problem());
        assertMarked(0);
    }

    /** The problem of its quarantine is replaced by a later one. */
    @Test
    void aYoungNodeShowsTheLastRefusalOfItsMark() {
        freshWorld(3);
        node(0).redis().failNext("SET", "NOREPLICAS Not enough good replicas to write.", 4);
        node(0).redis().failNext("SET", "MISCONF Errors writing to the AOF file", 1);
        VirtualWorld.Client client = client();
        assertProblem("its mark cannot be written: NOREPLICAS; ", client);
        world.runMs(2_010);
        assertProblem("its mark cannot be written: MISCONF; ", client);
    }

    /** The mark may be that of another server, and show a promotion. */
    @ParameterizedTest
    @CsvSource({"0, in quarantine for another 59 s: ", "86400, its mark"})
    void aNodeWhoseMarkCannotBeReadForAMomentShowsWhyAndDoesNotVote(long uptimeSeconds, String problem) {
        freshWorld(3);
        eachNode(node -> node.redis().uptime(uptimeSeconds));
        eachNode(node -> node.redis().failNext("GET", "BUSY Redis is busy running a script.", 10));
        VirtualWorld.Client client = client();
        assertEquals(null, status(client, 0).problem());
        world.runMs(3_000);
        assertStates(client, all(3, NodeState.QUARANTINED));
        assertProblem(problem, client);
        assertProblem("its mark cannot be read: BUSY; a script or a function blocks the server", client);
        assertFalse(acquire(client, options()).isAcquired());
        world.await("all vote", 4_000, () -> isReady(client));
        assertEquals(null, status(client, 0).problem());
        assertMarked(0);
    }

    @Test
    void aNodeThatRefusesMarksVotesAfterItsQuarantineAndTheNextRefusal() {
        freshWorld(3);
        eachNode(node -> node.redis().failNext("SET", "NOREPLICAS Not enough good replicas to write.", 1_000));
        VirtualWorld.Client client = client();
        world.await("the quarantine has ended", GUARD_MS + 100,
                () -> status(client, 0).problem().startsWith("its mark cannot be written: NOREPLICAS"));
        assertStates(client, all(3, NodeState.QUARANTINED));
        world.await("all vote", 1_001, () -> isReady(client));
        assertEquals(null, status(client, 0).problem());
    }

    @Test
    void noResourceHasTheNameOfTheMark() {
        VirtualWorld.Client client = world(3);
        assertThrows(IllegalArgumentException.class, () -> client.redlock().key(MARK));
    }

    @Test
    void theMarkLiesUnderThePrefix() {
        freshWorld(3);
        client(context().keyPrefix("lock:"));
        assertEquals(Set.of("lock:" + MARK), node(0).redis().allKeys());
    }

    @ParameterizedTest
    @CsvSource({"UPTIME, QUARANTINED", "OFF, READY"})
    void otherModesUseNoMarks(RestartGuardMode mode, NodeState state) {
        freshWorld(3);
        assertStates(client(context().restartGuard(mode)), all(3, state));
        assertEquals(Set.of(), node(0).redis().allKeys());
    }

    // ---- the caller -------------------------------------------------------------------------------------------------

    @Test
    void anAcquireWaitsForItsBudgetIfThatEndsInQuarantine() {
        freshWorld(3);
        VirtualWorld.Client client = client(context().restartGuard(RestartGuardMode.UPTIME));
        long startMs = nowMs();
        AcquireOutcome outcome = acquire(client, AcquireOptions.ofTtl(TTL).waitUpTo(Duration.ofSeconds(10)));
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, outcome.kind(), outcome::toString);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.lastReason(), outcome::toString);
        assertEquals(10_000, nowMs() - startMs, "time waited");
        assertTrue(outcome.attemptCount() <= 11, outcome::toString);
        assertEquals("the wait budget ended: too few nodes vote: 3 of 3 were in quarantine, and a quorum may vote in"
                + " 51592 ms: wait for longer, or see RedlockContext.restartGuard", outcome.advice());
        world.runMs(GUARD_MS + 1_000);
        assertEquals("the wait budget ended: too few nodes vote: 3 of 3 were in quarantine, and a quorum may vote now:"
                + " try again", outcome.advice());
    }

    /** Each acquisition of a loop waits, so that the loop is no load for the client. */
    @Test
    void acquisitionsInALoopAreNoLoadDuringAQuarantine() {
        freshWorld(3);
        VirtualWorld.Client client = client(context().restartGuard(RestartGuardMode.UPTIME)
                .retryPolicy(RetryPolicy.jittered(Duration.ZERO, Duration.ofNanos(1))));
        long endMs = nowMs() + 10_000;
        while (nowMs() < endMs) {
            assertFalse(acquire(client, AcquireOptions.ofTtl(TTL).waitUpTo(Duration.ofMillis(100))).isAcquired());
        }
        long attempts = client.redlock().counters().noQuorumAttemptCount();
        assertTrue(attempts <= 2 * 100, () -> attempts + " attempts in 10 s");
    }

    /** The delay between two attempts is at most twice the rest of the quarantine. */
    @Test
    void aShortBudgetUsesTheEndOfTheQuarantine() {
        freshWorld(3);
        VirtualWorld.Client client = client(context().restartGuard(RestartGuardMode.UPTIME));
        world.runMs(GUARD_MS - 300);
        AcquireOutcome outcome = acquire(client, AcquireOptions.ofTtl(TTL).waitUpTo(Duration.ofMillis(700)));
        assertTrue(outcome.isAcquired(), outcome::toString);
    }

    /** The second node completes a quorum, before the quarantine of the third one ends. */
    @Test
    void theAdviceHasTheTimeAfterWhichAQuorumVotes() {
        freshWorld(3);
        node(0).redis().uptime(86_400);
        node(2).redis().uptime(30);
        VirtualWorld.Client client = client(context().restartGuard(RestartGuardMode.UPTIME));
        assertEquals("too few nodes vote: 2 of 3 were in quarantine, and a quorum may vote in 31592 ms: wait for"
                + " longer, or see RedlockContext.restartGuard", acquire(client, options()).advice());
    }

    /** A node that is down is no vote in the advice, and no time is known without enough others. */
    @Test
    void theAdviceCountsNoNodeThatIsDown() {
        freshWorld(3);
        node(1).redis().uptime(30);
        node(2).crash();
        VirtualWorld.Client client = client(context().restartGuard(RestartGuardMode.UPTIME));
        AcquireOutcome outcome = acquire(client, options());
        assertEquals("too few nodes vote: 2 of 3 were in quarantine, and a quorum may vote in 61592 ms: wait for"
                + " longer, or see RedlockContext.restartGuard", outcome.advice());
        node(1).crash();
        world.runMs(2_000);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM.advice(), outcome.advice());
    }

    @Test
    void anAcquireWaitsForTheEndOfTheQuarantineIfItsBudgetIsLonger() {
        freshWorld(3);
        VirtualWorld.Client client = client(context().restartGuard(RestartGuardMode.UPTIME));
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client,
                AcquireOptions.ofTtl(TTL).waitUpTo(Duration.ofSeconds(65)));
        world.await("acquired", GUARD_MS + 1_000, waiting::isDone);
        AcquireOutcome outcome = waiting.join();
        assertTrue(outcome.isAcquired(), outcome::toString);
        assertTrue(outcome.attemptCount() < 70, outcome::toString);
    }

    /** The quarantine of one node does not explain the failure, and the others may come back at any time. */
    @Test
    void anAcquireWaitsForNodesThatAreDown() {
        world = new VirtualWorld(3);
        node(0).redis().uptime(0);
        VirtualWorld.Client client = client(context().restartGuard(RestartGuardMode.UPTIME));
        node(1).crash();
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client,
                AcquireOptions.ofTtl(TTL).waitUpTo(Duration.ofSeconds(10)));
        world.runMs(3_000);
        assertFalse(waiting.isDone());
        node(1).start();
        assertTrue(get(waiting).isAcquired());
    }

    @Test
    void theFirstConnectReportsTheQuarantineInOneWarning() {
        freshWorld(3);
        node(1).redis().set("other", "x", -1);
        VirtualWorld.Client client = world.newClient("client", context(), 7);
        try (LogLines log = new LogLines()) {
            client.call(() -> client.engine().engine().lockEngine().connect());
            world.runMs(2_000);
            List<String> lines = log.with(Level.WARNING, "restartGuard");
            assertEquals(1, lines.size(), lines::toString);
            assertTrue(lines.get(0).startsWith("no quorum votes for "), lines.get(0));
            assertTrue(lines.get(0).endsWith("RedlockContext.restartGuard, which is FRESH_GROUP"), lines.get(0));
        }
        client.engine().close(Duration.ZERO);
        world.runMs(100);
    }

    @Test
    void aConnectToFreshNodesLogsNothingButTheStart() {
        freshWorld(3);
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = client();
            client.call(() -> client.engine().engine().lockEngine().connect());
            world.runMs(10);
            List<String> lines = log.with("");
            assertEquals(1, lines.size(), lines::toString);
            assertTrue(lines.get(0).contains(" starts with nodes "), lines.get(0));
        }
    }
}
