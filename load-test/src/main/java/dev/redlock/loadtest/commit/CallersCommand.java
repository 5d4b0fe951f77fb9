package dev.redlock.loadtest.commit;

import dev.redlock.cli.ExitCodes;
import dev.redlock.cli.Options;
import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.loadtest.driver.Drivers;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * Compares clients with callers that block: the working tree, a commit, and drivers of {@code compare}.
 *
 * @threading caller-confined
 */
@Command(name = "callers", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        description = {"Compares clients with callers that block: the working tree, a commit, and drivers of compare. "
                + "Each thread acquires and releases a lock of its own. Each client has a JVM of its own, and they "
                + "take turns on the same nodes. The working tree and the commit release by close(), the drivers wait "
                + "for the reply to a release.",
            "A row has a number of threads: for each client the locks per second, the CPU time of its process per lock "
                    + "in us, and p50 and p99 of a cycle in us; medians over the rounds. A client that fails or gives "
                    + "no figures in time is killed and gets a new process for the next row; after two such rows it "
                    + "is left out. Needs git, a JDK and /proc. Run it inside the project."},
        footer = {"  load-test callers", "  load-test callers --nodes 3 --peers jedis,redisson,lettuce",
            "  load-test callers --platform 64 --virtual 64 --rounds 9"})
public final class CallersCommand implements Callable<Integer> {

    private static final String TURN = "turn";
    private static final String COMMANDS = "AUTO";
    private static final String RELEASE_BATCH = "64";
    private static final int FAILURES_MAX = 2;
    private static final double SETTLE_SECONDS = 1;
    /** Where {@link ClosedLoop#FIGURES} has the figures of a cell. */
    private static final int PER_SECOND = 0;
    private static final int P50 = 1;
    private static final int P99 = 2;
    private static final int CLIENT_CPU = 5;

    @Option(names = "--commit", paramLabel = "COMMIT", defaultValue = "d5dd110",
            description = "The commit (default: ${DEFAULT-VALUE}).")
    private String commit;

    @Option(names = "--peers", split = ",", paramLabel = "DRIVER", defaultValue = "jedis,redisson-single,lettuce",
            description = "Drivers of compare; their callers block (default: ${DEFAULT-VALUE}).")
    private List<String> peers;

    @Option(names = "--nodes", split = ",", paramLabel = "COUNT", defaultValue = "1",
            description = "Node counts, of which each gets a table (default: ${DEFAULT-VALUE}).")
    private List<Integer> nodeCounts;

    @Option(names = "--platform", split = ",", paramLabel = "COUNT", defaultValue = "1,4,16,64,256",
            description = "Numbers of platform threads, 0 for none (default: ${DEFAULT-VALUE}).")
    private List<Integer> platformCounts;

    @Option(names = "--virtual", split = ",", paramLabel = "COUNT", defaultValue = "64,512,5000",
            description = "Numbers of virtual threads, 0 for none; left out on a JDK before 21 "
                    + "(default: ${DEFAULT-VALUE}).")
    private List<Integer> virtualCounts;

    @Option(names = "--rounds", paramLabel = "COUNT", defaultValue = "5",
            description = "Turns of each client in a row (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(names = "--seconds", paramLabel = "SECONDS", defaultValue = "2",
            description = "Seconds of a turn (default: ${DEFAULT-VALUE}).")
    private double seconds;

    @Option(names = "--warmup", paramLabel = "SECONDS", defaultValue = "8",
            description = "Seconds of a new process over all rows before its first turn (default: ${DEFAULT-VALUE}).")
    private double warmupSeconds;

    @Option(names = "--limit", paramLabel = "SECONDS", defaultValue = "30",
            description = "Seconds after the end of a turn within which a client must give its figures "
                    + "(default: ${DEFAULT-VALUE}).")
    private double limitSeconds;

    @Option(names = "--csv", paramLabel = "FILE",
            description = "The file for the figures of each turn (default: callers.csv in the folder for temporary "
                    + "files).")
    private Path csv = Path.of(System.getProperty("java.io.tmpdir"), "callers.csv");

    @Spec
    private CommandSpec spec;

    private final Map<String, String> given;
    private final Turns turns = new Turns();
    private final List<String> failures = new ArrayList<>();

    public CallersCommand() {
        this(Map.of());
    }

    /** @param given class paths of states of the project by name, which need no build; empty to build */
    CallersCommand(Map<String, String> given) {
        this.given = given;
        // picocli fills the other fields.
    }

    /**
     * The callers of a row.
     *
     * @threading immutable
     */
    private record Callers(String form, int count) {
        @Override
        public String toString() {
            return form + " " + count;
        }
    }

    /**
     * A client that may need another process.
     *
     * @threading caller-confined
     */
    private final class Entrant {
        private final String name;
        private final Starter starter;
        private Contender client;
        private int failureCount;

        Entrant(String name, Starter starter) {
            this.name = name;
            this.starter = starter;
        }

        /** Its turn of a round; the first one, of number 0, is not recorded. A failure ends its part in the row. */
        boolean takeTurn(String load, Callers callers, int number) throws IOException, InterruptedException {
            try {
                if (client == null) {
                    client = starter.start();
                    warmUp();
                }
                double[] figures = client.measure(callers.form, callers.count,
                        number == 0 ? Math.min(SETTLE_SECONDS, seconds) : seconds);
                if (figures[PER_SECOND] == 0) {
                    throw new IllegalStateException(name + ": no cycle has ended");
                }
                if (number > 0) {
                    turns.add(load, name, TURN, number, figures);
                }
                return true;
            } catch (IllegalStateException e) {
                failures.add(callers + ": " + e.getMessage());
                failureCount++;
                close();
                return false;
            }
        }

        /** Each form and number of callers is new to a client. */
        private void warmUp() throws IOException, InterruptedException {
            List<Callers> all = rows();
            for (Callers callers : all) {
                client.measure(callers.form, callers.count, warmupSeconds / all.size());
            }
        }

        boolean isLeftOut() {
            return failureCount == FAILURES_MAX;
        }

        void close() {
            if (client != null) {
                client.close();
                client = null;
            }
        }
    }

    /** @threading caller-confined */
    @FunctionalInterface
    private interface Starter {
        Contender start() throws IOException;
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        check(spec.commandLine());
        PrintWriter out = spec.commandLine().getOut();
        Map<String, String> classPaths = new LinkedHashMap<>(given);
        try (CommitBuild build = given.isEmpty() ? new CommitBuild(Path.of("")) : null) {
            if (build != null) {
                classPaths.put(VersusCommitCommand.TREE, build.workingTree());
                classPaths.put(commit, build.commit(commit));
            }
            announce(classPaths.size() + peers.size(), out);
            for (int count : nodeCounts) {
                try (RedisNodes nodes = RedisNodes.start(new RedisNodesContext().count(count))) {
                    compare(classPaths, nodes, out);
                }
            }
        } catch (IllegalStateException e) {
            failures.add(e.getMessage());
        } finally {
            turns.write(csv);
            failures.forEach(failure -> out.println("FAIL: " + failure));
            out.println("each turn: " + csv);
            out.flush();
        }
        return failures.isEmpty() ? ExitCodes.GOOD : ExitCodes.FAILED;
    }

    private void check(CommandLine line) {
        for (String peer : peers) {
            Options.requireParsed(line, "--peers", () -> Drivers.named(peer));
            LockDriver driver = Drivers.named(peer);
            Options.require(line, driver.service().isEmpty() && !driver.isWaitingForReplicas(),
                    "--peers names " + peer + ", which needs other servers: expected a driver that locks on masters");
        }
        Options.requireDistinct(line, "--peers", peers);
        for (int count : nodeCounts) {
            Options.requireRange(line, "--nodes", count, 1, RedisNodesContext.COUNT_MAX);
        }
        Stream.concat(platformCounts.stream().map(count -> new Callers("--platform", count)),
                virtualCounts.stream().map(count -> new Callers("--virtual", count)))
                .forEach(one -> Options.requireRange(line, one.form, one.count, 0, ClosedLoop.LANES_MAX));
        Options.require(line, !rows().isEmpty(), "--platform and --virtual leave no row: name a number of threads");
        Options.requireDistinct(line, "--platform", platformCounts);
        Options.requireDistinct(line, "--virtual", virtualCounts);
        Options.requireRange(line, "--rounds", rounds, 1, 1_000);
        Options.require(line, seconds > 0 && warmupSeconds > 0 && limitSeconds > 0,
                "--seconds, --warmup and --limit are more than 0");
    }

    private List<Callers> rows() {
        Stream<Callers> virtual = virtualCounts.stream().map(count -> new Callers(ClosedLoop.VIRTUAL, count));
        return Stream.concat(platformCounts.stream().map(count -> new Callers(ClosedLoop.PLATFORM, count)),
                ClosedLoop.hasVirtualThreads() ? virtual : Stream.empty()).filter(one -> one.count > 0).toList();
    }

    private void announce(int clients, PrintWriter out) {
        double rowSeconds = Math.min(SETTLE_SECONDS, seconds) + rounds * seconds;
        double all = nodeCounts.size() * clients * (warmupSeconds + rows().size() * rowSeconds);
        out.printf(Locale.ROOT, "%d rounds of %.1f s, in about %.0f min%n", rounds, seconds, Math.ceil(all / 60));
        if (!ClosedLoop.hasVirtualThreads() && !virtualCounts.isEmpty()) {
            out.println("No rows of virtual threads: this is JDK " + Runtime.version().feature() + ", they need 21.");
        }
        out.flush();
    }

    private void compare(Map<String, String> classPaths, RedisNodes nodes, PrintWriter out)
            throws IOException, InterruptedException {
        String pids = Turns.joined(nodes.nodes().stream().mapToLong(node -> node.pid().orElseThrow()).boxed());
        String addresses = String.join(",", nodes.addresses());
        List<Entrant> entrants = new ArrayList<>();
        classPaths.forEach((name, classPath) -> entrants.add(new Entrant(name, () -> Contender.Client.start(name,
                classPath, List.of(COMMANDS, RELEASE_BATCH, pids, addresses), limitSeconds))));
        peers.forEach(peer -> entrants.add(new Entrant(peer,
                () -> Contender.Client.startPeer(peer, List.of(pids, addresses), limitSeconds))));
        out.printf("%nN = %d: locks/s, client CPU us, p50/p99 us%n%n| callers | %s |%n|---|%s%n", nodes.size(),
                entrants.stream().map(one -> one.name).collect(Collectors.joining(" | ")),
                "---|".repeat(entrants.size()));
        out.flush();
        try {
            for (Callers callers : rows()) {
                String load = nodes.size() + "," + COMMANDS + "/" + RELEASE_BATCH + "," + callers.count + " "
                        + callers.form;
                measure(entrants, load, callers);
                out.println("| " + callers + " | "
                        + entrants.stream().map(one -> cell(load, one.name)).collect(Collectors.joining(" | ")) + " |");
                out.flush();
            }
        } finally {
            entrants.forEach(Entrant::close);
        }
    }

    private void measure(List<Entrant> entrants, String load, Callers callers)
            throws IOException, InterruptedException {
        List<Entrant> left = new ArrayList<>(entrants);
        left.removeIf(Entrant::isLeftOut);
        for (int number = 0; number <= rounds; number++) {
            Map<Entrant, Boolean> succeeded = new HashMap<>();
            for (Entrant one : left) {
                succeeded.put(one, one.takeTurn(load, callers, number));
            }
            left.removeIf(one -> !succeeded.get(one));
        }
    }

    /** A client without a turn in each round has no figures. */
    private String cell(String load, String name) {
        List<double[]> figures = turns.of(load, name, TURN).map(Turns.Turn::figures).toList();
        return figures.size() < rounds
                ? "no figures"
                : String.format(Locale.ROOT, "%.0f, %.1f, %.0f/%.0f", Turns.median(figures.stream(), PER_SECOND),
                        Turns.median(figures.stream(), CLIENT_CPU), Turns.median(figures.stream(), P50),
                        Turns.median(figures.stream(), P99));
    }
}
