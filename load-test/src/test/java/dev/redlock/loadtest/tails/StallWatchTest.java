package dev.redlock.loadtest.tails;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.redlock.cli.AdminClient;
import dev.redlock.loadtest.rig.SlowCycles;
import dev.redlock.loadtest.rig.SlowCycles.Slow;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What real threads and servers do is found, also on a busy machine, where they wait for a core instead. */
class StallWatchTest {
    private static final long MS = 1_000_000;
    private static final double SHARE_MIN = 0.6;

    @BeforeAll
    static void requireTimes() {
        assumeTrue(TaskClock.isAvailable(), "this machine does not count the times of threads");
    }

    @Test
    void aServerThatComputesIsFound() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(1))) {
            RedisNode node = nodes.nodes().get(0);
            StallWatch watch = new StallWatch("no-such-thread", List.of(node.pid().orElseThrow()),
                    new SlowCycles(MS));
            Slow cycle;
            try (watch; AdminClient redis = node.connect()) {
                long fromNs = System.nanoTime();
                redis.call("EVAL", "local t = redis.call('TIME'); local from = t[1] * 1000000 + t[2]; repeat t = "
                        + "redis.call('TIME') until t[1] * 1000000 + t[2] - from > 200000; return 1", "0");
                cycle = new Slow(fromNs, fromNs, System.nanoTime());
            }
            Map<Cause, Long> times = watch.coreSamples().timesOf(cycle);
            long serverNs = times.get(Cause.SERVER_BUSY) + times.get(Cause.SERVER_CORE);
            assertTrue(cycle.latencyNs() >= 200 * MS && serverNs >= cycle.latencyNs() * SHARE_MIN,
                    () -> times + " of " + cycle.latencyNs());
            assertEquals(0, times.get(Cause.CLIENT_BUSY));
        }
    }

    @Test
    void anEventLoopThatComputesIsFound() throws Exception {
        CountDownLatch started = new CountDownLatch(1);
        CountDownLatch watched = new CountDownLatch(1);
        long[] span = new long[2];
        Thread loop = new Thread(() -> {
            started.countDown();
            try {
                watched.await();
            } catch (InterruptedException e) {
                return;
            }
            span[0] = System.nanoTime();
            while (System.nanoTime() - span[0] < 200 * MS) {
                Thread.onSpinWait();
            }
            span[1] = System.nanoTime();
        }, "stall-test-loop");
        loop.start();
        started.await();
        StallWatch watch = new StallWatch("stall-test-loop", List.of(), new SlowCycles(MS));
        try (watch) {
            watched.countDown();
            loop.join();
        }
        Slow cycle = new Slow(span[0], span[0], span[1]);
        Map<Cause, Long> times = watch.coreSamples().timesOf(cycle);
        long loopNs = times.get(Cause.CLIENT_BUSY) + times.get(Cause.CLIENT_CORE);
        assertTrue(loopNs >= cycle.latencyNs() * SHARE_MIN, () -> times + " of " + cycle.latencyNs());
        assertEquals(0, times.get(Cause.SERVER_BUSY));
    }

    @Test
    void aCollectionIsFound() throws Exception {
        try (JvmPauses pauses = new JvmPauses()) {
            // The stream starts on a thread of its own.
            pauses.await();
            Map<Cause, Long> times = new EnumMap<>(Cause.class);
            long fromNs = System.nanoTime();
            System.gc();
            long toNs = System.nanoTime();
            pauses.await();
            pauses.addTo(times, fromNs - MS, toNs + MS);
            assertTrue(times.getOrDefault(Cause.COLLECTOR, 0L) > 0, times::toString);
            Map<Cause, Long> later = new EnumMap<>(Cause.class);
            pauses.addTo(later, toNs + 1_000_000 * MS, toNs + 2_000_000 * MS);
            assertTrue(later.values().stream().allMatch(ns -> ns == 0), later::toString);
        }
    }
}
