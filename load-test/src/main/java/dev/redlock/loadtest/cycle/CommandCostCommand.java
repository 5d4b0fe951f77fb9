package dev.redlock.loadtest.cycle;

import dev.redlock.cli.AdminClient;
import dev.redlock.cli.ExitCodes;
import dev.redlock.cli.Options;
import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.loadtest.rig.CostMeter;
import dev.redlock.transport.NodeAddress;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * The cost of a lock for a server in each form of the commands: CPU time of its main thread over pipelined calls with
 * the scripts of {@code redlock-core}, divided by the locks. Every call must succeed, which the remaining keys prove.
 *
 * @threading caller-confined
 */
@Command(name = "command-cost", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class,
        sortOptions = false,
        description = "Measures the CPU time of a lock on a server, for each form of the commands. Starts one node, "
                + "sends pipelines of 64 locks, and ends the node. Needs /proc.",
        footer = {"  load-test command-cost", "  load-test command-cost --repetitions 9 --locks 32000"})
public final class CommandCostCommand implements Callable<Integer> {

    private static final int LOCKS_PER_PIPELINE = 64;
    private static final int LOCKS_MAX = 1_000_000;
    private static final String TOKEN = "a token of 20 bytes.";
    private static final String TTL_MS = "30000";
    private static final String COUNTER_TTL_MS = "86400000";
    private static final String NO_FLOOR = "0";
    private static final String FENCE = "1857000000000000";
    private static final byte[] END = "$3\r\nend\r\n".getBytes(StandardCharsets.US_ASCII);

    /**
     * The keys on the node before the measurement of a form.
     *
     * @threading immutable
     */
    private enum Before {
        NOTHING, COUNTERS, LOCKS, LOCKS_AND_COUNTERS
    }

    @Option(names = "--locks", paramLabel = "COUNT", defaultValue = "64000",
            description = "Locks of each measurement (default: ${DEFAULT-VALUE}).")
    private int locks;

    @Option(names = "--repetitions", paramLabel = "COUNT", defaultValue = "5",
            description = "Measurements of each form, which take turns (default: ${DEFAULT-VALUE}).")
    private int repetitions;

    @Spec
    private CommandSpec spec;

    private AdminClient control;
    private Socket socket;
    private long pid;

    @Override
    public Integer call() throws IOException {
        CommandLine line = spec.commandLine();
        Options.require(line, locks >= LOCKS_PER_PIPELINE && locks <= LOCKS_MAX && locks % LOCKS_PER_PIPELINE == 0,
                "--locks is " + locks + ": expected a multiple of " + LOCKS_PER_PIPELINE + " up to " + LOCKS_MAX);
        Options.require(line, repetitions >= 1, "--repetitions is " + repetitions + ": expected at least 1");
        try (RedisNodes nodes = RedisNodes.start(new RedisNodesContext().count(1));
                AdminClient connected = nodes.node(0).connect()) {
            RedisNode node = nodes.node(0);
            pid = node.pid().orElseThrow();
            control = connected;
            NodeAddress address = node.address();
            try (Socket opened = new Socket(address.host(), address.port())) {
                opened.setTcpNoDelay(true);
                socket = opened;
                report(line.getOut());
            }
        }
        return ExitCodes.GOOD;
    }

    private void report(PrintWriter out) throws IOException {
        Form[] forms = Stream.concat(Arrays.stream(forms()), nativeForms().stream()).toArray(Form[]::new);
        double[][] costsUs = new double[forms.length][repetitions];
        for (int repetition = 0; repetition < repetitions; repetition++) {
            for (int i = 0; i < forms.length; i++) {
                costsUs[i][repetition] = measureUs(forms[i]);
            }
        }
        for (int i = 0; i < forms.length; i++) {
            Arrays.sort(costsUs[i]);
            out.printf(Locale.ROOT, "%-28s %5.2f us a lock (%.2f - %.2f)%n", forms[i].name(),
                    costsUs[i][repetitions / 2], costsUs[i][0], costsUs[i][repetitions - 1]);
        }
        out.flush();
    }

    /**
     * One form.
     *
     * @param name      the printed name
     * @param locks     the locks of one command
     * @param before    the keys on the node before
     * @param left      the remaining keys for each lock, counters included
     * @param command   the words of the command whose first lock has this number
     * @threading immutable
     */
    private record Form(String name, int locks, Before before, int left, IntFunction<String> command) {
    }

    private Form[] forms() throws IOException {
        String acquire = load("acquire");
        String acquireFenced = load("acquire_fenced");
        String release = load("release");
        String extend = load("extend");
        String releaseFenced = load("release_fenced");
        return new Form[]{
            new Form("SET NX PX", 1, Before.NOTHING, 1,
                    i -> command("SET", resource(i), TOKEN, "NX", "PX", TTL_MS)),
            new Form("acquire", 1, Before.NOTHING, 1,
                    i -> command("EVALSHA", acquire, "1", resource(i), TOKEN, TTL_MS)),
            new Form("acquire_fenced", 1, Before.COUNTERS, 2,
                    i -> command("EVALSHA", acquireFenced, "2", resource(i), counter(i), TOKEN, TTL_MS,
                            COUNTER_TTL_MS, NO_FLOOR)),
            new Form("release", 1, Before.LOCKS, 0, i -> command("EVALSHA", release, "1", resource(i), TOKEN)),
            releaseMany(2),
            releaseMany(8),
            releaseMany(32),
            releaseMany(64),
            new Form("extend", 1, Before.LOCKS, 1, i -> command("EVALSHA", extend, "1", resource(i), TOKEN, TTL_MS)),
            new Form("release_fenced", 1, Before.LOCKS_AND_COUNTERS, 1,
                    i -> command("EVALSHA", releaseFenced, "2", resource(i), counter(i), TOKEN, FENCE,
                            COUNTER_TTL_MS)),
            releaseManyFenced(2),
            releaseManyFenced(8),
            releaseManyFenced(32)};
    }

    /** The conditional commands that this server has. */
    private List<Form> nativeForms() throws IOException {
        List<Form> found = new ArrayList<>();
        if (control.call("DELEX", resource(0), "IFEQ", TOKEN) instanceof Long) {
            found.add(new Form("DELEX IFEQ", 1, Before.LOCKS, 0,
                    i -> command("DELEX", resource(i), "IFEQ", TOKEN)));
        }
        if (control.call("DELIFEQ", resource(0), TOKEN) instanceof Long) {
            found.add(new Form("DELIFEQ", 1, Before.LOCKS, 0, i -> command("DELIFEQ", resource(i), TOKEN)));
        }
        if (control.call("SET", resource(0), TOKEN, "IFEQ", TOKEN, "PX", TTL_MS) == null) {
            found.add(new Form("SET IFEQ PX", 1, Before.LOCKS, 1,
                    i -> command("SET", resource(i), TOKEN, "IFEQ", TOKEN, "PX", TTL_MS)));
        }
        if (control.call("MSETEX", "1", resource(0), TOKEN, "XX", "PX", TTL_MS) instanceof Long) {
            for (int count : new int[]{8, 16, 32, 64}) {
                found.add(setAll(count));
            }
        }
        return found;
    }

    private static Form setAll(int count) {
        return new Form("MSETEX of " + count, count, Before.NOTHING, 1,
                i -> "*" + (2 + 2 * count + 3) + "\r\n" + words("MSETEX", Integer.toString(count))
                        + IntStream.range(0, count)
                                .mapToObj(j -> words(resource(i + j), TOKEN))
                                .collect(Collectors.joining())
                        + words("NX", "PX", TTL_MS));
    }

    private Form releaseMany(int count) throws IOException {
        String sha = load("release_many");
        return new Form("release_many of " + count, count, Before.LOCKS, 0,
                i -> "*" + (3 + 2 * count) + "\r\n" + words("EVALSHA", sha, Integer.toString(count))
                        + repeated(count, j -> resource(i + j)) + repeated(count, j -> TOKEN));
    }

    private Form releaseManyFenced(int count) throws IOException {
        String sha = load("release_many_fenced");
        return new Form("release_many_fenced of " + count, count, Before.LOCKS_AND_COUNTERS, 1,
                i -> "*" + (4 + 4 * count) + "\r\n" + words("EVALSHA", sha, Integer.toString(2 * count))
                        + repeated(count, j -> resource(i + j)) + repeated(count, j -> counter(i + j))
                        + repeated(count, j -> TOKEN) + repeated(count, j -> FENCE) + words(COUNTER_TTL_MS));
    }

    private String load(String name) throws IOException {
        return (String) control.call("SCRIPT", "LOAD",
                new String(BareLoop.script(name), StandardCharsets.US_ASCII));
    }

    private double measureUs(Form form) throws IOException {
        control.call("FLUSHALL");
        if (form.before() == Before.LOCKS || form.before() == Before.LOCKS_AND_COUNTERS) {
            run(1, i -> command("SET", resource(i), TOKEN));
        }
        if (form.before() == Before.COUNTERS || form.before() == Before.LOCKS_AND_COUNTERS) {
            run(1, i -> command("SET", counter(i), FENCE));
        }
        long beforeNs = CostMeter.mainThreadsNs(List.of(pid));
        run(form.locks(), form.command());
        long tookNs = CostMeter.mainThreadsNs(List.of(pid)) - beforeNs;
        Object left = control.call("DBSIZE");
        if (!left.equals((long) form.left() * locks)) {
            throw new IllegalStateException(form.name() + " left " + left + " keys of " + locks + " locks");
        }
        return tookNs / 1e3 / locks;
    }

    /** Sends the commands of all locks, a pipeline at a time. */
    private void run(int locksPerCommand, IntFunction<String> command) throws IOException {
        InputStream in = new BufferedInputStream(socket.getInputStream());
        for (int first = 0; first < locks; first += LOCKS_PER_PIPELINE) {
            StringBuilder pipeline = new StringBuilder();
            for (int i = first; i < first + LOCKS_PER_PIPELINE; i += locksPerCommand) {
                pipeline.append(command.apply(i));
            }
            pipeline.append(command("ECHO", "end"));
            socket.getOutputStream().write(pipeline.toString().getBytes(StandardCharsets.US_ASCII));
            readToEnd(in);
        }
    }

    private static void readToEnd(InputStream in) throws IOException {
        for (int matched = 0; matched < END.length;) {
            int next = in.read();
            if (next < 0) {
                throw new EOFException("the node closed the connection");
            }
            if (next == END[matched]) {
                matched++;
            } else {
                matched = next == END[0] ? 1 : 0;
            }
        }
    }

    private static String resource(int index) {
        return String.format(Locale.ROOT, "cycle:lock:%06d", index);
    }

    private static String counter(int index) {
        return resource(index) + ":redlock:fence:{" + resource(index) + "}";
    }

    private static String command(String... words) {
        return "*" + words.length + "\r\n" + words(words);
    }

    private static String words(String... words) {
        return Arrays.stream(words)
                .map(word -> "$" + word.length() + "\r\n" + word + "\r\n")
                .collect(Collectors.joining());
    }

    private static String repeated(int count, IntFunction<String> word) {
        return IntStream.range(0, count).mapToObj(i -> words(word.apply(i))).collect(Collectors.joining());
    }
}
