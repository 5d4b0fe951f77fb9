package dev.redlock.acquire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.RedlockContext;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.engine.key.KeyText;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The fencing counter of one node is out of range, or its reply is not a counter value: the other nodes still grant.
 */
class FenceOutOfRangeTest extends VirtualTest {

    /** The counters of these tests are small numbers. With a restart guard, they would continue from the clock. */
    @Override
    protected RedlockContext context() {
        return super.context().restartGuard(RestartGuardMode.OFF);
    }

    private static final long TRIP_NS = 2_000_000;
    /** The largest exact integer of Lua. */
    private static final long END = (1L << 53) - 1;
    private static final long SECOND = 1L << 20;
    private static final String OUT_OF_RANGE = "unknown: granted, but its fencing counter is out of range";

    private VirtualWorld.Client client;

    private void nodesWithCounters(long... counters) {
        world = new VirtualWorld(counters.length);
        eachNode(node -> node.delay(() -> TRIP_NS / 2));
        client = client();
        for (int i = 0; i < counters.length; i++) {
            counter(i, counters[i]);
        }
    }

    private void counter(int nodeIndex, long value) {
        node(nodeIndex).redis().set(KeyText.counterName("orders"), Long.toString(value), 86_400_000);
    }

    private void counters(String resource, long... values) {
        for (int i = 0; i < values.length; i++) {
            node(i).redis().set(KeyText.counterName(resource), Long.toString(values[i]), 86_400_000);
        }
    }

    private long counter(int nodeIndex) {
        return Long.parseLong(node(nodeIndex).redis().get(KeyText.counterName("orders")));
    }

    private static AcquireOptions fenced() {
        return options().fenced();
    }

    private long seed() {
        return node(0).redis().counterSeed();
    }

    private Lease acquiredAndReleased() {
        Lease lease = acquired(acquire(client, fenced()));
        // Long enough for a reply of every node.
        world.runMs(5);
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "released");
        world.runMs(5);
        return lease;
    }

    @Test
    void oneCounterNearItsMaximumDoesNotPreventGrants() {
        nodesWithCounters(7, 7, END - 2);
        for (int i = 8; i < 30; i++) {
            assertEquals(i, acquiredAndReleased().fencingToken(), "two agree");
        }
        assertEquals(List.of(29L, 29L, END), List.of(counter(0), counter(1), counter(2)), "no counter was raised");
    }

    @Test
    void aGrantOutOfRangeDoesNotCountAlthoughTheOthersAgree() {
        nodesWithCounters(7, 7, END - 2);
        node(2).delay(() -> 0);
        Lease lease = acquired(acquire(client, fenced()));
        assertEquals(8, lease.fencingToken(), "two agree");
        assertEquals(2, ((AcquireOutcome) lease).grantedCount());
        assertEquals(OUT_OF_RANGE, ((AcquireOutcome) lease).voteText(2));
    }

    /** Without the grant out of range, the two refusals leave no quorum. */
    @Test
    void aGrantOutOfRangeLeavesTheLockToItsHolder() {
        nodesWithCounters(7, 20, END - 2, 7, 7);
        node(3).redis().set("orders", "foreign", 60_000);
        node(4).redis().set("orders", "foreign", 60_000);
        long startNs = world.nowNs();
        AcquireOutcome outcome = acquire(client, fenced());
        assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind(), outcome::toString);
        assertEquals(TRIP_NS, world.nowNs() - startNs, "with the last vote");
        assertEquals(2, outcome.grantedCount());
    }

    @Test
    void aNodeOutOfRangeAndALostNodeEndTheAttemptAtOnce() {
        nodesWithCounters(7, 20, END - 2);
        world.runMs(5);
        node(1).crash();
        world.runMs(5);
        long startNs = world.nowNs();
        AcquireOutcome outcome = acquire(client, fenced());
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
        assertEquals(TRIP_NS, world.nowNs() - startNs, "with the last vote");
    }

    @Test
    void differentCountersAreRaisedToTheHighestInRange() {
        nodesWithCounters(7, 20, END - 2);
        long startNs = world.nowNs();
        Lease lease = acquired(acquire(client, fenced()));
        assertEquals(2 * TRIP_NS, world.nowNs() - startNs, "two round trips");
        assertEquals(21, lease.fencingToken(), "the highest value in range");
        assertEquals(OUT_OF_RANGE, ((AcquireOutcome) lease).voteText(2));
        assertEquals(2, ((AcquireOutcome) lease).grantedCount(), "that grant does not count");
        release(lease);
        world.runMs(5);
        assertEquals(List.of(21L, 21L, END - 1), List.of(counter(0), counter(1), counter(2)), "no counter was raised");
        assertEquals(0, keyCount(), "released on that node too");
    }

    @ParameterizedTest
    @ValueSource(longs = {Long.MAX_VALUE, END + 1, END})
    void aReplyThatIsNoCounterValueIsNotAGrant(long answer) {
        nodesWithCounters(7, 20, 1);
        node(2).redis().fencedReply(value -> answer);
        Lease lease = acquired(acquire(client, fenced()));
        assertEquals(21, lease.fencingToken(), "from the other two nodes");
        assertEquals(OUT_OF_RANGE, ((AcquireOutcome) lease).voteText(2));
        release(lease);
        world.runMs(5);
        assertEquals(List.of(21L, 21L), List.of(counter(0), counter(1)), "no counter was raised");
        assertEquals(0, keyCount(), "released on that node too");
    }

    /** Decreasing values, repeated values and invalid refusals: the other two nodes still give growing tokens. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 0, -1, -END, -END - 1, Long.MIN_VALUE, Long.MIN_VALUE + 1})
    void anyReplyOfOneNodeLeavesTheOthersUsable(long answer) {
        nodesWithCounters(70, 70, 1);
        node(2).redis().fencedReply(value -> answer);
        for (int i = 71; i < 80; i++) {
            assertEquals(i, acquiredAndReleased().fencingToken(), "two agree");
        }
        assertEquals(List.of(79L, 79L), List.of(counter(0), counter(1)), "no counter was raised");
    }

    /** With one good node left, no quorum shows which of the two is wrong: no token, and no raise. */
    @Test
    void aNodeOutOfRangeDoesNotCountForAQuorum() {
        nodesWithCounters(7, 7, END - 10);
        node(1).pause();
        AcquireOutcome outcome = acquire(client, fenced());
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
        assertEquals(OUT_OF_RANGE, outcome.voteText(2));
        assertEquals(1, outcome.grantedCount(), outcome::toString);
        assertEquals(0, client.redlock().counters().raisedCount(), "no raise was sent");
        world.runMs(5);
        assertEquals(8, counter(0), "no counter was raised");
    }

    @Test
    void aRefusedAttemptRaisesNoCounterOutOfRange() {
        nodesWithCounters(7, 7, END - 10);
        node(0).redis().set("orders", "foreign", -1);
        node(1).redis().set("orders", "foreign", -1);
        node(1).delay(() -> 3_000_000);
        AcquireOutcome outcome = acquire(client, fenced());
        assertEquals(1, outcome.grantedCount(), "the wrong value arrives before the last refusal");
        assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind(), outcome::toString);
        world.runMs(10);
        assertEquals(List.of(7L, 7L), List.of(counter(0), counter(1)), "no counter was raised");
    }

    /** Only the wrong value has arrived when the caller cancels; the others arrive after the release. */
    @Test
    void aCancelledAttemptRaisesNoCounterOutOfRange() {
        nodesWithCounters(7, 7, END - 10);
        node(0).delay(() -> 10_000_000);
        node(1).delay(() -> 10_000_000);
        CompletableFuture<AcquireOutcome> outcome = acquireAsync(client, fenced());
        world.runMs(5);
        outcome.cancel(false);
        world.runMs(100);
        assertEquals(List.of(8L, 8L), List.of(counter(0), counter(1)), "no counter was raised");
        assertEquals(0, keyCount(), "rolled back");
    }

    @Test
    void aLateReplyOutOfRangeRaisesNoCounter() {
        nodesWithCounters(7, 7, END - 10);
        node(2).delay(() -> 5_000_000);
        Lease lease = acquired(acquire(client, fenced()));
        world.runMs(20);
        release(lease);
        world.runMs(20);
        assertEquals(List.of(8L, 8L, END - 9), List.of(counter(0), counter(1), counter(2)), "no counter was raised");
        assertEquals(0, keyCount(), "released");
    }

    @Test
    void aReleaseBatchRaisesNoCounterOutOfRange() {
        nodesWithCounters(7, 9, END - 10);
        List<Lease> leases = new ArrayList<>(List.of(acquired(acquire(client, fenced()))));
        for (int i = 0; i < 3; i++) {
            String resource = "other/" + i;
            node(2).redis().set(KeyText.counterName(resource), Long.toString(END - 10), -1);
            leases.add(acquired(get(client.redlock().acquireAsync(resource, fenced()))));
        }
        leases.forEach(Lease::releaseAsync);
        world.runMs(10);
        assertEquals(1, node(0).redis().commandCount("release_many_fenced"), "in one call");
        assertEquals(List.of(10L, 10L), List.of(counter(0), counter(1)), "no counter was raised");
        assertTrue(node(0).redis().counter("other/1") < 2 * seed(), "nor for another resource");
    }

    /** A lost counter restarts from its node's clock, which is valid, and the others are raised to it. */
    @Test
    void aCounterSeededFromTheClockIsInRange() {
        nodesWithCounters(7, 20, 30);
        node(2).redis().loseCounters();
        node(2).redis().clockJump(1);
        long seed = node(2).redis().counterSeed();
        assertEquals(seed, acquired(acquire(client, fenced())).fencingToken(), "raised to the value of the clock");
    }

    /** The range ends an hour after the clocks. */
    @ParameterizedTest
    @ValueSource(ints = {3_598, 3_602})
    void theRangeEndsOneHourAfterTheClocks(int seconds) {
        nodesWithCounters(7, 20, 1);
        counter(2, seed() + seconds * SECOND);
        boolean isInRange = seconds <= 3_600;
        long token = acquired(acquire(client, fenced())).fencingToken();
        assertEquals(isInRange ? counter(2) : 21, token, "raised");
    }

    /** Node 1 was disconnected and lags; node 2 is down. The clocks show that the value of node 0 is valid. */
    @Test
    void aLongDisconnectedNodeIsRaised() {
        nodesWithCounters(1, 20, 20);
        counter(0, seed() - 86_400 * SECOND);
        node(2).pause();
        Lease lease = acquired(acquire(client, fenced()));
        assertEquals(seed() - 86_400 * SECOND + 1, lease.fencingToken(), "the higher value");
        assertEquals(counter(0), counter(1), "raised");
    }

    /** A node with a wrong counter may have a wrong clock too. */
    @Test
    void aNodesOwnClockAloneDoesNotExtendTheRange() {
        world = new VirtualWorld(3);
        eachNode(node -> node.delay(() -> TRIP_NS / 2));
        node(2).redis().clockJump(100L * 365 * 86_400_000);
        client = client();
        counter(0, 7);
        counter(1, 20);
        counter(2, seed() + 50L * 365 * 86_400 * SECOND);
        assertEquals(21, acquired(acquire(client, fenced())).fencingToken(), "from the other two nodes");
    }

    @Test
    void aSlowClockPutsNoCounterOutOfRange() {
        world = new VirtualWorld(3);
        eachNode(node -> node.delay(() -> TRIP_NS / 2));
        node(2).redis().clockJump(-20L * 365 * 86_400_000);
        client = client();
        counter(0, seed() + 5);
        counter(1, seed() + 5_000_000);
        counter(2, 7);
        long token = seed() + 5_000_001;
        assertEquals(token, acquired(acquire(client, fenced())).fencingToken(), "raised to the highest");
    }

    /** The value of a majority is accepted whatever its cause, so the lock works up to the largest value. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void aMajorityOfCountersBeyondTheClocksIsAccepted(int lagging) {
        nodesWithCounters(END - 5_000, END - 5_000, END - 5_000);
        counter(lagging, 7);
        for (int i = 1; i < 9; i++) {
            assertEquals(END - 5_000 + i, acquiredAndReleased().fencingToken(), "two agree");
        }
        assertEquals(END - 5_000 + 8, counter(lagging), "the third was raised");
    }

    @Test
    void slightlyDifferentCountersBeyondTheClocksAreRaised() {
        nodesWithCounters(END - 5_000, END - 4_500, 7);
        node(2).pause();
        assertEquals(END - 4_499, acquired(acquire(client, fenced())).fencingToken(), "within a thousand");
    }

    @Test
    void twoOfFiveCountersOutOfRangeDoNotPreventGrants() {
        nodesWithCounters(7, END - 10, 20, END - 5, 30);
        Lease lease = acquired(acquire(client, fenced()));
        assertEquals(31, lease.fencingToken(), "from the other three nodes");
        assertEquals(List.of(OUT_OF_RANGE, OUT_OF_RANGE),
                List.of(((AcquireOutcome) lease).voteText(1), ((AcquireOutcome) lease).voteText(3)));
        release(lease);
        world.runMs(5);
        assertEquals(List.of(31L, 31L, 31L), List.of(counter(0), counter(2), counter(4)), "the counters agree");
        assertEquals(32, acquiredAndReleased().fencingToken(), "the next one");
    }

    /** Each node has its own counter, and a single node has no other to compare with. */
    @Test
    void aSingleNodeIsAlwaysAccepted() {
        nodesWithCounters(END - 10);
        assertEquals(END - 9, acquired(acquire(client, fenced())).fencingToken());
    }

    @Test
    void aCounterOutOfRangeIsLoggedOnceAMinute() {
        nodesWithCounters(7, 20, END - 1_000);
        try (LogLines log = new LogLines()) {
            for (int i = 0; i < 5; i++) {
                acquiredAndReleased();
            }
            List<String> warnings = log.with(Level.WARNING, "");
            assertEquals(1, warnings.size(), warnings::toString);
            assertTrue(warnings.get(0).contains("node 2") && warnings.get(0).contains(Long.toString(END - 999))
                    && warnings.get(0).contains("out of range"), warnings::toString);
            world.runMs(60_000);
            acquiredAndReleased();
            assertEquals(2, log.with(Level.WARNING, "").size(), () -> log.with("").toString());
            world.runMs(59_000);
            acquiredAndReleased();
            assertEquals(2, log.with(Level.WARNING, "").size(), () -> log.with("").toString());
        }
    }

    /** It connects while most nodes are down, so it knows too few clocks to find any counter wrong. */
    @Test
    void aClientThatKnowsTooFewClocksReportsNoCounter() {
        world = new VirtualWorld(5);
        for (int i = 2; i < 5; i++) {
            node(i).pause();
        }
        client = client();
        try (LogLines log = new LogLines()) {
            AcquireOutcome outcome = acquire(client, fenced());
            assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
            world.runMs(200);
            assertEquals(seed(), counter(0), "the node has granted");
            assertEquals(List.of(), log.with("out of range"));
        }
        assertEquals(0, keyCount(), "rolled back");
    }

    @ParameterizedTest
    @ValueSource(strings = {"orders", "{orders}/7", "a\nb"})
    void theWarningNamesTheCounter(String resource) {
        nodesWithCounters(7, 7, 7);
        counters(resource, 7, 20, END - 1_000);
        try (LogLines log = new LogLines()) {
            acquired(get(client.redlock().acquireAsync(resource, fenced())));
            world.settle();
            String counter = KeyText.counterName(resource).replace("\n", "\\n");
            assertEquals(1, log.with(Level.WARNING, "its counter " + counter + " at ").size(),
                    () -> log.with("").toString());
        }
    }

    @Test
    void theWarningNamesAllCountersOfASet() {
        nodesWithCounters(7, 20, END - 1_000);
        counters("stock", 7, 20, 30);
        try (LogLines log = new LogLines()) {
            ResourceKey set = client.redlock().keyOfAll(List.of("orders", "stock"));
            acquired(get(client.redlock().acquireAsync(set, fenced())));
            world.settle();
            String counters = "its counter orders:redlock:fence:{orders}, stock:redlock:fence:{stock} at ";
            assertEquals(1, log.with(Level.WARNING, counters).size(), () -> log.with("").toString());
        }
    }

    /** The handler runs after the decision, so it may end the lease or the acquisition. */
    @ParameterizedTest
    @CsvSource({"7, 20, 2", "7, 7, 2", "7, 7, 0", "7, 20, 0"})
    void aLogHandlerMayCloseTheLease(long first, long second, int outOfRange) {
        nodesWithCounters(first, second, END - 1_000);
        if (outOfRange == 0) {
            counter(0, END - 1_000);
            counter(2, first);
        }
        Lease lease = client.redlock().newLease();
        List<Throwable> thrown = new ArrayList<>();
        withHandler(() -> {
            try {
                lease.close();
            } catch (Throwable e) {
                thrown.add(e);
                throw e;
            }
        }, () -> {
            client.redlock().acquire(client.redlock().key("orders"), fenced(), lease, outcome -> {
            });
            world.runMs(100);
        });
        assertEquals(List.of(), thrown);
        for (int i = 0; i < 3; i++) {
            assertEquals(0, status(client, i).disconnectCount(), "node " + i);
        }
        assertFalse(lease.isHeld());
        assertEquals(0, keyCount());
    }

    /** A log handler that throws must not keep an attempt from ending. */
    @Test
    void aLogHandlerThatThrowsChangesNothing() {
        nodesWithCounters(7, 20, END - 1_000);
        withHandler(() -> {
            throw new IllegalStateException("the disk is full");
        }, () -> assertEquals(21, acquiredAndReleased().fencingToken()));
    }

    /** Runs a task with a handler of each warning. */
    private static void withHandler(Runnable onWarning, Runnable task) {
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord record) {
                onWarning.run();
            }

            @Override
            public void flush() {
                // Nothing is buffered.
            }

            @Override
            public void close() {
                // There is nothing to close.
            }
        };
        Logger logger = Logger.getLogger("dev.redlock");
        Level level = logger.getLevel();
        logger.setLevel(Level.WARNING);
        logger.addHandler(handler);
        logger.setUseParentHandlers(false);
        try {
            task.run();
        } finally {
            logger.setUseParentHandlers(true);
            logger.removeHandler(handler);
            logger.setLevel(level);
        }
    }
}
