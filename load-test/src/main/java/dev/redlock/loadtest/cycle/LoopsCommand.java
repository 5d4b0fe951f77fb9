package dev.redlock.loadtest.cycle;

import dev.redlock.LoopClient;
import dev.redlock.RedlockContext;
import dev.redlock.api.CommandMode;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.cli.ExitCodes;
import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.loadtest.driver.ApiForm;
import dev.redlock.loadtest.driver.LockSession;
import dev.redlock.loadtest.driver.RedlockDriver;
import dev.redlock.loadtest.rig.CostMeter;
import dev.redlock.loadtest.rig.LoadPlan;
import dev.redlock.loadtest.rig.LoadResult;
import dev.redlock.loadtest.rig.LoadTestRig;
import dev.redlock.loadtest.rig.Usage;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine;

/**
 * Measures whether the event loops of one client delay each other. Each loop works alone, then all of them work at
 * once, in turns. All turns are in one process, so that the compiled code is the same. The baseline is as many clients
 * with one loop each, which share nothing but the process: their throughput at once is the most that the machine can
 * do.
 *
 * @threading caller-confined
 */
@Command(name = "loops", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        description = {"Measures whether the event loops of one client delay each other: closed loops of lock cycles, "
                + "one by one and all at once, in turns, on model nodes inside the loops. As many clients with a loop "
                + "each take turns with them: the baseline. It needs as many idle cores as loops.",
            "Prints cycles per second and CPU time of the loops per cycle of one loop, of all loops of the client, and "
                    + "of the clients apart, and their ratios to one loop."},
        footer = {"  load-test loops --warmup 12", "  load-test loops --loops 4 --in-flight 16"})
public final class LoopsCommand implements Callable<Integer> {

    private static final CostMeter.Scope SCOPE = new CostMeter.Scope("redlock-", List.of());
    private static final Duration SETTLE = Duration.ofMillis(50);
    private static final int LOOPS_MAX = 64;
    private static final int NODES_MAX = 63;
    private static final int IN_FLIGHT_MAX = 1024;

    @Option(names = "--in-process", paramLabel = "COUNT", defaultValue = "3",
            description = "Model nodes inside each loop (default: ${DEFAULT-VALUE}).")
    private int nodeCount;

    @Option(names = "--loops", paramLabel = "COUNT", defaultValue = "2",
            description = "Event loops (default: ${DEFAULT-VALUE}).")
    private int loops;

    @Option(names = "--in-flight", paramLabel = "COUNT", defaultValue = "64",
            description = "Cycles in flight on each loop (default: ${DEFAULT-VALUE}).")
    private int inFlight;

    @Option(names = "--commands", paramLabel = "MODE", defaultValue = "AUTO",
            description = "${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private CommandMode commands;

    @Option(names = "--release-batch", paramLabel = "COUNT", defaultValue = "64",
            description = "Releases in one script call, at most (default: ${DEFAULT-VALUE}).")
    private int releaseBatchMax;

    @Option(names = "--warmup", paramLabel = "SECONDS", defaultValue = "10",
            description = "Seconds of all loops at once before the first turn (default: ${DEFAULT-VALUE}).")
    private double warmupSeconds;

    @Option(names = "--seconds", paramLabel = "SECONDS", defaultValue = "0.5",
            description = "Seconds of each turn (default: ${DEFAULT-VALUE}).")
    private double seconds;

    @Option(names = "--repetitions", paramLabel = "COUNT", defaultValue = "5",
            description = "Turns of each loop (default: ${DEFAULT-VALUE}).")
    private int repetitions;

    @Spec
    private CommandSpec spec;

    private final List<String> failures = new ArrayList<>();
    private final List<LostVotes> votes = new ArrayList<>();
    private final List<LoopTransport> transports = new ArrayList<>();

    @Override
    public Integer call() throws IOException, InterruptedException {
        check();
        PrintWriter out = spec.commandLine().getOut();
        LoopClient client = connect(loops);
        List<LoopClient> apart = IntStream.range(0, loops).mapToObj(i -> connect(1)).toList();
        try {
            report(measure(loads(client), loadApart(apart)), out);
        } finally {
            client.close();
            apart.forEach(LoopClient::close);
        }
        checkNodes();
        failures.stream().distinct().limit(3).forEach(what -> out.println("FAIL: " + what));
        out.flush();
        return failures.isEmpty() ? ExitCodes.GOOD : ExitCodes.FAILED;
    }

    private void check() {
        inRange("--in-process", nodeCount, 1, NODES_MAX);
        inRange("--loops", loops, 1, LOOPS_MAX);
        inRange("--in-flight", inFlight, 1, IN_FLIGHT_MAX);
        CycleOptions.checkReleaseBatch(spec.commandLine(), releaseBatchMax);
        inRange("--warmup", warmupSeconds, 0, 3_600);
        inRange("--seconds", seconds, 0.1, 3_600);
        inRange("--repetitions", repetitions, 1, 1_000);
    }

    private void inRange(String option, double value, double min, double max) {
        if (value < min || value > max) {
            throw new CommandLine.ParameterException(spec.commandLine(), String.format(Locale.ROOT,
                    "%s is %s: expected %s to %s", option, value, min, max));
        }
    }

    private RedlockContext context() {
        return new RedlockContext()
                .nodes(IntStream.range(0, nodeCount).mapToObj(i -> "in-process-" + i + ":1").toArray(String[]::new))
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(5))
                .commands(commands)
                .releaseBatchMax(releaseBatchMax);
    }

    private LoopClient connect(int loopCount) {
        List<LoopTransport> own = IntStream.range(0, loopCount).mapToObj(i -> new LoopTransport()).toList();
        transports.addAll(own);
        return new LoopClient(context(), own);
    }

    private void checkNodes() {
        int left = transports.stream().mapToInt(LoopTransport::heldCount).sum();
        if (left > 0) {
            failures.add(left + " locks are left on the nodes");
        }
    }

    // ---- measuring --------------------------------------------------------------------------------------------------

    /**
     * Cycles of one event loop or of several.
     *
     * @param sessions the clients, which get the resources in turn
     * @param names    the resource of each cycle in flight
     * @threading immutable
     */
    private record LoopLoad(List<LockSession> sessions, List<String> names) {
    }

    /**
     * One turn.
     *
     * @param perSecond  cycles per second
     * @param loopsUs    CPU time of the loops' threads for each cycle
     * @param otherCores cores that other processes kept busy
     * @threading immutable
     */
    private record Turn(double perSecond, double loopsUs, double otherCores) {
        @Override
        public String toString() {
            return String.format(Locale.ROOT, "%.0f cycles/s, %.2f us", perSecond, loopsUs);
        }
    }

    /**
     * Each loop of the client alone, all of them at once, and all clients of the baseline at once.
     *
     * @param alone    the mean of the loops
     * @param together the sum of the loops
     * @param apart    the sum of the clients
     * @threading immutable
     */
    private record Repetition(Turn alone, Turn together, Turn apart) {
        double ratio() {
            return together.perSecond / alone.perSecond;
        }

        double apartRatio() {
            return apart.perSecond / alone.perSecond;
        }

        double otherCores() {
            return Math.max(alone.otherCores, Math.max(together.otherCores, apart.otherCores));
        }
    }

    private List<Repetition> measure(List<LoopLoad> loads, LoopLoad apart) throws InterruptedException {
        LoopLoad together = new LoopLoad(loads.get(0).sessions(),
                loads.stream().flatMap(load -> load.names().stream()).toList());
        turn(together, duration(warmupSeconds / 2));
        turn(apart, duration(warmupSeconds / 2));
        List<Repetition> all = new ArrayList<>();
        for (int i = 0; i < repetitions && failures.isEmpty(); i++) {
            List<Turn> alone = new ArrayList<>();
            for (LoopLoad load : loads) {
                alone.add(turn(load, SETTLE));
            }
            all.add(new Repetition(mean(alone), turn(together, SETTLE), turn(apart, SETTLE)));
        }
        return all;
    }

    /** Each client has nodes of its own. */
    private LoopLoad loadApart(List<LoopClient> clients) throws IOException, InterruptedException {
        List<LockSession> sessions = new ArrayList<>();
        for (LoopClient client : clients) {
            sessions.add(session(client));
        }
        return new LoopLoad(sessions, IntStream.range(0, loops * inFlight).mapToObj(LoopsCommand::resource).toList());
    }

    /** The load of each loop of a client. */
    private List<LoopLoad> loads(LoopClient client) throws IOException, InterruptedException {
        List<LockSession> sessions = List.of(session(client));
        return LoopShares.of(client.redlock(), loops, inFlight, LoopsCommand::resource)
                .stream()
                .map(names -> new LoopLoad(sessions, names))
                .toList();
    }

    private LockSession session(LoopClient client) throws IOException, InterruptedException {
        RedlockDriver.awaitReady(client.redlock(), nodeCount);
        votes.add(new LostVotes(client.redlock()));
        return RedlockDriver.session(client.redlock(), ApiForm.CALLBACK);
    }

    private static String resource(int index) {
        return String.format(Locale.ROOT, "loops:%06d", index);
    }

    private Turn turn(LoopLoad load, Duration warmup) throws InterruptedException {
        LoadPlan plan = LoadPlan.closed(load.names().size())
                .names(load.names()::get)
                .warmup(warmup)
                .duration(duration(seconds))
                .interval(duration(seconds))
                .audited(false);
        LoadResult result = new LoadTestRig(plan, load.sessions(), SCOPE).run((elapsedNs, isMeasuring) -> {
        });
        failures.addAll(result.failures());
        votes.forEach(one -> failures.addAll(one.get()));
        Usage usage = result.usage();
        return new Turn(result.tally().cyclesPerSecond(), usage.loopCpuNs() / 1e3 / result.tally().cycles(),
                usage.otherCores());
    }

    private static Duration duration(double seconds) {
        return Duration.ofNanos((long) (seconds * 1e9));
    }

    private static Turn mean(List<Turn> turns) {
        return new Turn(turns.stream().mapToDouble(Turn::perSecond).average().orElseThrow(),
                turns.stream().mapToDouble(Turn::loopsUs).average().orElseThrow(),
                turns.stream().mapToDouble(Turn::otherCores).average().orElseThrow());
    }

    // ---- printing ---------------------------------------------------------------------------------------------------

    private void report(List<Repetition> all, PrintWriter out) {
        for (Repetition one : all) {
            out.printf(Locale.ROOT, "n=%d loops=%d out=%d each  alone %s  together %s, ratio %.2f  apart %s, ratio %.2f"
                    + "  other cores %.2f%n", nodeCount, loops, inFlight, one.alone, one.together, one.ratio(),
                    one.apart, one.apartRatio(), one.otherCores());
        }
        if (!all.isEmpty()) {
            out.printf(Locale.ROOT, "medians (least - most): together %s, apart %s, together against apart %s%n",
                    spread(all, Repetition::ratio), spread(all, Repetition::apartRatio),
                    spread(all, one -> one.ratio() / one.apartRatio()));
        }
    }

    private static String spread(List<Repetition> all, ToDoubleFunction<Repetition> figure) {
        double[] sorted = all.stream().mapToDouble(figure).sorted().toArray();
        return String.format(Locale.ROOT, "%.2f (%.2f - %.2f)", sorted[sorted.length / 2], sorted[0],
                sorted[sorted.length - 1]);
    }
}
