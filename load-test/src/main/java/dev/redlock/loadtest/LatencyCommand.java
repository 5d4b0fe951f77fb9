package dev.redlock.loadtest;

import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.result.RunFolder;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.SeriesSpec;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;

/**
 * Latency against the number of nodes: the default command.
 *
 * @threading caller-confined
 */
@Command(name = "latency", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        defaultValueProvider = LatencyCommand.Defaults.class,
        description = "Measures acquire and release latency of quorum locks against the number of nodes, one cycle at "
                + "a time and under load, and checks that no two holders overlap.",
        footer = {"", "Examples:", "  load-test latency                        the full sweep, about a minute",
            "  load-test latency --nodes 3 --duration 2s --jvm-warmup 2s",
            "  load-test latency --nodes 1,3,5 --rate 500,2000   open loop: latency from the intended time",
            "  load-test latency --nodes 5 --delay 4=10ms        one of five nodes is far away",
            "  load-test latency --addresses 10.0.0.1:6379,10.0.0.2:6379,10.0.0.3:6379"})
final class LatencyCommand extends LabCommand {
    private String exclusion = "";

    LatencyCommand() {
        // picocli fills the fields.
    }

    @Override
    long totalMs() {
        long contests = (long) nodeOptions().counts().size() * clientOptions().drivers().size();
        return turnsMs(loadOptions().stepCount()) + contests * Lab.contestMs();
    }

    @Override
    void measure(Lab lab, RunFolder folder) throws IOException, InterruptedException {
        lab.warmUp();
        takeTurns((driver, nodeCount, repetition) -> measure(lab, driver, nodeCount, repetition));
        exclusion = lab.exclusion();
    }

    private void measure(Lab lab, LockDriver driver, int nodeCount, int repetition)
            throws IOException, InterruptedException {
        try (Clients clients = lab.open(driver, nodeCount)) {
            for (SeriesSpec step : loadOptions().steps(driver.name(), nodeCount, repetition)) {
                lab.measure(step, driver, clients);
            }
        }
        if (repetition == 1) {
            lab.contest(driver, nodeCount);
        }
    }

    @Override
    List<String> conclusions(RunResult result) {
        return pass(result, "no two holders overlapped in " + exclusion);
    }

    @Override
    String table(RunResult result) {
        return SweepTable.of(result);
    }

    /**
     * What this command does unless told otherwise.
     *
     * @threading immutable
     */
    static final class Defaults extends OptionDefaults {
        Defaults() {
            super(Map.of("--nodes", "1,3,5,7", "--outstanding", "1,64", "--duration", "4500ms", "--warmup", "1s",
                    "--jvm-warmup", "8s", "--hold", "0ms", "--wait", "0ms", "--clients", "1"));
        }
    }
}
