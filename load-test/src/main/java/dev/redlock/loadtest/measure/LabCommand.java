package dev.redlock.loadtest.measure;

import dev.redlock.cli.AdminClient;
import dev.redlock.cli.DurationConverter;
import dev.redlock.cli.Options;
import dev.redlock.loadtest.cli.ClientOptions;
import dev.redlock.loadtest.cli.LoadOptions;
import dev.redlock.loadtest.cli.NodeOptions;
import dev.redlock.loadtest.cli.Progress;
import dev.redlock.loadtest.cli.RunCommand;
import dev.redlock.loadtest.driver.DriverOption;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.result.RunFolder;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.Verdict;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Mixin;

/**
 * The base of the measuring commands. It validates the options, starts the nodes, measures, writes the folder, and
 * prints the verdict, the table and the path of the results.
 *
 * @threading caller-confined
 */
public abstract class LabCommand extends RunCommand {
    @Mixin
    protected NodeOptions nodeOptions;
    @Mixin
    protected ClientOptions clientOptions;
    @Mixin
    protected LoadOptions loadOptions;

    protected RunFolder folder;
    protected Lab lab;

    @Override
    public final Integer call() throws IOException, InterruptedException {
        checkAll();
        return record(loadOptions.output, nodeOptions.context());
    }

    /** Throws picocli's error for options that were parsed and are invalid. */
    public final void checkAll() {
        CommandLine line = line();
        nodeOptions.check(line);
        clientOptions.check(line, nodeOptions);
        loadOptions.check(line);
        checkServices(line);
        Options.require(line, clientOptions.clientCounts().size() == 1 || takesClientCounts(), "--clients is "
                + clientOptions.clientCounts() + ": contention alone takes several numbers");
        check(line);
    }

    private void checkServices(CommandLine line) {
        for (LockDriver driver : clientOptions.drivers()) {
            Options.require(line, driver.service().isEmpty() || startsServices(), "--driver " + driver.name()
                    + " locks on other servers, which compare starts: use compare");
            Options.require(line, !driver.isWaitingForReplicas() || startsReplicas(), "--driver " + driver.name()
                    + " waits for replicas, which compare starts and whose use it verifies: use compare");
        }
    }

    /** Whether this command measures with several numbers of clients. */
    protected boolean takesClientCounts() {
        return false;
    }

    /** Whether this command starts the servers of consensus services. */
    protected boolean startsServices() {
        return false;
    }

    /** Whether this command starts replicas. */
    protected boolean startsReplicas() {
        return false;
    }

    @Override
    protected final RunResult run(RunFolder opened, RedisNodes nodes) throws IOException, InterruptedException {
        folder = opened;
        out().println(nodes.choice());
        out().flush();
        RestartGuards.check(clientOptions.drivers(), nodes, nodeOptions.isFresh());
        try (Progress progress = new Progress(totalMs(), line().getErr());
                Lab started = new Lab(nodeOptions, clientOptions, loadOptions, nodes, folder, progress)) {
            lab = started;
            cancelAtEnd(nodes, this::onCancel);
            lab.note(nodes.choice());
            noteSentinels(nodes);
            measure();
            if (!lab.exclusion().isEmpty()) {
                lab.note("exclusion was checked on " + lab.exclusion());
            }
            return lab.result(line());
        }
    }

    private void noteSentinels(RedisNodes nodes) {
        String others = clientOptions.drivers()
                .stream()
                .filter(driver -> !driver.options().contains(DriverOption.SENTINELS))
                .map(LockDriver::name)
                .collect(Collectors.joining(" and "));
        if (!others.isEmpty() && nodes.nodes().stream().anyMatch(RedisNode::isOfSentinels)) {
            lab.note(others + " asked no Sentinels, and locked on the primary that they had named at the start");
        }
    }

    @Override
    protected final void print(RunResult result, Path report) {
        String drivers = clientOptions.drivers().stream().map(LockDriver::name).collect(Collectors.joining(", "));
        out().printf("%n%s: %s over real nodes, %s, ttl %s, %s recorded per line; Java %s, %d processors%n",
                result.command(), drivers, loopInWords(), DurationConverter.text(loadOptions.ttl),
                DurationConverter.text(loadOptions.duration), Runtime.version(), result.machine().cores());
        conclusions(result).forEach(out()::println);
        sendDelay(result).ifPresent(out()::println);
        result.warnings().forEach(warning -> out().println("WARNING: " + warning));
        result.allFailures().forEach(failure -> out().println("FAIL: " + failure));
        out().printf("%n%s%n%s%n", table(result), "Results: " + report);
        out().flush();
    }

    /** In an open loop the rig can be late on a machine with few cores; its delay is part of the latencies. */
    private static Optional<String> sendDelay(RunResult result) {
        return result.series()
                .stream()
                .map(one -> one.figures().get("sendDelayP99Us"))
                .filter(Objects::nonNull)
                .max(Double::compare)
                .map(us -> String.format(Locale.ROOT,
                        "The rig was late by up to %.2f ms with 99 %% of its sends; that is part of the latencies.",
                        us / 1e3));
    }

    private String loopInWords() {
        return isOpen()
                ? "open loop, latency from the intended time, at most " + loadOptions.openInFlight() + " in flight"
                : "closed loop";
    }

    protected boolean isOpen() {
        return loadOptions.isOpen();
    }

    /** Validates the options of this command alone. */
    protected void check(CommandLine line) {
        // None unless overridden.
    }

    /** Called on the shutdown of the JVM. */
    protected void onCancel() {
        lab.cancel();
    }

    /** The expected duration of all phases. */
    protected abstract long totalMs();

    protected abstract void measure() throws IOException, InterruptedException;

    /** The sentences before the table, PASS among them if the run passed. */
    protected abstract List<String> conclusions(RunResult result);

    protected abstract String table(RunResult result);

    /** The PASS sentence, or nothing for a failed run. */
    protected static List<String> pass(RunResult result, String words) {
        return result.verdict() == Verdict.PASS ? List.of("PASS: " + words) : List.of();
    }

    /** The outcomes of the calls, and overlaps if exclusion was checked: in words, empty if it was not. */
    protected static String outcome(RunResult result, String exclusion) {
        return exclusion.isEmpty()
                ? result.calls()
                : result.calls() + "; no two holders overlapped in " + exclusion;
    }

    /** @threading caller-confined */
    @FunctionalInterface
    interface Turn {
        void run(LockDriver driver, int nodeCount, int repetition) throws IOException, InterruptedException;
    }

    /** Drivers take turns at each node count, so that a slow minute of the machine affects all of them. */
    protected final void takeTurns(Turn turn) throws IOException, InterruptedException {
        takeTurns(clientOptions.drivers(), turn);
    }

    /** The same for these drivers. */
    final void takeTurns(List<LockDriver> drivers, Turn turn) throws IOException, InterruptedException {
        for (int repetition = 1; repetition <= loadOptions.repetitions; repetition++) {
            for (int nodeCount : nodeOptions.counts()) {
                for (LockDriver driver : drivers) {
                    turn.run(driver, nodeCount, repetition);
                }
            }
        }
    }

    /** The duration of the JVM warm-up and all turns, in milliseconds. */
    protected final long turnsMs(int stepsPerTurn) {
        long stepMs = loadOptions.warmup.plus(loadOptions.duration).toMillis();
        return loadOptions.jvmWarmup.toMillis() * clientOptions.drivers().size() + turnCount() * stepsPerTurn * stepMs;
    }

    final long turnCount() {
        return (long) loadOptions.repetitions * nodeOptions.counts().size() * clientOptions.drivers().size();
    }

    /**
     * Fails the run at its start if the given nodes do not vote yet, instead of after thousands of failed acquires.
     *
     * @threading any thread
     */
    private static final class RestartGuards {
        static void check(List<LockDriver> drivers, RedisNodes nodes, boolean isFresh) throws IOException {
            long guardSeconds = drivers.stream().mapToLong(driver -> driver.restartGuard().toSeconds()).max().orElse(0);
            if (isFresh || guardSeconds == 0) {
                return;
            }
            List<String> young = new ArrayList<>();
            for (RedisNode node : nodes.nodes()) {
                long upSeconds = upSeconds(node);
                if (upSeconds < guardSeconds) {
                    young.add(node.address() + " for " + upSeconds + " s");
                }
            }
            if (nodes.size() - young.size() < nodes.size() / 2 + 1) {
                throw new IOException("too few nodes vote yet: up are " + String.join(", ", young)
                        + ", and a node votes " + guardSeconds
                        + " s after its start, because it may have forgotten locks; "
                        + "wait, or add --fresh if no other client uses them");
            }
        }

        /** A node that is down does not vote either. */
        private static long upSeconds(RedisNode node) {
            try (AdminClient redis = node.connect()) {
                return Long.parseLong(redis.info("uptime_in_seconds"));
            } catch (IOException | RuntimeException e) {
                return 0;
            }
        }
    }
}
