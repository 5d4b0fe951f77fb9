package dev.redlock.loadtest.chaos;

import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.loadtest.cli.ChildJvm;
import dev.redlock.loadtest.cli.Invocation;
import dev.redlock.loadtest.cli.LabVersions;
import dev.redlock.loadtest.cli.RunCommand;
import dev.redlock.loadtest.driver.Drivers;
import dev.redlock.loadtest.result.ExclusionCheck;
import dev.redlock.loadtest.result.IntervalLog;
import dev.redlock.loadtest.result.MachineClass;
import dev.redlock.loadtest.result.RunFolder;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.trial.faults.NetworkRun;
import dev.redlock.trial.nodes.RedisNodes;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** @threading caller-confined */
@Command(name = "chaos", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        description = "Kills, restarts, wipes, pauses and cuts off real nodes, and pauses and kills processes that "
                + "lock over them; then checks from their records whether two ever held one lock.",
        footer = {"  load-test chaos --duration 30s        a short run",
            "  load-test chaos --seed 42 --duration 30s   the same plan again",
            "  load-test chaos --majority-loss --duration 10m",
            "  load-test chaos --namespaces --duration 60s   the kernel drops packets (root)",
            "  load-test chaos --nodes 3 --cluster-shards 3   each node is a cluster",
            "  load-test chaos --sentinels --namespaces --ttl 1s   a primary that fails over",
            "  load-test chaos --nodes 3 --change-nodes   the list of nodes changes",
            "  load-test chaos --history chaos.history   each operation as a line",
            "  load-test chaos --retain --resources 12 --ttl 6s   retained locks",
            "  load-test chaos --tls --duration 30s   connections with TLS",
            "  load-test chaos --faults kill,pause --resources 1 --fenced all"})
public final class ChaosCommand extends RunCommand {
    @Mixin
    private ChaosOptions options;

    @Override
    public Integer call() throws IOException, InterruptedException {
        options.check(line());
        return options.isNetworkWanted() ? runInNetwork() : record(options.output, options.nodesContext());
    }

    @Override
    protected RunResult run(RunFolder folder, RedisNodes nodes) throws IOException, InterruptedException {
        long zeroNs = System.nanoTime();
        try (ChaosRun run = new ChaosRun(options, nodes, out(), zeroNs);
                IntervalLog log = folder.log(options.spec())) {
            cancelAtEnd(nodes, run::cancel);
            ChaosRun.Result result = run.run(log);
            return new RunResult(line().getCommandName(), folder.startedAt(), result.elapsedMs(),
                    Invocation.of(line()), Invocation.asText(line()),
                    LabVersions.of(List.of(Drivers.named(Drivers.DEFAULT)), nodes), MachineClass.here(),
                    List.of(result.series()), ExclusionCheck.NONE, result.notes(), List.of(), result.failures());
        }
    }

    @Override
    protected void print(RunResult result, Path report) {
        out().println("Results: " + report);
    }

    private int runInNetwork() throws IOException, InterruptedException {
        String prefix = "rl" + ProcessHandle.current().pid();
        List<String> arguments = new ArrayList<>(line().getParent().getParseResult().originalArgs());
        arguments.addAll(List.of("--inside", prefix));
        return NetworkRun.run(prefix, options.hosts(), ChildJvm.command(
                List.of("-Djava.io.tmpdir=" + System.getProperty("java.io.tmpdir")), arguments));
    }
}
