package dev.redlock.loadtest;

import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.faults.FaultProxy;
import dev.redlock.loadtest.nodes.NodeAddress;
import dev.redlock.loadtest.nodes.RedisNode;
import dev.redlock.loadtest.nodes.RedisNodes;
import dev.redlock.loadtest.result.Interval;
import dev.redlock.loadtest.result.IntervalLog;
import dev.redlock.loadtest.result.RunFolder;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.rig.LoadPlan;
import dev.redlock.loadtest.rig.LoadResult;
import dev.redlock.loadtest.rig.LoadTestRig;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.HdrHistogram.Histogram;

/**
 * What the commands measure with: nodes, near or far, clients on them, one rig after another, and what they found.
 *
 * @threading caller-confined, except for {@link #cancel}
 */
final class Lab implements AutoCloseable {
    private static final int RIVALS = 8;
    private static final int CONTESTED = 2;
    private static final Duration RIVALRY = Duration.ofMillis(500);
    private static final Duration RIVAL_HOLD = Duration.ofMillis(1);

    private final NodeOptions nodeOptions;
    private final ClientOptions clientOptions;
    private final LoadOptions loadOptions;
    private final RedisNodes nodes;
    private List<NodeAddress> addresses;
    private final List<FaultProxy> proxies = new ArrayList<>();
    private final RunFolder folder;
    private final Progress progress;
    private final long zeroNs = System.nanoTime();
    private final String keyPrefix = "load-test:" + Long.toHexString(zeroNs) + ":";
    private final List<SeriesResult> series = new ArrayList<>();
    private final List<String> notes = new ArrayList<>();
    private final List<String> failures = new ArrayList<>();
    private int planCount;
    private long contestedHoldings;
    private long doneMs;
    private boolean isCancelled;
    private LoadTestRig rig;

    Lab(NodeOptions nodeOptions, ClientOptions clientOptions, LoadOptions loadOptions, RedisNodes nodes,
            RunFolder folder, Progress progress) {
        this.nodeOptions = nodeOptions;
        this.clientOptions = clientOptions;
        this.loadOptions = loadOptions;
        this.folder = folder;
        this.progress = progress;
        this.nodes = nodes;
        this.addresses = reach(nodeOptions.delays());
    }

    /** Where all nodes are reached with these delays. Proxies live until the lab is closed. */
    List<NodeAddress> reach(NodeDelays delays) {
        List<NodeAddress> reached = new ArrayList<>();
        nodes.nodes().forEach(node -> reached.add(reach(node, delays)));
        return reached;
    }

    /** From now on clients are opened on these addresses. */
    void use(List<NodeAddress> reached) {
        addresses = reached;
    }

    private NodeAddress reach(RedisNode node, NodeDelays delays) {
        if (nodeOptions.isUnixSockets()) {
            return NodeAddress.parse("unix://" + node.unixSocket().orElseThrow());
        }
        Duration delay = delays.of(node.index());
        if (delay.isZero()) {
            return node.address();
        }
        FaultProxy proxy = FaultProxy.open(node.address());
        proxies.add(proxy);
        proxy.slow(delay);
        return node.address().at(proxy.address());
    }

    /** Opens as many clients as the options say. */
    Clients open(LockDriver driver, int nodeCount) throws IOException, InterruptedException {
        return open(driver, nodeCount, clientOptions.clients());
    }

    private Clients open(LockDriver driver, int nodeCount, int clientCount) throws IOException, InterruptedException {
        Clients clients = new Clients();
        try {
            for (int i = 0; i < clientCount; i++) {
                clients.add(driver.open(
                        clientOptions.session(addresses.subList(0, nodeCount), nodeOptions.isFresh())));
            }
            return clients;
        } catch (IOException | InterruptedException | RuntimeException e) {
            clients.close();
            throw e;
        }
    }

    /** Load on every driver that nobody records, so that the compiler is done when the recording begins. */
    void warmUp() throws IOException, InterruptedException {
        if (loadOptions.jvmWarmup().isZero()) {
            return;
        }
        int nodeCount = nodeOptions.countMax();
        for (LockDriver driver : clientOptions.drivers()) {
            progress.onPhase("warming up " + driver.name() + " on " + nodeCount + " nodes");
            try (Clients clients = open(driver, nodeCount)) {
                run(loadOptions.warmUpPlan(clientOptions.isFenced()), clients, IntervalLog.NONE, SeriesWatch.NONE);
            }
        }
    }

    /** Where the first so many nodes are reached. */
    List<NodeAddress> addresses(int nodeCount) {
        return List.copyOf(addresses.subList(0, nodeCount));
    }

    /** Begins the names of the keys of one plan, and of no other. */
    String freshKeyPrefix() {
        return keyPrefix + planCount++ + ":";
    }

    /** Something that another process does begins here. */
    void begin(String title) {
        progress.onPhase(title);
    }

    /** It goes on. */
    void tick(long sinceBeginMs) {
        progress.onElapsed(doneMs + sinceBeginMs);
    }

    /** It took so long, by the plan. */
    void end(long plannedMs) {
        doneMs += plannedMs;
        progress.onElapsed(doneMs);
    }

    /** A series that another process has measured. */
    void add(SeriesResult one) {
        series.add(one);
    }

    /** Measures one step of the load as the options say. */
    LoadResult measure(SeriesSpec spec, LockDriver driver, Clients clients) throws InterruptedException {
        LoadPlan plan = loadOptions.plan(spec, driver, clientOptions.isFenced());
        return measure(spec, plan, clients, LoadResult::failures, SeriesWatch.NONE);
    }

    /** Measures one series; {@code judge} says why it does not count, if it does not. */
    LoadResult measure(SeriesSpec spec, LoadPlan plan, Clients clients, Function<LoadResult, List<String>> judge,
            SeriesWatch watch) throws InterruptedException {
        progress.onPhase(spec.title());
        Map<String, Long> before = clients.counters();
        LoadResult result;
        try (IntervalLog log = folder.log(spec)) {
            result = run(plan, clients, log, watch);
        }
        Map<String, Long> counters = new LinkedHashMap<>();
        clients.counters().forEach((name, count) -> counters.put(name, count - before.getOrDefault(name, 0L)));
        List<String> why = new ArrayList<>(judge.apply(result));
        why.addAll(watch.failures());
        series.add(result.series(spec, counters, watch.samples(), why));
        return result;
    }

    /** Rivals of two clients for the same resources: the servers decide, and not a queue inside one client. */
    void contest(LockDriver driver, int nodeCount) throws IOException, InterruptedException {
        String title = driver.name() + ", N = " + nodeCount + ", exclusion check";
        progress.onPhase(title);
        try (Clients clients = open(driver, nodeCount, 2)) {
            LoadPlan plan = LoadPlan.closed(RIVALS)
                    .resources(CONTESTED)
                    .hold(RIVAL_HOLD)
                    .duration(RIVALRY)
                    .ttl(loadOptions.ttl())
                    .fenced(clientOptions.isFenced());
            LoadResult result = run(plan, clients, IntervalLog.NONE, SeriesWatch.NONE);
            contestedHoldings += result.tally().holdings();
            result.failures().forEach(failure -> failures.add(title + ": " + failure));
        }
    }

    /** How long {@link #contest} takes. */
    static long contestMs() {
        return RIVALRY.toMillis();
    }

    private LoadResult run(LoadPlan plan, Clients clients, IntervalLog log, SeriesWatch watch)
            throws InterruptedException {
        LoadPlan own = plan.keyPrefix(freshKeyPrefix()).costMeasured(proxies.isEmpty());
        LoadTestRig next = begin(new LoadTestRig(own, clients.sessions()));
        LoadResult result = next.run((elapsedNs, isMeasuring) -> {
            progress.onElapsed(doneMs + elapsedNs / 1_000_000);
            watch.onProgress(offsetMs(), isMeasuring);
        }, new WatchedLog(log, watch), zeroNs);
        doneMs += plan.warmup().plus(plan.duration()).toMillis();
        progress.onElapsed(doneMs);
        return result;
    }

    private synchronized LoadTestRig begin(LoadTestRig next) throws InterruptedException {
        if (isCancelled) {
            throw new InterruptedException("the run was cancelled");
        }
        rig = next;
        return next;
    }

    /** Ends the run early; what is being measured throws. */
    synchronized void cancel() {
        isCancelled = true;
        if (rig != null) {
            rig.cancel();
        }
    }

    /** Ends what is being measured now, as if its time were up. */
    synchronized void finish() {
        if (rig != null) {
            rig.finish();
        }
    }

    long offsetMs() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - zeroNs);
    }

    void news(String line) {
        progress.onNews(line);
    }

    void note(String note) {
        notes.add(note);
    }

    void fail(String failure) {
        failures.add(failure);
    }

    List<SeriesResult> series() {
        return series;
    }

    List<String> notes() {
        return notes;
    }

    List<String> failures() {
        return failures;
    }

    /** What the exclusion checks saw, in words; empty if there was none. */
    String exclusion() {
        return contestedHoldings == 0
                ? ""
                : contestedHoldings + " holdings of contested resources (" + RIVALS + " rivals of 2 clients for "
                        + CONTESTED + " resources at each N)";
    }

    @Override
    public void close() {
        proxies.forEach(FaultProxy::close);
    }

    /**
     * Tells the watch of what goes into the log.
     *
     * @param log   where it goes
     * @param watch who is told
     * @threading caller-confined
     */
    private record WatchedLog(IntervalLog log, SeriesWatch watch) implements IntervalLog {
        @Override
        public void append(String operation, Interval interval, Histogram histogram) {
            log.append(operation, interval, histogram);
            watch.onInterval(operation, interval);
        }

        @Override
        public void close() {
            log.close();
        }
    }
}
