package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.RedlockCounters;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.NodeState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.cli.AdminClient;
import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import io.netty.util.internal.PlatformDependent;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import javax.management.JMException;
import javax.management.ObjectName;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Operations that end in every way, thousands at once, leave nothing behind: neither on the heap nor in direct memory.
 * {@code -Dtests.churn=1000000} runs a million of them.
 */
@Isolated("it counts all objects of the process")
@Timeout(300)
class ChurnTest {

    private static final long OPERATIONS = Long.getLong("tests.churn", 200_000);
    private static final int PARTS = 5;
    /** After these all pools have what they need. */
    private static final int WARM_UP_PARTS = 2;
    /** Fewer than a paused node would be sent: in every part this limit is reached, and releases become a debt. */
    private static final int NODE_IN_FLIGHT_MAX = 4_096;

    /** The smallest object is as big: not even that may be left of every operation. */
    private static final long HEAP_BYTES_PER_OPERATION_MAX = 16;
    /** Instances of one class for each operation: nearly every way to end takes more of the operations than this. */
    private static final double INSTANCES_PER_OPERATION_MAX = 1 / 30.0;
    /**
     * An attempt is pooled, and not free before its last answer is in. So there are at most as many as answers may be
     * due, and each time that more are due than at any earlier time, the pool grows by an attempt and its parts.
     */
    private static final String ATTEMPT = "dev.redlock.engine.Claim";
    private static final int ATTEMPT_BYTES_MAX = 1_024;
    private static final int ATTEMPT_PARTS_MAX = 4;
    /** What Netty takes from the machine at once. */
    private static final long CHUNK_BYTES = 4 << 20;
    /** Each node and the loop hold a buffer or two. */
    private static final long PINNED_BYTES_MAX = 256 << 10;

    private ResourceLeakDetector.Level levelBefore;
    private RedisNodes nodes;
    private Redlock redlock;

    @BeforeEach
    void start() {
        // The leak detector of the test run records each buffer, which is what this test must not count.
        levelBefore = ResourceLeakDetector.getLevel();
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
        nodes = RequiredNodes.start(Source.PATH, 3);
        redlock = Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .connectTimeout(Duration.ofSeconds(20))
                .unansweredTimeout(Duration.ofSeconds(20))
                .clockSampleInterval(Duration.ofSeconds(60))
                // Of a ttl of 1 s, 12 ms are taken off, however seldom the clock is read.
                .drift(0, Duration.ofMillis(12))
                .nodeBackPressure(NODE_IN_FLIGHT_MAX, 1 << 20)
                .nodeTimeout(Duration.ofMillis(500)));
    }

    @AfterEach
    void close() {
        ResourceLeakDetector.setLevel(levelBefore);
        if (redlock != null) {
            redlock.close();
        }
        if (nodes != null) {
            nodes.close();
        }
    }

    @Test
    void memoryStaysFlatOverAMillionOperationsWithEveryOutcome() throws Exception {
        blockSplitResources();
        ChurnLanes lanes = new ChurnLanes(redlock);
        List<Reading> readings = new ArrayList<>();
        long startNs = System.nanoTime();
        for (int part = 0; part < PARTS; part++) {
            churn(lanes, OPERATIONS / PARTS);
            readings.add(Reading.now(lanes.done()));
            System.out.printf("%d in flight, %s%n", lanes.inFlight(), readings.get(part));
        }
        System.out.printf("in %d ms: %s%n", TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs),
                Arrays.stream(AcquireOutcome.Kind.values())
                        .map(kind -> kind + " " + redlock.counters().outcomeCount(kind))
                        .toList());
        assertEveryWayWasGone();
        assertTrue(lanes.silentCount() > 0, "no node was silent for too long");
        readings.get(PARTS - 1).assertFlatSince(readings.get(WARM_UP_PARTS - 1));
    }

    /** One part: a node is silent in the middle of it. At its end no operation and no release is pending. */
    private void churn(ChurnLanes lanes, long count) throws Exception {
        long doneBefore = lanes.done();
        long silentBefore = lanes.silentCount();
        lanes.begin(count);
        Await.until("a third of the part", () -> lanes.isOver() || lanes.done() - doneBefore > count / 3);
        nodes.node(2).pause();
        try {
            Await.until("what a silent node decides", () -> lanes.isOver()
                    || lanes.silentCount() - silentBefore >= ChurnLanes.splitCount() / 2);
        } finally {
            nodes.node(2).resume();
        }
        Await.until("the end of the part", lanes::isOver);
        lanes.check();
        Await.until("all nodes ready and nothing owed", () -> redlock.nodes()
                .stream()
                .allMatch(node -> node.state() == NodeState.READY && node.undeliveredReleaseCount() == 0));
        Await.until("no buffer in use that is not kept", () -> pinnedBytes() <= PINNED_BYTES_MAX);
        assertTrue(lanes.done() - doneBefore >= count, "operations are missing");
        assertEquals(0, redlock.nodes().stream().mapToLong(NodeStatus::undeliveredReleaseDroppedCount).sum(),
                "releases dropped");
    }

    private static long pinnedBytes() {
        return PooledByteBufAllocator.DEFAULT.pinnedDirectMemory();
    }

    private void blockSplitResources() throws Exception {
        try (AdminClient redis = AdminClient.connect(nodes.node(0).address(), Duration.ofSeconds(10))) {
            for (int i = 0; i < ChurnLanes.splitCount(); i++) {
                assertEquals("OK", redis.call("SET", ChurnLanes.split(i), "somebody"));
            }
        }
    }

    private void assertEveryWayWasGone() {
        RedlockCounters counters = redlock.counters();
        for (AcquireOutcome.Kind kind : List.of(AcquireOutcome.Kind.ACQUIRED, AcquireOutcome.Kind.CONTENDED,
                AcquireOutcome.Kind.TOO_SLOW, AcquireOutcome.Kind.TIMED_OUT,
                AcquireOutcome.Kind.CANCELLED)) {
            assertTrue(counters.outcomeCount(kind) > 0, () -> "none ended as " + kind + ": " + counters);
        }
        assertTrue(counters.rolledBackCount() > 0, counters::toString);
    }

    /**
     * What lives after a collection.
     *
     * @param operations  that have ended
     * @param heapBytes   all objects
     * @param directBytes what Netty has taken from the machine
     * @param pinnedBytes what of it is in use
     * @param instances   of this project's, Netty's and the collections' classes, by name, pooled ones among them
     */
    private record Reading(long operations, long heapBytes, long directBytes, long pinnedBytes,
            Map<String, Long> instances) {
        static Reading now(long operations) throws JMException {
            // Collects garbage, and counts the live bytes.
            String histogram = (String) ManagementFactory.getPlatformMBeanServer()
                    .invoke(new ObjectName("com.sun.management:type=DiagnosticCommand"), "gcClassHistogram",
                            new Object[]{new String[0]}, new String[]{String[].class.getName()});
            Map<String, Long> instances = new TreeMap<>();
            long bytes = 0;
            for (String line : histogram.split("\n")) {
                String[] columns = line.trim().split(" +");
                if (columns[0].matches("\\d+:")) {
                    bytes += Long.parseLong(columns[2]);
                    // The readings are trees themselves, with an entry for each class that this JVM has loaded so far.
                    if (columns[3].matches("(dev\\.redlock|io\\.netty|java\\.util)\\..*")
                            && !columns[3].equals("java.util.TreeMap$Entry")) {
                        instances.merge(columns[3], Long.parseLong(columns[1]), Long::sum);
                    }
                }
            }
            return new Reading(operations, bytes, PlatformDependent.usedDirectMemory(),
                    ChurnTest.pinnedBytes(), instances);
        }

        void assertFlatSince(Reading before) {
            long measured = operations - before.operations;
            long attempts = instances.get(ATTEMPT);
            assertTrue(attempts <= 3 * NODE_IN_FLIGHT_MAX, () -> attempts + " attempts are more than may wait");
            long attemptsMore = Math.max(0, attempts - before.instances.get(ATTEMPT));
            assertBelow("heap", before.heapBytes, heapBytes,
                    HEAP_BYTES_PER_OPERATION_MAX * measured + ATTEMPT_BYTES_MAX * attemptsMore);
            assertBelow("direct memory", before.directBytes, directBytes, CHUNK_BYTES);
            long instancesMore = (long) (INSTANCES_PER_OPERATION_MAX * measured) + ATTEMPT_PARTS_MAX * attemptsMore;
            instances.forEach((name, count) -> assertBelow("instances of " + name,
                    before.instances.getOrDefault(name, 0L), count, instancesMore));
        }

        private static void assertBelow(String what, long before, long after, long growthMax) {
            assertTrue(after - before <= growthMax, () -> what + " grew from " + before + " to " + after
                    + ", and at most " + growthMax + " more are allowed");
        }

        @Override
        public String toString() {
            return operations + " operations: " + heapBytes + " B of heap, " + directBytes + " B direct, " + pinnedBytes
                    + " B of it in use, " + instances.get(ATTEMPT) + " attempts";
        }
    }
}
