package dev.redlock.loadtest.commit;

import dev.redlock.cli.AdminClient;
import dev.redlock.cli.ExitCodes;
import dev.redlock.cli.Options;
import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.trial.nodes.FreePorts;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * Compares the working tree with a commit: lock cycles of both on the same nodes, in turns.
 *
 * @threading caller-confined
 */
@Command(name = "versus-commit", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class,
        sortOptions = false,
        description = {"Compares the speed of the working tree with that of a commit. It builds both in a temporary "
                + "folder and starts nodes. Both clients, each in a JVM of its own with one event loop, take turns in "
                + "a closed loop of callbacks, or of threads that block in acquire and close.",
            "Prints the cycles per second in each of the first five seconds of a JVM, medians over the turns, and "
                    + "medians of the ratios of each turn with their range. Needs git, a JDK and /proc. Run it inside "
                    + "the project."},
        footer = {"  load-test versus-commit", "  load-test versus-commit --commit HEAD --nodes 3 --commands AUTO/64",
            "  load-test versus-commit --callers platform --in-flight 1,16"})
public final class VersusCommitCommand implements Callable<Integer> {

    static final String TREE = "working tree";
    private static final String TURN = "turn";
    private static final String WARM_UP = "warm-up";
    /** The columns of which a table shows ratios. */
    private static final List<Integer> RATIOS = List.of(0, 1, 3, 5, 8, 9);
    private static final Set<String> FORMS = Set.of(ClosedLoop.CALLBACKS, ClosedLoop.PLATFORM, ClosedLoop.VIRTUAL);
    private static final int LIMIT_SECONDS = 60;
    private static final int CURVE_SECONDS = 5;

    @Option(names = "--commit", paramLabel = "COMMIT", defaultValue = "d5dd110",
            description = "The other contender (default: ${DEFAULT-VALUE}).")
    private String commit;

    @Option(names = "--nodes", split = ",", paramLabel = "COUNT", defaultValue = "3,5",
            description = "Node counts (default: ${DEFAULT-VALUE}).")
    private List<Integer> nodeCounts;

    @Option(names = "--in-flight", split = ",", paramLabel = "COUNT", defaultValue = "64,1",
            description = "Cycles in flight; the first number is that of the warm-up (default: ${DEFAULT-VALUE}).")
    private List<Integer> inFlightCounts;

    @Option(names = "--callers", split = ",", paramLabel = "FORM", defaultValue = ClosedLoop.CALLBACKS,
            description = "callbacks, or platform or virtual threads that block, of which each cycle in flight has one "
                    + "(default: ${DEFAULT-VALUE}).")
    private List<String> forms;

    @Option(names = "--commands", split = ",", paramLabel = "MODE", defaultValue = "AUTO/64,SCRIPTS/1",
            description = "Command modes, each with the most releases in one call (default: ${DEFAULT-VALUE}).")
    private List<String> modes;

    @Option(names = "--turns", paramLabel = "COUNT", defaultValue = "5",
            description = "Turns of each contender (default: ${DEFAULT-VALUE}).")
    private int turns;

    @Option(names = "--seconds", paramLabel = "SECONDS", defaultValue = "3",
            description = "Seconds of a turn (default: ${DEFAULT-VALUE}).")
    private double seconds;

    @Option(names = "--warmup", paramLabel = "SECONDS", defaultValue = "8",
            description = "Seconds before the first turn (default: ${DEFAULT-VALUE}).")
    private double warmupSeconds;

    @Option(names = "--starts", paramLabel = "COUNT", defaultValue = "3",
            description = "JVMs of each contender that show the warm-up; the last one takes the turns "
                    + "(default: ${DEFAULT-VALUE}).")
    private int starts;

    @Option(names = "--floor", paramLabel = "PROGRAM",
            description = "A third contender: \"PROGRAM epoll evalsha N IN_FLIGHT SECONDS\", with BASE_PORT, "
                    + "SERVER_PIDS and WARMUP in its environment, prints its figures as CSV.")
    private Path floor;

    @Option(names = "--csv", paramLabel = "FILE",
            description = "The file for the figures of each turn (default: versus-commit.csv in the folder for "
                    + "temporary files).")
    private Path csv = Path.of(System.getProperty("java.io.tmpdir"), "versus-commit.csv");

    @Spec
    private CommandSpec spec;

    private final Map<String, String> given;
    private final Turns rows = new Turns();

    public VersusCommitCommand() {
        this(Map.of());
    }

    /** @param given class paths by contender, which need no build; empty to build */
    VersusCommitCommand(Map<String, String> given) {
        this.given = given;
        // picocli fills the other fields.
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        Options.require(spec.commandLine(), turns >= 1 && starts >= 1 && seconds > 0 && warmupSeconds > 0
                && modes.stream().allMatch(mode -> mode.matches("[A-Z]+/[0-9]+")) && FORMS.containsAll(forms),
                "--turns and --starts are at least 1, --seconds and --warmup more than 0, --commands like AUTO/64, and "
                        + "--callers of " + FORMS.stream().sorted().toList());
        for (int count : nodeCounts) {
            Options.requireRange(spec.commandLine(), "--nodes", count, 1, RedisNodesContext.COUNT_MAX);
        }
        for (int count : inFlightCounts) {
            Options.requireRange(spec.commandLine(), "--in-flight", count, 1, ClosedLoop.LANES_MAX);
        }
        Map<String, String> classPaths = new LinkedHashMap<>(given);
        try (CommitBuild build = given.isEmpty() ? new CommitBuild(Path.of("")) : null) {
            if (build != null) {
                classPaths.put(commit, build.commit(commit));
                classPaths.put(TREE, build.workingTree());
            }
            for (int count : nodeCounts) {
                for (String mode : modes) {
                    try (RedisNodes nodes = RedisNodes.start(new RedisNodesContext().count(count))) {
                        compare(classPaths, nodes, mode, out);
                    }
                }
            }
            return ExitCodes.GOOD;
        } catch (IllegalStateException e) {
            out.println("FAIL: " + e.getMessage());
            return ExitCodes.FAILED;
        } finally {
            rows.write(csv);
            out.println("each turn: " + csv);
            out.flush();
        }
    }

    private void compare(Map<String, String> classPaths, RedisNodes nodes, String mode, PrintWriter out)
            throws IOException, InterruptedException {
        int basePort = FreePorts.next();
        List<AdminClient> admins = moved(nodes, basePort);
        List<String> arguments = new ArrayList<>(List.of(mode.split("/")));
        arguments.add(Turns.joined(nodes.nodes().stream().mapToLong(node -> node.pid().orElseThrow()).boxed()));
        arguments.add(Turns.joined(IntStream.range(0, nodes.size()).mapToObj(i -> "127.0.0.1:" + (basePort + i))));
        String load = nodes.size() + "," + mode + ",";
        Map<String, Contender> contenders = new LinkedHashMap<>();
        try {
            for (int start = 1; start <= starts; start++) {
                for (Map.Entry<String, String> one : classPaths.entrySet()) {
                    if (start > 1) {
                        contenders.get(one.getKey()).close();
                    }
                    Contender client = Contender.Client.start(one.getKey(), one.getValue(), arguments, LIMIT_SECONDS);
                    contenders.put(one.getKey(), client);
                    warmUp(client, load, one.getKey());
                }
            }
            reportWarmUp(contenders.keySet(), load + inFlightCounts.get(0), out);
            if (floor != null) {
                contenders.put("floor", new Contender.Floor(floor, admins, basePort, arguments.get(2)));
            }
            for (String form : forms) {
                for (int inFlight : inFlightCounts) {
                    takeTurns(contenders, load, form, inFlight);
                    reportTurns(contenders.keySet(), load + inFlight + of(form), out);
                }
            }
        } finally {
            contenders.values().forEach(Contender::close);
            admins.forEach(AdminClient::close);
        }
    }

    /** Moves the nodes to ports in a row, where the floor expects them. */
    private static List<AdminClient> moved(RedisNodes nodes, int basePort) throws IOException {
        List<AdminClient> admins = new ArrayList<>();
        for (RedisNode node : nodes.nodes()) {
            AdminClient admin = node.connect();
            Object reply = admin.call("CONFIG", "SET", "port", Integer.toString(basePort + node.index()));
            if (!"OK".equals(reply)) {
                throw new IllegalStateException(node + " does not take another port: " + reply);
            }
            admins.add(admin);
        }
        return admins;
    }

    /** Added to the cycles in flight, unless they are callbacks. */
    private static String of(String form) {
        return form.equals(ClosedLoop.CALLBACKS) ? "" : " " + form;
    }

    private void warmUp(Contender client, String load, String name) throws IOException, InterruptedException {
        int inFlight = inFlightCounts.get(0);
        for (int second = 1; second <= CURVE_SECONDS; second++) {
            double[] figures = client.measure(forms.get(0), inFlight, Math.min(1, warmupSeconds / CURVE_SECONDS));
            rows.add(load + inFlight, name, WARM_UP, second, figures);
        }
        client.measure(forms.get(0), inFlight, Math.max(0, warmupSeconds - CURVE_SECONDS));
    }

    private void takeTurns(Map<String, Contender> contenders, String load, String form, int inFlight)
            throws IOException, InterruptedException {
        for (int turn = 0; turn <= turns; turn++) {
            for (Map.Entry<String, Contender> one : contenders.entrySet()) {
                double[] figures = one.getValue().measure(form, inFlight, turn == 0 ? Math.min(1, seconds) : seconds);
                // Not the first one, because so many in flight are new to the client.
                if (turn > 0) {
                    rows.add(load + inFlight + of(form), one.getKey(), TURN, turn, figures);
                }
            }
        }
    }

    private void reportWarmUp(Set<String> contenders, String load, PrintWriter out) {
        out.printf("%nN, commands, in flight: %s%n%-26s", load, "  cycles/s in second");
        IntStream.rangeClosed(1, CURVE_SECONDS).forEach(second -> out.printf(" %9d", second));
        for (String name : contenders) {
            out.printf("%n  %-24s", name);
            IntStream.rangeClosed(1, CURVE_SECONDS)
                    .forEach(second -> out.printf(Locale.ROOT, " %9.0f", Turns.median(rows.of(load, name, WARM_UP)
                            .filter(row -> row.number() == second)
                            .map(Turns.Turn::figures), 0)));
        }
        out.println();
        out.flush();
    }

    private void reportTurns(Set<String> contenders, String load, PrintWriter out) {
        out.printf("%nN, commands, in flight: %s%n%-16s", load, "  medians");
        ClosedLoop.FIGURES.forEach(column -> out.printf(" %11s", column));
        for (String name : contenders) {
            out.printf("%n  %-14s", name);
            IntStream.range(0, ClosedLoop.FIGURES.size())
                    .forEach(i -> out.printf(Locale.ROOT, i == 0 ? " %11.0f" : " %11.2f",
                            Turns.median(rows.of(load, name, TURN).map(Turns.Turn::figures), i)));
        }
        for (String name : contenders) {
            if (!name.equals(TREE)) {
                out.printf("%n  ratio to %s:", name);
                RATIOS.forEach(figure -> out.print(ratio(load, name, figure)));
            }
        }
        out.println();
        out.flush();
    }

    private String ratio(String load, String name, int figure) {
        List<Turns.Turn> others = rows.of(load, name, TURN).toList();
        List<double[]> ratios = rows.of(load, TREE, TURN)
                .map(row -> new double[]{row.figures()[figure] / others.get(row.number() - 1).figures()[figure]})
                .toList();
        return String.format(Locale.ROOT, "  %s %.3f (%.3f - %.3f)", ClosedLoop.FIGURES.get(figure),
                Turns.median(ratios.stream(), 0),
                ratios.stream().mapToDouble(one -> one[0]).min().orElseThrow(),
                ratios.stream().mapToDouble(one -> one[0]).max().orElseThrow());
    }
}
