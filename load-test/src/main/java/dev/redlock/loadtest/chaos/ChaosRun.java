package dev.redlock.loadtest.chaos;

import dev.redlock.loadtest.faults.FaultProxy;
import dev.redlock.loadtest.nodes.Data;
import dev.redlock.loadtest.nodes.NodeState;
import dev.redlock.loadtest.nodes.NodeUris;
import dev.redlock.loadtest.nodes.RedisNode;
import dev.redlock.loadtest.nodes.RedisNodes;
import dev.redlock.loadtest.result.IntervalLog;
import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * One run: it starts workers, carries out the plan, heals every fault, stops the workers, and audits the records.
 *
 * @threading caller-confined, except for {@link #cancel}
 */
final class ChaosRun implements AutoCloseable {
    private static final Duration STOP_LIMIT = Duration.ofSeconds(20);
    private static final Duration SETTLE_LIMIT = Duration.ofSeconds(30);
    /** The restart guard needs the ttl, one second for the rounding of uptimes, and the drift. */
    private static final Duration GUARD_ROOM = Duration.ofMillis(2200);

    private final ChaosOptions options;
    private final RedisNodes nodes;
    private final PrintWriter out;
    private final Path folder;
    private final Path records;
    private final List<FaultProxy> proxies = new ArrayList<>();
    private final List<WorkerProcess> workers = new ArrayList<>();
    private final WorkerTally tally = new WorkerTally();
    private final CountDownLatch cancelled = new CountDownLatch(1);
    private int workerCount;
    private int killedCount;
    private final List<String> notes = new ArrayList<>();
    private final FaultLog faults;
    private long startNs;
    private boolean isKept;

    /** A run whose offsets count from {@code zeroNs}. */
    ChaosRun(ChaosOptions options, RedisNodes nodes, PrintWriter out, long zeroNs) throws IOException {
        this.options = options;
        this.faults = new FaultLog(zeroNs);
        this.nodes = nodes;
        this.out = out;
        this.folder = Files.createTempDirectory("redlock-chaos-");
        this.records = Files.createFile(folder.resolve("records"));
        if (options.network().isEmpty()) {
            nodes.nodes().forEach(node -> proxies.add(FaultProxy.open(addressOf(node))));
        }
    }

    /** Carries out the run. It passed if the result has no failures. */
    ChaosResult run(IntervalLog log) throws IOException, InterruptedException {
        List<ChaosStep> plan = ChaosPlan.of(options.seed(), options.terms());
        announce(plan);
        long votingNs = System.nanoTime() + (options.isGuarded() ? options.ttl().plus(GUARD_ROOM).toNanos() : 0);
        for (int i = 0; i < options.workers(); i++) {
            workers.add(startWorker());
        }
        awaitFirstSection();
        // The first section needs a majority; the plan counts on all nodes.
        awaitCancelled(TimeUnit.NANOSECONDS.toMillis(votingNs - System.nanoTime()));
        startNs = System.nanoTime();
        carryOut(plan);
        long endNs = System.nanoTime();
        heal();
        faults.healed(System.nanoTime());
        boolean isBusyAgain = awaitSectionAfter(endNs);
        stopWorkers();
        List<SectionRecord> evidence = SectionFile.readAll(records);
        SectionAudit audit = SectionAudit.of(evidence, startNs, endNs);
        ChaosReport report = new ChaosReport(options, tally, audit);
        report.keys(nodes);
        if (faults.marks().isEmpty()) {
            tally.problem("no fault was injected: the plan has none, or was cut short before the first (a longer "
                    + "--duration has room for some)");
        }
        if (!isBusyAgain) {
            tally.problem("too few sections were entered after everything was healed");
        }
        boolean isCancelled = cancelled.getCount() == 0;
        if (isCancelled) {
            notes.add("cut short, " + TimeUnit.NANOSECONDS.toMillis(endNs - startNs)
                    + " ms after the beginning of the plan");
        }
        report.print(out, killedCount, isCancelled);
        isKept = !report.failures().isEmpty();
        return new ChaosResult(
                new ChaosSeries(evidence, faults, startNs, endNs).result(options.spec(), audit, tally, log), notes,
                report.failures(), faults.offsetMs(System.nanoTime()));
    }

    private void announce(List<ChaosStep> plan) {
        note(nodes.choice());
        note(String.format(Locale.ROOT,
                "seed %d: %d faults in %d ms, at most %d of %d nodes bad at once; %d worker processes of %d threads,"
                        + " %d resources (%s fenced), ttl %d ms",
                options.seed(), plan.size(), options.duration().toMillis(), options.terms().badNodesMax(),
                options.nodes(), options.workers(), options.threads(), options.resources(), options.fenced(),
                options.ttl().toMillis()));
        options.leftOut().forEach(line -> note("left out: " + line));
        String unplanned = options.terms()
                .faults()
                .stream()
                .filter(fault -> plan.stream().noneMatch(step -> step.fault() == fault))
                .map(fault -> fault.name().toLowerCase(Locale.ROOT))
                .collect(Collectors.joining(", "));
        if (!unplanned.isEmpty()) {
            note("not in this plan: " + unplanned + " (a longer --duration has room for more)");
        }
        if (!options.isGuarded()) {
            note("THE RESTART GUARD IS OFF: nodes that come back empty vote at once, and the lock does not hold");
        }
        out.flush();
    }

    private void note(String line) {
        notes.add(line);
        out.println(line);
    }

    private WorkerProcess startWorker() throws IOException {
        List<String> addresses = new ArrayList<>();
        for (RedisNode node : nodes.nodes()) {
            NodeAddress own = addressOf(node);
            addresses.add(NodeUris.of(
                    proxies.isEmpty() ? own : NodeUris.at(own, proxies.get(node.index()).address())));
        }
        int number = workerCount++;
        return WorkerProcess.start(number, folder,
                ChaosWorkerCommand.arguments(number, addresses, nodes.tls(), records, options));
    }

    private static NodeAddress addressOf(RedisNode node) {
        return node.tlsAddress().orElse(node.address());
    }

    private boolean awaitCancelled(long ms) throws InterruptedException {
        return cancelled.await(Math.max(0, ms), TimeUnit.MILLISECONDS);
    }

    private void awaitFirstSection() throws IOException, InterruptedException {
        long deadlineNs = System.nanoTime() + SETTLE_LIMIT.toNanos();
        while (Files.size(records) == 0 && deadlineNs - System.nanoTime() > 0 && !awaitCancelled(10)) {
            for (WorkerProcess worker : workers) {
                if (worker.isEnded()) {
                    throw new IOException(worker + " ended at its start: " + worker.said());
                }
            }
        }
    }

    private boolean awaitSectionAfter(long timeNs) throws IOException, InterruptedException {
        long deadlineNs = System.nanoTime() + SETTLE_LIMIT.toNanos();
        long seen = Files.size(records);
        int wanted = options.workers() * options.threads();
        while (deadlineNs - System.nanoTime() > 0) {
            long entered = SectionFile.readFrom(records, seen)
                    .stream()
                    .filter(record -> record.isStart())
                    .count();
            if (entered >= wanted || awaitCancelled(20)) {
                out.printf("%9.3f s  locking as before, %d ms after the end of the plan%n", sinceStart(),
                        TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - timeNs));
                return true;
            }
        }
        return false;
    }

    private double sinceStart() {
        return (System.nanoTime() - startNs) / 1e9;
    }

    private void carryOut(List<ChaosStep> plan) throws IOException, InterruptedException {
        List<Moment> moments = new ArrayList<>();
        for (ChaosStep step : plan) {
            moments.add(new Moment(step.atMs(), step, true));
            moments.add(new Moment(step.endMs(), step, false));
        }
        moments.sort(Comparator.comparingLong(Moment::atMs));
        for (Moment moment : moments) {
            if (awaitUntil(moment.atMs())) {
                return;
            }
            out.printf("%9.3f s  %s%n", sinceStart(), moment.isBegin() ? moment.step().begins() : moment.step().ends());
            out.flush();
            if (moment.isBegin()) {
                faults.begins(moment.step(), System.nanoTime());
                begin(moment.step());
            } else {
                end(moment.step());
                faults.ends(moment.step(), System.nanoTime());
            }
        }
        awaitUntil(options.duration().toMillis());
    }

    private boolean awaitUntil(long ms) throws InterruptedException {
        return awaitCancelled(ms - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs));
    }

    private void begin(ChaosStep step) throws IOException, InterruptedException {
        int target = step.target();
        switch (step.fault()) {
            case KILL, WIPE -> nodes.node(target).kill();
            case WIPE_MAJORITY -> step.targets().forEach(each -> nodes.node(each).kill());
            case PAUSE -> nodes.node(target).pause();
            case STALL -> proxies.get(target).stall();
            case SLOW -> proxies.get(target).slow(Duration.ofMillis(step.amountMs()));
            case MUTE -> proxies.get(target).mute();
            case CUT -> proxies.get(target).cut();
            case LINK_DOWN -> options.network().orElseThrow().cut(target);
            case BLACKHOLE -> options.network().orElseThrow().loseReplies(target);
            case NARROW -> options.network().orElseThrow().narrow(target);
            case NETEM_DELAY, NETEM_LOSS, NETEM_REORDER ->
                options.network().orElseThrow().netem(target, step.fault().netem());
            case CLOCK_STEP -> nodes.node(target).setClock(Duration.ofMillis(step.amountMs()));
            case WORKER_PAUSE -> workers.get(target).pause(step.lengthMs());
            case WORKER_KILL -> {
                workers.get(target).kill();
                killedCount++;
            }
        }
    }

    private void end(ChaosStep step) throws IOException, InterruptedException {
        int target = step.target();
        switch (step.fault()) {
            case KILL -> nodes.node(target).start();
            case WIPE -> nodes.node(target).restart(Data.LOST);
            case WIPE_MAJORITY -> step.targets().forEach(each -> nodes.node(each).restart(Data.LOST));
            case PAUSE -> nodes.node(target).resume();
            case STALL, SLOW, MUTE, CUT -> proxies.get(target).pass();
            case LINK_DOWN, BLACKHOLE, NARROW, NETEM_DELAY, NETEM_LOSS, NETEM_REORDER ->
                options.network().orElseThrow().heal(target);
            case CLOCK_STEP -> nodes.node(target).setClock(Duration.ZERO);
            case WORKER_PAUSE -> workers.get(target).resume();
            case WORKER_KILL -> workers.set(target, startWorker());
        }
    }

    /** Ends the faults that a cancelled plan has left open. */
    private void heal() throws IOException {
        proxies.forEach(FaultProxy::pass);
        for (int i = 0; options.network().isPresent() && i < options.nodes(); i++) {
            options.network().get().heal(i);
        }
        for (RedisNode node : nodes.nodes()) {
            if (node.state() == NodeState.PAUSED) {
                node.resume();
            } else if (node.state() == NodeState.STOPPED && cancelled.getCount() > 0) {
                node.start();
            }
        }
    }

    private void stopWorkers() throws IOException, InterruptedException {
        workers.forEach(WorkerProcess::requestStop);
        long deadlineNs = System.nanoTime() + STOP_LIMIT.toNanos();
        for (WorkerProcess worker : workers) {
            worker.collect(tally, deadlineNs);
        }
        workers.clear();
    }

    /** Ends the plan early; the records so far are still audited. */
    void cancel() {
        cancelled.countDown();
    }

    @Override
    public void close() throws IOException {
        workers.forEach(WorkerProcess::abandon);
        proxies.forEach(FaultProxy::close);
        if (isKept) {
            out.println("The records are kept in " + folder);
            return;
        }
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    /**
     * The start or the end of a step.
     *
     * @param atMs    the time
     * @param step    the step
     * @param isBegin whether the step starts
     * @threading immutable
     */
    private record Moment(long atMs, ChaosStep step, boolean isBegin) {
    }
}
