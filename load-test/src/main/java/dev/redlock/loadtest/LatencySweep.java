package dev.redlock.loadtest;

import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.driver.LockSession;
import dev.redlock.loadtest.nodes.NodeAddress;
import dev.redlock.loadtest.nodes.RedisNode;
import dev.redlock.loadtest.nodes.RedisNodes;
import dev.redlock.loadtest.rig.LoadPlan;
import dev.redlock.loadtest.rig.LoadResult;
import dev.redlock.loadtest.rig.LoadTestRig;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Measures one driver at several node counts, alone and under load, and checks at each count that rivals for the same
 * resources exclude each other.
 *
 * @threading any thread; {@link #run} once, {@link #cancel} at any time
 */
final class LatencySweep {
    private static final int RIVALS = 8;
    private static final int CONTESTED = 2;
    private static final Duration RIVALRY = Duration.ofMillis(500);
    private static final Duration HOLD = Duration.ofMillis(1);

    private final LatencyOptions options;
    private final RedisNodes nodes;
    private final LockDriver driver;
    private final String keyPrefix;
    private final List<SweepRow> rows = new ArrayList<>();
    private final List<String> failures = new ArrayList<>();
    private long contestedHoldings;
    private long doneMs;
    private boolean isCancelled;
    private LoadTestRig rig;
    private Progress progress;

    LatencySweep(LatencyOptions options, RedisNodes nodes) {
        this.options = options;
        this.nodes = nodes;
        this.driver = Drivers.named(options.driver());
        this.keyPrefix = "load-test:" + Long.toHexString(System.nanoTime()) + ":";
    }

    /** What the phases take, as far as can be told before. */
    static long totalMs(LatencyOptions options) {
        long one = options.warmup().plus(options.duration()).toMillis();
        long perCount = one * options.outstanding().size() + RIVALRY.toMillis();
        return options.jvmWarmup().toMillis() + perCount * options.nodeCounts().size();
    }

    void run(Progress shown) throws IOException, InterruptedException {
        progress = shown;
        warmUp();
        for (int nodeCount : options.nodeCounts()) {
            measure(nodeCount);
            contest(nodeCount);
        }
    }

    private void warmUp() throws IOException, InterruptedException {
        if (options.jvmWarmup().isZero()) {
            return;
        }
        int nodeCount = options.nodesMax();
        progress.onPhase("warming up on " + nodeCount + " nodes");
        try (LockSession session = open(nodeCount)) {
            run(uncontended(Collections.max(options.outstanding()), Duration.ZERO, options.jvmWarmup()),
                    List.of(session));
        }
    }

    private void measure(int nodeCount) throws IOException, InterruptedException {
        try (LockSession session = open(nodeCount)) {
            for (int outstanding : options.outstanding()) {
                progress.onPhase("N = " + nodeCount + ", " + outstanding + " outstanding");
                LoadResult result = run(uncontended(outstanding, options.warmup(), options.duration()),
                        List.of(session));
                rows.add(new SweepRow(nodeCount, result));
                fail("N = " + nodeCount + ", " + outstanding + " outstanding: ", result);
            }
        }
    }

    /** Two clients, so that the servers decide and not a queue inside one client. */
    private void contest(int nodeCount) throws IOException, InterruptedException {
        progress.onPhase("N = " + nodeCount + ", exclusion check");
        try (LockSession one = open(nodeCount); LockSession two = open(nodeCount)) {
            LoadPlan plan = LoadPlan.closed(RIVALS)
                    .resources(CONTESTED)
                    .hold(HOLD)
                    .duration(RIVALRY)
                    .ttl(options.ttl())
                    .keyPrefix(keyPrefix + "contested:");
            LoadResult result = run(plan, List.of(one, two));
            contestedHoldings += result.tally().holdings();
            fail("N = " + nodeCount + ", exclusion check: ", result);
        }
    }

    private LoadPlan uncontended(int outstanding, Duration warmup, Duration duration) {
        return LoadPlan.closed(outstanding).warmup(warmup).duration(duration).ttl(options.ttl()).keyPrefix(keyPrefix);
    }

    private LockSession open(int nodeCount) throws IOException, InterruptedException {
        List<NodeAddress> addresses = nodes.nodes().subList(0, nodeCount).stream().map(RedisNode::address).toList();
        return driver.open(addresses, options.isFresh());
    }

    private LoadResult run(LoadPlan plan, List<LockSession> sessions) throws InterruptedException {
        LoadTestRig next = begin(new LoadTestRig(plan, sessions));
        LoadResult result = next.run((elapsedNs, isMeasuring) -> progress.onElapsed(doneMs + elapsedNs / 1_000_000));
        doneMs += plan.warmup().plus(plan.duration()).toMillis();
        progress.onElapsed(doneMs);
        return result;
    }

    private synchronized LoadTestRig begin(LoadTestRig next) throws InterruptedException {
        if (isCancelled) {
            throw new InterruptedException("the sweep was cancelled");
        }
        rig = next;
        return next;
    }

    /** Ends the sweep early; {@link #run} throws. */
    synchronized void cancel() {
        isCancelled = true;
        if (rig != null) {
            rig.cancel();
        }
    }

    private void fail(String where, LoadResult result) {
        result.failures().forEach(failure -> failures.add(where + failure));
    }

    List<SweepRow> rows() {
        return rows;
    }

    List<String> failures() {
        return failures;
    }

    String exclusion() {
        return contestedHoldings + " holdings of contested resources (" + RIVALS + " rivals of 2 clients for "
                + CONTESTED + " resources at each N)";
    }
}
