package dev.redlock.loadtest.start;

import dev.redlock.cli.ExitCodes;
import dev.redlock.cli.Options;
import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.loadtest.cli.ChildJvm;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.TemporaryFolders;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** @threading caller-confined */
@Command(name = "first-second", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class,
        sortOptions = false,
        description = {"Measures the first lock of new processes, and their first second of requests, each of which "
                + "takes a lock in a blocking thread: in a cold JVM, with an archive of class data, and with the AOT "
                + "cache of JDK 25, in turns.",
            "Archive and cache come from one process before, as the guide on tuning describes. Both need classes from "
                    + "a jar: run the program, not its classes. Times count from the start of the process, latencies "
                    + "from the intended time of a request; medians over the rounds (least - most)."},
        footer = {"  load-test first-second", "  load-test first-second --nodes 1 --rate 200 --rounds 20"})
public final class FirstSecondCommand implements Callable<Integer> {
    private static final int LIMIT_SECONDS = 60;
    private static final int AOT_CACHE_JDK = 25;
    private static final String[] NAMES = {"main, ms", "connected, ms", "first lock, ms", "p50, us", "p90, us",
        "p99, us", "max, us"};

    @Option(names = "--nodes", paramLabel = "COUNT", defaultValue = "3",
            description = "Nodes to start (default: ${DEFAULT-VALUE}).")
    private int nodeCount;

    @Option(names = "--rounds", paramLabel = "COUNT", defaultValue = "10",
            description = "Processes of each form (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(names = "--rate", paramLabel = "R", defaultValue = "1000",
            description = "Requests in the first second (default: ${DEFAULT-VALUE}).")
    private int rate;

    @Option(names = "--threads", paramLabel = "COUNT", defaultValue = "16",
            description = "Threads that serve the requests (default: ${DEFAULT-VALUE}).")
    private int threads;

    @Option(names = "--forms", split = ",", paramLabel = "FORM", defaultValue = "COLD,CDS,AOT",
            description = "${COMPLETION-CANDIDATES} (default: those that this JDK has).")
    private List<Form> forms;

    @Spec
    private CommandSpec spec;

    /**
     * A form of the JVM.
     *
     * @threading immutable
     */
    enum Form {
        COLD {
            @Override
            List<String> training(Path file) {
                return List.of();
            }

            @Override
            List<String> use(Path file) {
                return List.of();
            }
        },
        CDS {
            @Override
            List<String> training(Path file) {
                return List.of("-XX:ArchiveClassesAtExit=" + file);
            }

            @Override
            List<String> use(Path file) {
                return List.of("-XX:SharedArchiveFile=" + file);
            }
        },
        AOT {
            @Override
            List<String> training(Path file) {
                return List.of("-XX:AOTCacheOutput=" + file);
            }

            @Override
            List<String> use(Path file) {
                return List.of("-XX:AOTCache=" + file);
            }
        };

        abstract List<String> training(Path file);

        abstract List<String> use(Path file);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        CommandLine line = spec.commandLine();
        Options.requireRange(line, "--nodes", nodeCount, 1, RedisNodesContext.COUNT_MAX);
        Options.requireRange(line, "--rounds", rounds, 1, 1_000);
        Options.requireRange(line, "--rate", rate, 1, 100_000);
        Options.requireRange(line, "--threads", threads, 1, 1_000);
        Options.requireDistinct(line, "--forms", forms);
        List<Form> used = new ArrayList<>(forms);
        if (Runtime.version().feature() < AOT_CACHE_JDK) {
            used.remove(Form.AOT);
        }
        Options.require(line, !used.isEmpty(), "--forms leaves none: AOT needs JDK " + AOT_CACHE_JDK + ", this is "
                + Runtime.version().feature());
        Path folder = TemporaryFolders.create("first-second-");
        try (RedisNodes nodes = RedisNodes.start(new RedisNodesContext().count(nodeCount))) {
            return measure(used, folder, String.join(",", nodes.addresses()));
        } catch (IllegalStateException e) {
            line.getOut().println("FAIL: " + e.getMessage());
            return ExitCodes.FAILED;
        } finally {
            TemporaryFolders.delete(folder);
        }
    }

    private int measure(List<Form> used, Path folder, String addresses) throws IOException, InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        Map<Form, List<double[]>> figures = new EnumMap<>(Form.class);
        for (Form form : used) {
            Path file = folder.resolve(form + ".bin");
            if (form != Form.COLD) {
                run(form + ", training", form.training(file), folder, addresses);
                out.printf(Locale.ROOT, "%s: %.0f MB%n", form, Files.size(file) / 1e6);
            }
            figures.put(form, new ArrayList<>());
        }
        for (int round = 0; round < rounds; round++) {
            for (Form form : used) {
                figures.get(form).add(run(form + "", form.use(folder.resolve(form + ".bin")), folder, addresses));
            }
        }
        out.printf(Locale.ROOT, "%nJDK %s, %d nodes, %d requests in the first second on %d threads, %d processes of "
                + "each form%n%n| form | %s |%n|---|%s%n", Runtime.version(), nodeCount, rate, threads, rounds,
                String.join(" | ", NAMES), "---|".repeat(NAMES.length));
        figures.forEach((form, turns) -> out.println("| " + form + " | " + String.join(" | ", cells(turns)) + " |"));
        out.flush();
        return ExitCodes.GOOD;
    }

    private static List<String> cells(List<double[]> turns) {
        List<String> cells = new ArrayList<>();
        for (int i = 0; i < NAMES.length; i++) {
            int figure = i;
            double[] sorted = turns.stream().mapToDouble(turn -> turn[figure]).sorted().toArray();
            String format = sorted[sorted.length / 2] < 10 ? "%.1f (%.1f - %.1f)" : "%.0f (%.0f - %.0f)";
            cells.add(String.format(Locale.ROOT, format, sorted[sorted.length / 2], sorted[0],
                    sorted[sorted.length - 1]));
        }
        return cells;
    }

    /** One process; its messages go to a file, which a failure shows. */
    private double[] run(String name, List<String> options, Path folder, String addresses)
            throws IOException, InterruptedException {
        Path messages = folder.resolve("messages");
        Path printed = folder.resolve("printed");
        List<String> command = ChildJvm.command(options, System.getProperty("java.class.path"),
                FirstSecond.class.getName(), List.of(Long.toString(System.nanoTime()), Integer.toString(rate),
                        Integer.toString(threads), addresses));
        Process process = new ProcessBuilder(command).redirectOutput(printed.toFile())
                .redirectError(messages.toFile())
                .start();
        boolean isEnded;
        try {
            isEnded = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
        } finally {
            process.destroyForcibly();
        }
        String text = Files.readString(printed, StandardCharsets.UTF_8);
        String[] words = text.lines()
                .filter(line -> line.startsWith(FirstSecond.FIGURES))
                .findFirst()
                .map(line -> line.substring(FirstSecond.FIGURES.length()).split(" "))
                .orElse(new String[0]);
        if (!isEnded || process.exitValue() != 0 || words.length != NAMES.length) {
            throw new IllegalStateException(name + ": the process " + (isEnded
                    ? "has ended with " + process.exitValue()
                    : "did not end within " + LIMIT_SECONDS + " s") + ": "
                    + (Files.readString(messages, StandardCharsets.UTF_8) + text).strip());
        }
        return Arrays.stream(words).mapToDouble(Double::parseDouble).toArray();
    }
}
