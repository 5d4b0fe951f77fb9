package dev.redlock.loadtest.compare;

import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.loadtest.cli.OptionDefaults;
import dev.redlock.loadtest.cli.Options;
import dev.redlock.loadtest.cli.TlsFileOptions;
import dev.redlock.loadtest.driver.Drivers;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.measure.Lab;
import dev.redlock.loadtest.measure.LabCommand;
import dev.redlock.loadtest.nodes.NodeUris;
import dev.redlock.loadtest.result.RunFolder;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.OptionSpec;

/**
 * Measures drivers side by side, each in its own JVM, in turns.
 *
 * @threading caller-confined, except for {@link #onCancel}
 */
@Command(name = "compare", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        defaultValueProvider = CompareCommand.Defaults.class,
        description = {"Measures lock clients side by side: throughput, latency, and the cost of a cycle "
                + "for the client and the servers.",
            "Each driver has a JVM of its own, warmed up once and idle while the others are measured. At every node "
                    + "count and load they take turns (A B A B); medians and the spread over the repetitions are "
                    + "shown, and the ratio to the first driver."},
        footer = {"  load-test compare                                  about two minutes",
            "  load-test compare --driver redlock,redlock@nio,redlock@epoll --nodes 5",
            "  load-test compare --driver redlock,redlock-blocking --outstanding 1,16,64",
            "  load-test compare --driver redlock-scripts-each,lettuce-scripts --nodes 5",
            "  load-test compare --driver redlock,lettuce-batched --rate 5000,20000"})
public final class CompareCommand extends LabCommand {
    /** Options for the nodes and for the whole run; the driver processes get all others. */
    private static final Set<String> OWN_OPTIONS = Set.of("--driver", "--nodes", "--addresses", "--source",
            "--pin", "--unix-sockets", "--tls", "--tls-ca", "--tls-cert", "--tls-key", "--delay", "--fresh", "--output",
            "--repetitions");

    private final List<DriverProcess> processes = new CopyOnWriteArrayList<>();
    private List<String> driverArguments = List.of();

    CompareCommand() {
        // picocli fills the fields.
    }

    @Override
    protected void check(CommandLine line) {
        Options.require(line, nodeOptions().clusterShards() == 0,
                "--cluster-shards: compare measures over single masters; use throughput or latency");
        List<String> arguments = new ArrayList<>();
        for (OptionSpec option : line.getParseResult().matchedOptions()) {
            if (OWN_OPTIONS.contains(option.longestName())) {
                continue;
            }
            if (option.arity().max() == 0) {
                arguments.add(option.longestName());
            } else {
                option.originalStringValues().forEach(value -> arguments.add(option.longestName() + "=" + value));
            }
        }
        driverArguments = arguments;
    }

    @Override
    protected long totalMs() {
        return turnsMs(loadOptions().stepCount()) + Lab.contestMs() * clientOptions().drivers().size();
    }

    @Override
    protected void measure(Lab lab, RunFolder folder) throws IOException, InterruptedException {
        lab.note("each driver ran in a JVM of its own (" + String.join(" ", DriverProcess.JVM_OPTIONS)
                + "), idle while others were measured; at every node count and load the drivers took turns");
        lab.note(singleNodeNote());
        List<String> arguments = new ArrayList<>(driverArguments);
        arguments.addAll(TlsFileOptions.arguments(lab.tlsFiles()));
        try {
            // One after the other: JVMs that start at the same time slow each other down.
            for (LockDriver driver : clientOptions().drivers()) {
                DriverProcess process = DriverProcess.start(driver.name(), arguments);
                processes.add(process);
                warmUp(lab, folder, driver, process);
            }
            for (int nodeCount : nodeOptions().counts()) {
                for (int step = 0; step < loadOptions().stepCount(); step++) {
                    measureStep(lab, folder, nodeCount, step);
                }
            }
        } finally {
            for (DriverProcess process : processes) {
                process.close();
            }
        }
        for (LockDriver driver : clientOptions().drivers()) {
            contest(lab, driver);
        }
    }

    private void contest(Lab lab, LockDriver driver) throws InterruptedException {
        try {
            lab.contest(driver, nodeOptions().countMax());
        } catch (IOException e) {
            lab.fail(driver.name() + ", exclusion check: " + e.getMessage());
        }
    }

    private String singleNodeNote() {
        List<String> singles = clientOptions().drivers()
                .stream()
                .filter(driver -> !driver.isQuorum())
                .map(LockDriver::name)
                .toList();
        return singles.isEmpty()
                ? "every driver asks all nodes for a majority"
                : String.join(" and ", singles) + " lock on the first node only, whatever N is: no majority, no "
                        + "protection against the loss of that node";
    }

    private void warmUp(Lab lab, RunFolder folder, LockDriver driver, DriverProcess process)
            throws IOException, InterruptedException {
        if (loadOptions().jvmWarmup().isZero()) {
            return;
        }
        String title = "warming up " + driver.name();
        DriverReply reply = ask(lab, folder, process, null, nodeOptions().countMax(), title,
                loadOptions().jvmWarmup().toMillis());
        if (reply.error() != null) {
            lab.fail(title + ": " + reply.error());
        }
    }

    private void measureStep(Lab lab, RunFolder folder, int nodeCount, int step)
            throws IOException, InterruptedException {
        for (int repetition = 1; repetition <= loadOptions().repetitions(); repetition++) {
            for (int i = 0; i < processes.size(); i++) {
                LockDriver driver = clientOptions().drivers().get(i);
                SeriesSpec spec = loadOptions().steps(driver.name(), nodeCount, repetition).get(step);
                List<NodeAddress> addresses = lab.addresses(nodeCount);
                OptionalDouble before = ServerCpu.us(addresses, lab.tlsFiles());
                DriverReply reply = ask(lab, folder, processes.get(i), spec, nodeCount, spec.title(),
                        loadOptions().warmup().plus(loadOptions().duration()).toMillis());
                if (reply.error() == null) {
                    lab.add(withServerCpu(reply.series(), before, ServerCpu.us(addresses, lab.tlsFiles())));
                } else {
                    lab.fail(spec.title() + ": " + reply.error());
                }
            }
        }
    }

    private DriverReply ask(Lab lab, RunFolder folder, DriverProcess process, SeriesSpec spec, int nodeCount,
            String title, long plannedMs) throws IOException, InterruptedException {
        lab.begin(title);
        List<String> addresses = lab.addresses(nodeCount).stream().map(NodeUris::of).toList();
        List<String> tlsAddresses = lab.tlsAddresses(nodeCount).stream().map(NodeUris::of).toList();
        DriverReply reply = process.ask(
                new DriverTask(spec, addresses, tlsAddresses, nodeOptions().isFresh(), lab.freshKeyPrefix(),
                        lab.offsetMs(), folder.path().toAbsolutePath().toString(), folder.startedAt().toString()),
                lab::tick);
        lab.end(plannedMs);
        return reply;
    }

    private static SeriesResult withServerCpu(SeriesResult one, OptionalDouble beforeUs, OptionalDouble afterUs) {
        long cycles = one.tally().acquires().values().stream().mapToLong(Long::longValue).sum();
        if (beforeUs.isEmpty() || afterUs.isEmpty() || cycles == 0) {
            return one;
        }
        Map<String, Double> figures = new LinkedHashMap<>(one.figures());
        figures.put(CompareTable.SERVER_CPU, (afterUs.getAsDouble() - beforeUs.getAsDouble()) / cycles);
        return new SeriesResult(one.spec(), one.span(), one.tally(), one.operations(), one.cost(), figures,
                one.counters(), one.samples(), one.marks(), one.failures());
    }

    @Override
    protected void onCancel(Lab lab) {
        processes.forEach(DriverProcess::abandon);
        lab.cancel();
    }

    @Override
    protected List<String> conclusions(RunResult result) {
        String drivers = clientOptions().drivers()
                .stream()
                .map(LockDriver::version)
                .distinct()
                .collect(
                        Collectors.joining(", "));
        List<String> conclusions = new ArrayList<>(List.of(drivers));
        conclusions.addAll(pass(result, "every call succeeded, and no two holders overlapped"));
        return conclusions;
    }

    @Override
    protected String table(RunResult result) {
        return CompareTable.of(result);
    }

    /**
     * The defaults of this command.
     *
     * @threading immutable
     */
    static final class Defaults extends OptionDefaults {
        Defaults() {
            super(Map.of("--driver", String.join(",", Drivers.COMPARED), "--nodes", "3", "--outstanding", "1,64",
                    "--duration", "1500ms", "--warmup", "500ms", "--jvm-warmup", "4s", "--hold", "0ms", "--wait",
                    "0ms", "--clients", "1", "--repetitions", "2"));
        }
    }
}
