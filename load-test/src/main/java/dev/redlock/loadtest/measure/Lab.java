package dev.redlock.loadtest.measure;

import dev.redlock.cli.ClientTls;
import dev.redlock.cli.Counted;
import dev.redlock.loadtest.cli.ClientOptions;
import dev.redlock.loadtest.cli.Invocation;
import dev.redlock.loadtest.cli.LabVersions;
import dev.redlock.loadtest.cli.LoadOptions;
import dev.redlock.loadtest.cli.NodeDelays;
import dev.redlock.loadtest.cli.NodeOptions;
import dev.redlock.loadtest.cli.Progress;
import dev.redlock.loadtest.consensus.PeerServers;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.driver.SessionSpec;
import dev.redlock.loadtest.result.ExclusionCheck;
import dev.redlock.loadtest.result.Interval;
import dev.redlock.loadtest.result.IntervalLog;
import dev.redlock.loadtest.result.LoopKind;
import dev.redlock.loadtest.result.MachineClass;
import dev.redlock.loadtest.result.RunFolder;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.result.Tally;
import dev.redlock.loadtest.rig.LoadPlan;
import dev.redlock.loadtest.rig.LoadResult;
import dev.redlock.loadtest.rig.LoadTestRig;
import dev.redlock.transport.NodeAddress;
import dev.redlock.trial.faults.FaultProxy;
import dev.redlock.trial.nodes.NodeUris;
import dev.redlock.trial.nodes.RedisCluster;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisReplicas;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.HdrHistogram.Histogram;
import picocli.CommandLine;

/**
 * The workbench of the measuring commands: nodes with their delays, clients, one rig after another, and the results.
 *
 * @threading caller-confined, except for {@link #cancel}
 */
public final class Lab implements AutoCloseable {
    public static final int RIVAL_CLIENTS = 2;
    private static final int RIVALS = 8;
    private static final int CONTESTED = 2;
    private static final Duration RIVALRY = Duration.ofMillis(500);
    private static final Duration RIVAL_HOLD = Duration.ofMillis(1);

    private final NodeOptions nodeOptions;
    private final ClientOptions clientOptions;
    private final LoadOptions loadOptions;
    private final RedisNodes nodes;
    private List<NodeAddress> addresses;
    /** Null in a command that measures no consensus services. */
    private PeerServers consensus;
    /** The addresses of clusters or Sentinels, one for each node; empty for single masters. */
    private final List<String> voters = new ArrayList<>();
    private final List<FaultProxy> proxies = new ArrayList<>();
    private final RunFolder folder;
    private final Progress progress;
    private final long zeroNs = System.nanoTime();
    private final String keyPrefix = "load-test:" + Long.toHexString(zeroNs) + ":";
    private final List<SeriesResult> series = new ArrayList<>();
    private final List<String> warnings = new ArrayList<>();
    private final List<String> notes = new ArrayList<>();
    private final List<String> failures = new ArrayList<>();
    private int planCount;
    private ExclusionCheck contested = ExclusionCheck.NONE;
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
        formClusters(nodeOptions.clusterShards);
        if (nodes.nodes().stream().anyMatch(RedisNode::isOfSentinels)) {
            voters.addAll(List.of(nodes.addresses()));
        }
    }

    /** Makes each run of so many servers a cluster, whose first server is its entry in the list of nodes. */
    private void formClusters(int shards) {
        if (shards == 0) {
            return;
        }
        List<NodeAddress> firsts = new ArrayList<>();
        for (RedisCluster cluster : RedisCluster.formEach(nodes.nodes(), shards, shards)) {
            firsts.add(addresses.get(voters.size() * shards));
            voters.add(cluster.address());
        }
        addresses = firsts;
    }

    /** The addresses of all nodes behind these delays. Proxies live until the lab is closed. */
    List<NodeAddress> reach(NodeDelays delays) {
        List<NodeAddress> reached = new ArrayList<>();
        nodes.nodes().forEach(node -> reached.add(reach(node, delays)));
        return reached;
    }

    /** Sets the addresses for clients that open from now on. */
    void use(List<NodeAddress> reached) {
        addresses = reached;
    }

    /** Sets the servers for drivers of consensus services. They are borrowed. */
    void use(PeerServers servers) {
        consensus = servers;
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
        return NodeUris.at(node.address(), proxy.address());
    }

    public Clients open(LockDriver driver, int nodeCount) throws IOException, InterruptedException {
        return open(driver, nodeCount, clientOptions.clients());
    }

    Clients open(LockDriver driver, int nodeCount, int clientCount) throws IOException, InterruptedException {
        List<NodeAddress> servers = driver.service().isPresent()
                ? consensus.of(driver.service().get(), nodeCount).addresses()
                : addresses.subList(0, nodeCount);
        SessionSpec spec = clientOptions.session(servers, nodeOptions.isFresh(), tls(nodeCount), voters(nodeCount));
        return Clients.open(driver, spec, clientCount);
    }

    /** The addresses of the clusters or Sentinels of the first nodes; empty for single masters. */
    public List<String> voters(int nodeCount) {
        return List.copyOf(voters.subList(0, Math.min(nodeCount, voters.size())));
    }

    /** The first nodes with TLS; null if they have none. */
    private SessionSpec.Tls tls(int nodeCount) {
        List<RedisNode> used = nodes.nodes().subList(0, nodeCount);
        if (used.stream().noneMatch(node -> node.tlsAddress().isPresent())) {
            return null;
        }
        // Given servers may have TLS or not, each for itself.
        return new SessionSpec.Tls(used.stream().map(node -> node.tlsAddress().orElse(node.address())).toList(),
                nodes.tls());
    }

    /** The files for connections with TLS, also those of other processes. */
    public ClientTls tlsFiles() {
        return nodes.tls();
    }

    /** The addresses of the first nodes with TLS; empty if they have none. */
    public List<NodeAddress> tlsAddresses(int nodeCount) {
        SessionSpec.Tls tls = tls(nodeCount);
        return tls == null ? List.of() : tls.nodes();
    }

    /** Runs unrecorded load on every driver, so that the compiler is done before the measurement. */
    public void warmUp() throws IOException, InterruptedException {
        warmUp(1, driver -> loadOptions.warmUpPlans(clientOptions.isFenced()));
    }

    /** The same for a driver that is not among the options. */
    public void warmUp(LockDriver driver) throws IOException, InterruptedException {
        warmUp(driver, 1, any -> loadOptions.warmUpPlans(false));
    }

    /** The same with clients that contend. Otherwise the code of waiting would be interpreted while it is measured. */
    void warmUpContended() throws IOException, InterruptedException {
        warmUp(clientOptions.clients(),
                driver -> List.of(loadOptions.contendedWarmUpPlan(driver, clientOptions.isFenced())));
    }

    /** The same with so many clients, and the load of these plans. */
    void warmUp(int clientCount, Function<LockDriver, List<LoadPlan>> plans)
            throws IOException, InterruptedException {
        for (LockDriver driver : clientOptions.drivers()) {
            warmUp(driver, clientCount, plans);
        }
    }

    /** The same for one driver. A warm-up of no time has no plans. */
    void warmUp(LockDriver driver, int clientCount, Function<LockDriver, List<LoadPlan>> plans)
            throws IOException, InterruptedException {
        if (loadOptions.jvmWarmup.isZero()) {
            return;
        }
        int nodeCount = nodeOptions.countMax();
        progress.onPhase("warming up " + driver.name() + " on " + Counted.of(nodeCount, "node"));
        try (Clients clients = open(driver, nodeCount, clientCount)) {
            for (LoadPlan plan : plans.apply(driver)) {
                run(plan, clients, IntervalLog.NONE, SeriesWatch.NONE);
            }
        }
    }

    public List<NodeAddress> addresses(int nodeCount) {
        return List.copyOf(addresses.subList(0, nodeCount));
    }

    /** Starts as many replicas of each node. */
    public RedisReplicas replicate(int each) {
        return RedisReplicas.attach(nodes, nodeOptions.replicas(), each);
    }

    /** The processes of the servers; empty if they were not started here. */
    public List<Long> serverPids() {
        List<Long> pids = new ArrayList<>();
        nodes.nodes().forEach(node -> node.pid().ifPresent(pids::add));
        return pids;
    }

    /** A key prefix that no other plan uses. */
    public String freshKeyPrefix() {
        return keyPrefix + planCount++ + ":";
    }

    /** A phase of another process starts. */
    public void begin(String title) {
        progress.onPhase(title);
    }

    /** The phase of the other process continues. */
    public void tick(long sinceBeginMs) {
        progress.onElapsed(doneMs + sinceBeginMs);
    }

    /** The phase of the other process ends, after its planned time. */
    public void end(long plannedMs) {
        doneMs += plannedMs;
        progress.onElapsed(doneMs);
    }

    public void add(SeriesResult one) {
        series.add(one);
    }

    /** Runs load that belongs to no series, and is not recorded. */
    public LoadResult probe(String title, LoadPlan plan, Clients clients) throws InterruptedException {
        progress.onPhase(title);
        return run(plan, clients, IntervalLog.NONE, SeriesWatch.NONE);
    }

    LoadResult measure(SeriesSpec spec, LockDriver driver, Clients clients) throws InterruptedException {
        LoadPlan plan = loadOptions.plan(spec, driver, clientOptions.isFenced());
        return measure(spec, plan, clients, LoadResult::failures, SeriesWatch.NONE);
    }

    /** Measures one series; {@code judge} returns the reasons why it does not count. */
    public LoadResult measure(SeriesSpec spec, LoadPlan plan, Clients clients, Function<LoadResult, List<String>> judge,
            SeriesWatch watch) throws InterruptedException {
        progress.onPhase(spec.title());
        Map<String, Long> before = clients.counters();
        LoadResult result;
        try (IntervalLog log = folder.log(spec)) {
            result = run(plan, clients, log, watch);
        }
        Map<String, Long> counters = clients.countersSince(before);
        List<String> why = new ArrayList<>(judge.apply(result));
        why.addAll(watch.failures());
        series.add(watch.complete(result.series(spec, counters, watch.samples(), why), result.usage()));
        return result;
    }

    /** Two clients contend for the same resources, so that the servers decide and not a queue inside one client. */
    public void contest(LockDriver driver, int nodeCount) throws IOException, InterruptedException {
        String title = driver.name() + ", N = " + nodeCount + ", exclusion check";
        progress.onPhase(title);
        try (Clients clients = open(driver, nodeCount, RIVAL_CLIENTS)) {
            LoadResult result = run(contestPlan(loadOptions.ttl, clientOptions.isFenced()), clients,
                    IntervalLog.NONE, SeriesWatch.NONE);
            addContest(title, result.tally(), result.failures());
        }
    }

    /** The load of {@link #contest}, for two clients. */
    public static LoadPlan contestPlan(Duration ttl, boolean isFenced) {
        return LoadPlan.closed(RIVALS)
                .resources(CONTESTED)
                .amongClients()
                .hold(RIVAL_HOLD)
                .duration(RIVALRY)
                .ttl(ttl)
                .fenced(isFenced);
    }

    /** The load of {@link #contest} as a series. */
    public static SeriesSpec contestSpec(String driver, int nodeCount) {
        return new SeriesSpec(driver, nodeCount, LoopKind.CLOSED, RIVALS, 0, 1);
    }

    /** Adds the result of an exclusion check, here or in another process. */
    public void addContest(String title, Tally tally, List<String> problems) {
        contested = contested.plus(tally);
        problems.forEach(problem -> failures.add(title + ": " + problem));
    }

    public static long contestMs() {
        return RIVALRY.toMillis();
    }

    private LoadResult run(LoadPlan plan, Clients clients, IntervalLog log, SeriesWatch watch)
            throws InterruptedException {
        LoadPlan own = plan.keyPrefix(freshKeyPrefix()).costMeasured(proxies.isEmpty());
        LoadTestRig next = begin(new LoadTestRig(own, clients.sessions()).collect(watch.slowCycles()));
        LoadResult result = next.run((elapsedNs, isMeasuring) -> {
            progress.onElapsed(doneMs + TimeUnit.NANOSECONDS.toMillis(elapsedNs));
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

    /** Cancels the run; the current measurement throws. */
    public synchronized void cancel() {
        isCancelled = true;
        if (rig != null) {
            rig.cancel();
        }
    }

    /** Ends the current measurement now, with its results so far. */
    synchronized void finish() {
        if (rig != null) {
            rig.finish();
        }
    }

    public long offsetMs() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - zeroNs);
    }

    void news(String line) {
        progress.onPhase(line);
    }

    public void note(String note) {
        notes.add(note);
    }

    /** Adds a finding that makes figures doubtful. */
    public void warn(String warning) {
        warnings.add(warning);
    }

    public void fail(String failure) {
        failures.add(failure);
    }

    List<SeriesResult> series() {
        return series;
    }

    /** The result of a run of this command. */
    RunResult result(CommandLine line) {
        return new RunResult(line.getCommandName(), folder.startedAt(), offsetMs(), Invocation.of(line),
                Invocation.asText(line), LabVersions.of(clientOptions.drivers(), nodes), MachineClass.here(), series,
                contested, notes, warnings, failures);
    }

    /** The result of the exclusion checks in words; empty if there was none. */
    public String exclusion() {
        return contested.holdings() == 0
                ? ""
                : String.format(Locale.ROOT, "%,d holdings of contested resources (%d rivals of %d clients for %d"
                        + " resources at a time)", contested.holdings(), RIVALS, RIVAL_CLIENTS, CONTESTED);
    }

    @Override
    public void close() {
        proxies.forEach(FaultProxy::close);
    }

    /** @threading caller-confined */
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
