package dev.redlock.loadtest.chaos;

import dev.redlock.loadtest.BuildVersion;
import dev.redlock.loadtest.Main;
import dev.redlock.loadtest.faults.NetworkRun;
import dev.redlock.loadtest.nodes.RedisNodes;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/**
 * Hurts real nodes while worker processes lock over them, and says whether the lock held.
 *
 * @threading caller-confined
 */
@Command(name = "chaos", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        description = "Kills, restarts, wipes, pauses and cuts off real nodes, and pauses and kills processes that "
                + "lock over them; then proves from their records whether two ever held one lock.",
        footer = {"", "Examples:", "  load-test chaos --duration 30s        a short run",
            "  load-test chaos --seed 42 --duration 30s   the same plan again",
            "  load-test chaos --majority-loss --duration 10m",
            "  load-test chaos --namespaces --duration 60s   the kernel loses packets (as root)",
            "  load-test chaos --faults kill,pause --resources 1 --fenced all"})
public final class ChaosCommand implements Callable<Integer> {
    private static final long END_LIMIT_SECONDS = 15;

    @Mixin
    private ChaosOptions options;

    @Spec
    private CommandSpec spec;

    private final CountDownLatch ended = new CountDownLatch(1);

    ChaosCommand() {
        // picocli fills the fields.
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        options.check(spec.commandLine());
        if (options.isNetworkWanted()) {
            return runInNetwork();
        }
        try (RedisNodes nodes = RedisNodes.start(options.nodesContext());
                ChaosRun run = new ChaosRun(options, nodes, spec.commandLine().getOut())) {
            nodes.beforeEnd(() -> cancel(run));
            return run.run() ? Main.EXIT_GOOD : Main.EXIT_FAILED;
        } finally {
            ended.countDown();
        }
    }

    private int runInNetwork() throws IOException, InterruptedException {
        String prefix = "rl" + ProcessHandle.current().pid();
        List<String> arguments = new ArrayList<>(
                spec.root().commandLine().getParseResult().originalArgs());
        arguments.addAll(List.of("--inside", prefix));
        return NetworkRun.run(prefix, options.nodes(), Main.class, arguments);
    }

    /** Runs when the JVM is told to end. */
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
