package dev.redlock.loadtest;

import dev.redlock.loadtest.nodes.RedisNodes;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/**
 * Latency against the number of nodes: the default command.
 *
 * @threading caller-confined
 */
@Command(name = "latency", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        description = "Measures acquire and release latency of quorum locks against the number of nodes, one cycle at "
                + "a time and under load, and checks that no two holders overlap.",
        footer = {"", "Examples:",
            "  load-test latency                        the full sweep, about a minute",
            "  load-test latency --nodes 3 --duration 2s --jvm-warmup 2s",
            "  load-test latency --addresses 10.0.0.1:6379,10.0.0.2:6379,10.0.0.3:6379"})
final class LatencyCommand implements Callable<Integer> {
    private static final long END_LIMIT_SECONDS = 5;

    @Mixin
    private LatencyOptions options;

    @Spec
    private CommandSpec spec;

    private final CountDownLatch ended = new CountDownLatch(1);

    LatencyCommand() {
        // picocli fills the fields.
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        options.check(spec.commandLine());
        try (RedisNodes nodes = RedisNodes.start(options.nodesContext())) {
            out().println(nodes.choice());
            out().flush();
            return sweep(nodes);
        } finally {
            ended.countDown();
        }
    }

    private int sweep(RedisNodes nodes) throws IOException, InterruptedException {
        LatencySweep sweep = new LatencySweep(options, nodes);
        nodes.beforeEnd(() -> cancel(sweep));
        try (Progress progress = Progress.of(LatencySweep.totalMs(options), spec.commandLine().getErr())) {
            sweep.run(progress);
        }
        return report(sweep);
    }

    /** Runs when the JVM is told to end: the load stops first, so that it does not report the ending nodes. */
    private void cancel(LatencySweep sweep) {
        sweep.cancel();
        try {
            if (!ended.await(END_LIMIT_SECONDS, TimeUnit.SECONDS)) {
                spec.commandLine().getErr().println("load-test: the load did not stop in time");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private int report(LatencySweep sweep) {
        out().printf(
                "%n%s over real nodes, closed loop, ttl %d ms, %d ms recorded per line; Java %s, %d processors%n%n",
                options.driver(), options.ttl().toMillis(), options.duration().toMillis(), Runtime.version(),
                Runtime.getRuntime().availableProcessors());
        out().println(SweepTable.of(sweep.rows()));
        if (sweep.failures().isEmpty()) {
            out().println("PASS: no two holders overlapped in " + sweep.exclusion());
        } else {
            sweep.failures().forEach(failure -> out().println("FAIL: " + failure));
        }
        out().flush();
        return sweep.failures().isEmpty() ? Main.EXIT_GOOD : Main.EXIT_FAILED;
    }

    private PrintWriter out() {
        return spec.commandLine().getOut();
    }
}
