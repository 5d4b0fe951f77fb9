package dev.redlock.loadtest.chaos;

import dev.redlock.cli.Counted;
import dev.redlock.loadtest.history.HistoryFile;
import dev.redlock.loadtest.result.IntervalLog;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.TemporaryFolders;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** @threading caller-confined, except for {@link #cancel} */
final class ChaosRun implements AutoCloseable {
    /** A worker may still be starting when it must stop; on a busy machine, a JVM takes many seconds for that. */
    private static final Duration STOP_LIMIT = Duration.ofSeconds(60);
    private static final Duration SETTLE_LIMIT = Duration.ofSeconds(30);
    /** Between two workers that start again, so that some are always locking. */
    private static final Duration RESTART_GAP = Duration.ofMillis(700);
    private static final long ROLL_OUT_POLL_MS = 50;
    /** The restart guard needs the ttl, one second for the rounding of uptimes, and the drift. */
    private static final Duration GUARD_ROOM = Duration.ofMillis(2200);

    private final ChaosOptions options;
    private final RedisNodes nodes;
    private final PrintWriter out;
    private final Path folder;
    private final Path records;
    private final Path registers;
    private final ChaosVoters voters;
    private final List<WorkerProcess> workers = new ArrayList<>();
    private final WorkerTally tally = new WorkerTally();
    private final CountDownLatch cancelled = new CountDownLatch(1);
    /** The workers with an open fault, which end or continue when it ends. */
    private final Set<Integer> faulty = new HashSet<>();
    private final ListRollout lists;
    private long restartedNs;
    private int workerCount;
    private int killedCount;
    private final List<String> notes = new ArrayList<>();
    private final FaultLog faults;
    private final ClockSteps clockSteps = new ClockSteps();
    private final WaitAudit waits;
    private long startNs;
    private boolean isKept;

    /** A run whose offsets count from {@code zeroNs}. */
    ChaosRun(ChaosOptions options, RedisNodes nodes, PrintWriter out, long zeroNs) throws IOException {
        this.options = options;
        this.faults = new FaultLog(zeroNs);
        this.waits = new WaitAudit(options.ttl);
        this.nodes = nodes;
        this.out = out;
        this.folder = TemporaryFolders.create("redlock-chaos-");
        this.records = Files.createFile(folder.resolve("records"));
        this.registers = folder.resolve("registers");
        if (options.history().isPresent()) {
            HistoryFile.create(options.history().get());
            SharedRegisters.create(registers, options.resources);
        }
        this.lists = options.lists();
        this.voters = newVoters();
    }

    private ChaosVoters newVoters() throws IOException {
        if (options.hasSentinels) {
            return ChaosSentinels.watch(nodes, options.network());
        }
        return options.clusterShards == 0
                ? new ChaosMasters(nodes, options.network())
                : ChaosClusters.form(nodes, options.clusterShards, options.resources);
    }

    /** Carries out the run. It passed if the result has no failures. */
    Result run(IntervalLog log) throws IOException, InterruptedException {
        List<ChaosStep> plan = ChaosPlan.of(options.seed, options.terms());
        announce(plan);
        long votingNs = System.nanoTime() + (options.isGuarded() ? options.ttl.plus(GUARD_ROOM).toNanos() : 0);
        for (int i = 0; i < options.workers; i++) {
            workers.add(startWorker(i));
        }
        awaitFirstSection();
        // The first section needs a majority; the plan counts on all nodes.
        awaitCancelled(TimeUnit.NANOSECONDS.toMillis(votingNs - System.nanoTime()));
        startNs = System.nanoTime();
        carryOut(plan);
        long endNs = System.nanoTime();
        voters.heal();
        faults.healed(System.nanoTime());
        boolean isBusyAgain = awaitSectionAfter(endNs);
        stopWorkers();
        if (options.history().isPresent()) {
            Path file = options.history().get();
            note(HistoryFile.complete(file, System.nanoTime()) + " lines of history in " + file.getFileName());
        }
        List<SectionRecord> evidence = SectionFile.readAll(records);
        SectionAudit audit = SectionAudit.of(evidence, startNs, endNs, clockSteps);
        if (options.isRetaining) {
            waits.check(evidence, startNs, endNs).forEach(tally::problem);
            note(waits.inWords());
        }
        ChaosReport report = new ChaosReport(options, tally, audit);
        report.keys(nodes);
        if (!clockSteps.isEmpty()) {
            note(audit.acceptedCount() + " overlaps accepted: they started in the " + ClockSteps.FOUND_WITHIN_MS
                    + " ms after a clock had jumped ahead, before clients could find it");
        }
        if (faults.marks().isEmpty()) {
            tally.problem("no fault was injected: the plan has none, or was cut short before the first (a longer "
                    + "--duration has room for some)");
        }
        if (lists.changeCount() > 0) {
            note(lists.doneCount() + " of " + lists.changeCount() + " changes of the list of nodes were made");
        }
        if (lists.changeCount() > 0 && lists.doneCount() == 0) {
            tally.problem("the list of nodes did not change: a longer --duration has room for it");
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
        return new Result(
                new ChaosSeries(evidence, faults, startNs, endNs).result(options.spec(), audit, tally, log), notes,
                report.failures(), faults.offsetMs(System.nanoTime()));
    }

    private void announce(List<ChaosStep> plan) {
        note(nodes.choice());
        note(String.format(Locale.ROOT,
                "seed %d: %s in %d ms, at most %d of %d nodes bad at once; %s of %s,"
                        + " %s (%s fenced), ttl %d ms",
                options.seed, Counted.of(plan.size(), "fault"), options.duration.toMillis(),
                options.terms().badNodesMax(),
                options.targets(),
                options.workers == 1 ? "1 worker process" : options.workers + " worker processes",
                Counted.of(options.threads, "thread"), Counted.of(options.resources, "resource"),
                options.fenced.name().toLowerCase(Locale.ROOT),
                options.ttl.toMillis()));
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
        if (options.isWriteUnlimited) {
            note("NO min-replicas-to-write: a primary that is cut off serves on, and the lock does not hold");
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

    private WorkerProcess startWorker(int place) throws IOException {
        int number = workerCount++;
        return WorkerProcess.start(number, folder, voters.placeOfWorker(place),
                ChaosWorkerCommand.arguments(number, place,
                        addresses(lists.nodesOf(place)), addresses(lists.nextNodesOf(place)), nodes.tls(), records,
                        registers,
                        options));
    }

    private List<String> addresses(List<Integer> list) {
        List<String> all = voters.addresses();
        return list.stream().map(all::get).toList();
    }

    /** Starts a worker again with other lists of nodes, if one is due. */
    private void rollOut() throws IOException, InterruptedException {
        OptionalInt due = lists.next(System.nanoTime());
        if (due.isEmpty() || faulty.contains(due.getAsInt())
                || System.nanoTime() - restartedNs < RESTART_GAP.toNanos()) {
            return;
        }
        int place = due.getAsInt();
        lists.advance(place);
        out.printf("%9.3f s  %s%n", sinceStart(), lists.describe(place));
        WorkerProcess former = workers.set(place, startWorker(place));
        former.requestStop();
        former.collect(tally, System.nanoTime() + STOP_LIMIT.toNanos());
        restartedNs = System.nanoTime();
        lists.ended(restartedNs);
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
        int wanted = options.workers * options.threads;
        while (deadlineNs - System.nanoTime() > 0) {
            if (awaitCancelled(0)) {
                out.printf("%9.3f s  cut short: whether the workers lock as before was not checked%n", sinceStart());
                return true;
            }
            long entered = SectionFile.readFrom(records, seen)
                    .stream()
                    .filter(record -> record.isStart())
                    .count();
            if (entered >= wanted) {
                out.printf("%9.3f s  locking as before, %d ms after the end of the plan%n", sinceStart(),
                        TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - timeNs));
                return true;
            }
            awaitCancelled(20);
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
            long beforeNs = System.nanoTime();
            if (moment.isBegin()) {
                faults.begins(moment.step(), beforeNs);
                disturb(moment.step(), beforeNs);
                begin(moment.step());
            } else {
                end(moment.step());
                faults.ends(moment.step(), System.nanoTime());
            }
            if (moment.isJumpAhead()) {
                clockSteps.add(beforeNs, System.nanoTime());
            }
        }
        awaitUntil(options.duration.toMillis());
    }

    private void disturb(ChaosStep step, long nowNs) {
        if (step.fault().isOfWorker()) {
            waits.disturbWorker(workers.get(step.target()).number(), nowNs, step.lengthMs());
        } else {
            waits.disturbNodes(nowNs, step.healthyMs());
        }
    }

    private boolean awaitUntil(long ms) throws IOException, InterruptedException {
        while (true) {
            rollOut();
            long leftMs = ms - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs);
            boolean isCancelled = awaitCancelled(Math.min(leftMs, ROLL_OUT_POLL_MS));
            if (isCancelled || leftMs <= 0) {
                return isCancelled;
            }
        }
    }

    private void begin(ChaosStep step) throws IOException, InterruptedException {
        int target = step.target();
        switch (step.fault()) {
            case WORKER_PAUSE -> {
                faulty.add(target);
                workers.get(target).pause(step.lengthMs());
            }
            case WORKER_KILL -> {
                faulty.add(target);
                workers.get(target).kill();
                killedCount++;
            }
            default -> voters.begin(step);
        }
    }

    private void end(ChaosStep step) throws IOException, InterruptedException {
        int target = step.target();
        switch (step.fault()) {
            case WORKER_PAUSE -> {
                workers.get(target).resume();
                faulty.remove(target);
            }
            case WORKER_KILL -> {
                workers.set(target, startWorker(target));
                faulty.remove(target);
            }
            default -> voters.end(step);
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
        voters.close();
        if (isKept) {
            TemporaryFolders.keep(folder);
            out.println("The records are kept in " + folder);
        } else {
            TemporaryFolders.delete(folder);
        }
    }

    /**
     * The result of a run.
     *
     * @param notes sentences: nodes, seed, excluded faults
     * @threading immutable
     */
    record Result(SeriesResult series, List<String> notes, List<String> failures, long elapsedMs) {
    }

    /** @threading immutable */
    private record Moment(long atMs, ChaosStep step, boolean isBegin) {

        /** Whether a clock jumps ahead: away from the right time, or back to it from an earlier one. */
        boolean isJumpAhead() {
            return step.fault() == Fault.CLOCK_STEP && step.amount() > 0 == isBegin;
        }
    }
}
