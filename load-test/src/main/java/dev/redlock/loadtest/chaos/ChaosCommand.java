package dev.redlock.loadtest.chaos;

import dev.redlock.cli.ExitCodes;
import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.loadtest.cli.ChildJvm;
import dev.redlock.loadtest.cli.Invocation;
import dev.redlock.loadtest.cli.LabVersions;
import dev.redlock.loadtest.cli.Reports;
import dev.redlock.loadtest.driver.Drivers;
import dev.redlock.loadtest.faults.NetworkRun;
import dev.redlock.loadtest.nodes.RedisNodes;
import dev.redlock.loadtest.result.IntervalLog;
import dev.redlock.loadtest.result.MachineClass;
import dev.redlock.loadtest.result.RunFolder;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.Verdict;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** @threading caller-confined */
@Command(name = "chaos", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        description = "Kills, restarts, wipes, pauses and cuts off real nodes, and pauses and kills processes that "
                + "lock over them; then checks from their records whether two ever held one lock.",
        footer = {"  load-test chaos --duration 30s        a short run",
            "  load-test chaos --seed 42 --duration 30s   the same plan again",
            "  load-test chaos --majority-loss --duration 10m",
            "  load-test chaos --namespaces --duration 60s   the kernel drops packets (root)",
            "  load-test chaos --nodes 3 --cluster-shards 3   each node is a cluster",
            "  load-test chaos --nodes 3 --change-nodes   the list of nodes changes",
            "  load-test chaos --history chaos.history   each operation as a line",
            "  load-test chaos --tls --duration 30s   connections with TLS",
            "  load-test chaos --faults kill,pause --resources 1 --fenced all"})
public final class ChaosCommand implements Callable<Integer> {
    private static final long END_LIMIT_SECONDS = 15;

    @Mixin
    private ChaosOptions options;

    @Spec
    private CommandSpec spec;

    private final CountDownLatch ended = new CountDownLatch(1);
    private boolean isMeasured;

    @Override
    public Integer call() throws IOException, InterruptedException {
        options.check(spec.commandLine());
        if (options.isNetworkWanted()) {
            return runInNetwork();
        }
        RunFolder folder = Reports.open(spec.commandLine(), options.output, Instant.now());
        try {
            RunResult result = run(folder);
            Path shown = Reports.finish(folder, result);
            isMeasured = true;
            spec.commandLine().getOut().println("Results: " + shown);
            return result.verdict() == Verdict.PASS ? ExitCodes.GOOD : ExitCodes.FAILED;
        } finally {
            if (!isMeasured) {
                folder.abandon();
            }
            ended.countDown();
        }
    }

    private RunResult run(RunFolder folder) throws IOException, InterruptedException {
        long zeroNs = System.nanoTime();
        try (RedisNodes nodes = RedisNodes.start(options.nodesContext());
                ChaosRun run = new ChaosRun(options, nodes, spec.commandLine().getOut(), zeroNs);
                IntervalLog log = folder.log(options.spec())) {
            nodes.beforeEnd(() -> cancel(run));
            ChaosResult result = run.run(log);
            return new RunResult(spec.name(), folder.startedAt(), result.elapsedMs(),
                    Invocation.of(spec.commandLine()), Invocation.asText(spec.commandLine()),
                    LabVersions.of(List.of(Drivers.named(Drivers.DEFAULT)), nodes),
                    MachineClass.here(), List.of(result.series()), result.notes(), List.of(),
                    result.failures());
        }
    }

    private int runInNetwork() throws IOException, InterruptedException {
        String prefix = "rl" + ProcessHandle.current().pid();
        List<String> arguments = new ArrayList<>(
                spec.root().commandLine().getParseResult().originalArgs());
        arguments.addAll(List.of("--inside", prefix));
        return NetworkRun.run(prefix, options.targets(), ChildJvm.command(
                List.of("-Djava.io.tmpdir=" + System.getProperty("java.io.tmpdir")), arguments));
    }

    /** Runs on the shutdown of the JVM. */
    private void cancel(ChaosRun run) {
        run.cancel();
        try {
            if (!ended.await(END_LIMIT_SECONDS, TimeUnit.SECONDS)) {
                spec.commandLine().getErr().println("load-test: the chaos did not stop in time");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
