package dev.redlock.loadtest.cli;

import dev.redlock.loadtest.driver.Drivers;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;

/**
 * The default values of options that have another one in each command.
 *
 * @threading immutable
 */
public final class OptionDefaults implements CommandLine.IDefaultValueProvider {
    private static final Map<String, String> COMPARE = Map.of("--driver", String.join(",", Drivers.COMPARED),
            "--nodes", "3", "--in-flight", "1,64", "--duration", "1500ms", "--warmup", "500ms", "--jvm-warmup", "4s",
            "--repetitions", "2");
    private static final Map<String, Map<String, String>> BY_COMMAND = Map.of(
            "latency", Map.of("--nodes", "1,3,5,7", "--in-flight", "1,64", "--duration", "800ms", "--warmup", "200ms",
                    "--repetitions", "6", "--pin", "auto"),
            "throughput", Map.of("--nodes", "1,3,5", "--in-flight", "1,4,16,64,256,1024", "--duration", "2s",
                    "--warmup", "500ms"),
            "compare", COMPARE, "compare-driver", COMPARE,
            "contention", Map.of("--nodes", "3", "--in-flight", "2,8,32", "--keys", "1", "--duration", "5s",
                    "--warmup", "1s", "--jvm-warmup", "4s", "--hold", "1ms", "--wait", "5s", "--clients", "2"),
            "retain", Map.of("--driver", "redlock-blocking,redlock-retained", "--nodes", "3", "--in-flight", "1",
                    "--duration", "3s", "--warmup", "300ms", "--wait", "10s", "--clients", "2", "--repetitions", "3"),
            "leases", Map.of("--nodes", "3", "--rate", "100", "--in-flight", "8", "--duration", "1m", "--warmup",
                    "1s"),
            "tails", Map.of("--nodes", "3", "--in-flight", "64", "--duration", "1m", "--warmup", "1s", "--repetitions",
                    "10"),
            "soak", Map.of("--nodes", "3", "--in-flight", "64", "--duration", "1h", "--warmup", "5s"));

    /** Null for the default in the annotation of the option. */
    @Override
    public String defaultValue(ArgSpec argument) {
        return argument instanceof OptionSpec option
                ? BY_COMMAND.get(argument.command().name()).get(option.longestName())
                : null;
    }
}
