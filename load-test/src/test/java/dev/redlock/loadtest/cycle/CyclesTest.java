package dev.redlock.loadtest.cycle;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.cli.AdminClient;
import dev.redlock.cli.Program;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** Both commands that measure cycles, in a short form, on real nodes. */
@Timeout(60)
class CyclesTest {

    private static final Duration LIMIT = Duration.ofSeconds(10);
    private static final Pattern TOO_BUSY = Pattern
            .compile("no cycle was completed|missed the rate|votes were lost|commands behind");

    private static RedisNodes nodes;
    private final StringWriter out = new StringWriter();

    @BeforeAll
    static void startNodes() {
        nodes = RedisNodes.start(new RedisNodesContext().count(3));
    }

    @AfterAll
    static void endNodes() {
        nodes.close();
    }

    private int run(boolean isYardstick, String... more) {
        return runInTurns(isYardstick, "", more);
    }

    private int runInTurns(boolean isYardstick, String lines, String... more) {
        List<String> arguments = new ArrayList<>(List.of("--seconds", "0.3", "--nodes",
                String.join(",", nodes.addresses())));
        if (!List.of(more).contains("--warmup")) {
            arguments.addAll(List.of("--warmup", "0"));
        }
        arguments.addAll(List.of(more));
        InputStream turns = new ByteArrayInputStream(lines.getBytes(StandardCharsets.UTF_8));
        CommandLine line = isYardstick
                ? Program.commandLine(new YardstickCommand(turns))
                : Program.commandLine(new CyclesCommand(turns));
        return line.setOut(new PrintWriter(out, true)).execute(arguments.toArray(String[]::new));
    }

    /**
     * Runs again what this machine had no time for: other processes can take it for all of a short run, for longer than
     * the rate allows, or from one server until it is too many commands behind the others.
     */
    private int unlessBusy(IntSupplier run) {
        int code = run.getAsInt();
        while (TOO_BUSY.matcher(out.toString()).find()) {
            out.getBuffer().setLength(0);
            code = run.getAsInt();
        }
        return code;
    }

    private long asked(String field) throws IOException {
        long sum = 0;
        for (int i = 0; i < nodes.size(); i++) {
            try (AdminClient redis = AdminClient.connect(nodes.node(i).address(), LIMIT)) {
                sum += Long.parseLong(redis.info(field));
            }
        }
        return sum;
    }

    private void hold(int node, String key) throws IOException {
        try (AdminClient redis = AdminClient.connect(nodes.node(node).address(), LIMIT)) {
            assertEquals("OK", redis.call("SET", key, "somebody", "PX", "60000"));
        }
    }

    private double cyclesPerSecond() {
        return Double.parseDouble(out.toString().replaceAll("(?s).*?(\\d+) cycles/s.*", "$1"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aClosedLoopPrintsItsFiguresAndLeavesNoKey(boolean isYardstick) throws IOException {
        String pid = Long.toString(nodes.node(0).pid().orElseThrow());
        assertEquals(0, unlessBusy(
                () -> run(isYardstick, "--in-flight", "8", "--server-pids", pid, "--keys", "closed:")), out::toString);
        assertTrue(cyclesPerSecond() > 0, out::toString);
        assertTrue(out.toString()
                .matches("(?s).*n=3 out=8 .*acquire p50 [0-9.]+ p99 [0-9.]+ p99.9 [0-9.]+ max [0-9]+ us"
                        + "  cycle p50 .*client cpu [0-9.]+ us \\(loops [0-9.]+\\)  servers [0-9.]+ us  heap .*"),
                out::toString);
        for (int i = 0; i < nodes.size(); i++) {
            try (AdminClient redis = AdminClient.connect(nodes.node(i).address(), LIMIT)) {
                assertEquals(List.of(), redis.call("KEYS", "closed:*"), "keys are left");
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"true, ''", "false, ''", "true, --rate=200", "false, --rate=200", "false, --blocking"})
    void eachInputLineStartsOneMeasuredTurn(boolean isYardstick, String option) {
        String load = option.isEmpty() ? "--in-flight=8" : option;
        assertEquals(0, unlessBusy(() -> runInTurns(isYardstick, "\n\n\n", load, "--turns", "--label", "turn")),
                out::toString);
        assertTrue(out.toString().matches("ready\\R(turn +n=3 .* cycles/s .*\\R){3}"), out::toString);
        double[] perSecond = out.toString()
                .lines()
                .skip(1)
                .mapToDouble(line -> Double.parseDouble(line.replaceAll(".*?(\\d+) cycles/s.*", "$1")))
                .toArray();
        if (option.startsWith("--rate")) {
            assertArrayEquals(new double[]{200, 200, 200}, perSecond, 4, "each turn counts its own cycles alone");
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void failedTurnEndsTheRun(boolean isYardstick) throws IOException {
        hold(2, "turns:000000");
        assertEquals(1, runInTurns(isYardstick, "\n\n\n", "--in-flight", "8", "--turns", "--keys", "turns:"),
                out::toString);
        assertFalse(out.toString().contains("ready"), out::toString);
        assertTrue(out.toString().matches("(?s).*FAIL: .* votes were lost.*"), out::toString);
    }

    /** The comparison is fair only if the yardstick sends the same commands as the client. */
    @Test
    void yardstickSendsTheSameBytesAsTheClient() throws IOException {
        double client = bytesPerCommand(false, "--release-batch=1");
        assertEquals(client, bytesPerCommand(true, "--idle=block"), client * 0.02, "bytes per command");
    }

    /** Bytes that a longer run sends beyond a short one, so that the handshake does not count. */
    private double bytesPerCommand(boolean isYardstick, String option) throws IOException {
        long[] bytes = new long[3];
        long[] commands = new long[3];
        for (int i = 0; i < 3; i++) {
            bytes[i] = asked("total_net_input_bytes");
            commands[i] = asked("total_commands_processed");
            if (i < 2) {
                assertEquals(0, run(isYardstick, "--warmup", i == 0 ? "0" : "0.5", "--in-flight", "8", "--commands",
                        "scripts", option), out::toString);
            }
        }
        return (bytes[2] - 2.0 * bytes[1] + bytes[0]) / (commands[2] - 2.0 * commands[1] + commands[0]);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void anOpenLoopKeepsItsRate(boolean isYardstick) {
        assertEquals(0, unlessBusy(
                () -> run(isYardstick, "--warmup", "0.5", "--rate", "200", "--in-flight", "50")), out::toString);
        assertEquals(200, cyclesPerSecond(), 200 * 0.02, out::toString);
        assertTrue(out.toString().contains("rate 200/s, begun late p50 "), out::toString);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aRateThatIsMissedFailsTheRun(boolean isYardstick) {
        assertEquals(1, run(isYardstick, "--rate", "1000000", "--in-flight", "1"), out::toString);
        assertTrue(out.toString().contains("missed the rate: of 300000 cycles"), out::toString);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aRefusedAcquireFailsTheRun(boolean isYardstick) throws IOException {
        hold(0, "refused:000003");
        hold(1, "refused:000003");
        assertEquals(1, run(isYardstick, "--in-flight", "8", "--keys", "refused:"), out::toString);
        assertTrue(out.toString().matches("(?s).*FAIL: .*(acquires were refused|CONTENDED).*"), out::toString);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void missingVoteFailsTheRunDespiteAMajority(boolean isYardstick) throws IOException {
        hold(2, "held:000000");
        assertEquals(1, run(isYardstick, "--in-flight", "8", "--keys", "held:"), out::toString);
        assertTrue(out.toString().matches("(?s).*FAIL: .* votes were lost.*"), out::toString);
    }

    @Test
    void yardstickRunsOverUnixSocketsWithPlainSetAndBusySpin() {
        assertEquals(0, unlessBusy(() -> Program.commandLine(new YardstickCommand())
                .setOut(new PrintWriter(out, true))
                .execute("--start", "1", "--unix-sockets", "--commands", "set", "--idle", "busy_spin", "--in-flight",
                        "8", "--warmup", "0", "--seconds", "0.2", "--label", "one node")),
                out::toString);
        assertTrue(out.toString().startsWith("one node "), out::toString);
        assertTrue(cyclesPerSecond() > 0, out::toString);
    }

    @Test
    void severalLoopsGetTheSameShareOfTheLanes() {
        assertEquals(0, unlessBusy(() -> run(false, "--loops", "2", "--in-flight", "8")), out::toString);
        assertTrue(out.toString().matches("(?s).*by loop \\d+ %, \\d+ %.*"), out::toString);
    }

    private int runInProcess(String... more) {
        List<String> arguments = new ArrayList<>(List.of("--in-process", "3", "--warmup", "0", "--seconds",
                "0.6"));
        arguments.addAll(List.of(more));
        return unlessBusy(() -> Program.commandLine(new CyclesCommand())
                .setOut(new PrintWriter(out, true))
                .execute(arguments.toArray(String[]::new)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"--commands=auto", "--commands=scripts --release-batch=1",
        "--commands=scripts --in-flight=1", "--blocking --in-flight=4", "--rate=200"})
    void inProcessNodesReplyLikeServers(String options) {
        assertEquals(0, runInProcess(options.split(" ")), out::toString);
        assertTrue(cyclesPerSecond() > 0, out::toString);
        assertTrue(out.toString().contains("servers 0.00 us"), out::toString);
    }

    @Test
    void eachLoopHasItsOwnInProcessNodes() {
        assertEquals(0, runInProcess("--loops", "2", "--in-flight", "8"), out::toString);
        assertTrue(out.toString().matches("(?s).*n=3 out=8 .*by loop \\d+ %, \\d+ %.*"), out::toString);
    }

    @ParameterizedTest
    @ValueSource(strings = {"--start=3", "--fenced", "--transport=nio", "--server-pids=1", "--unix-sockets",
        "--in-process=-1"})
    void inProcessNodesRejectUnsupportedOptions(String option) {
        StringWriter err = new StringWriter();
        CommandLine line = Program.commandLine(new CyclesCommand()).setErr(new PrintWriter(err, true));
        String[] arguments = option.startsWith("--in-process")
                ? new String[]{option}
                : new String[]{"--in-process=3", option};
        assertEquals(2, line.execute(arguments), err::toString);
        assertTrue(err.toString().startsWith("--") || err.toString().startsWith("give "), err::toString);
    }

    @ParameterizedTest
    @CsvSource({"--loops, 0, 1 to 64", "--loops, 65, 1 to 64", "--release-batch, 0, 1 to 64",
        "--flight-recorder, -1, 0 to 1048576", "--spin-us, -1, 0 to 10000"})
    void cyclesRejectOptionsOutOfRange(String option, String value, String range) {
        StringWriter err = new StringWriter();
        CommandLine line = Program.commandLine(new CyclesCommand()).setErr(new PrintWriter(err, true));
        assertEquals(2, line.execute("--in-process=3", option + "=" + value), err::toString);
        assertTrue(err.toString().startsWith(option + " is " + value + ": expected " + range), err::toString);
    }

    @Test
    void loopsRejectABatchOutOfRange() {
        StringWriter err = new StringWriter();
        CommandLine line = Program.commandLine(new LoopsCommand()).setErr(new PrintWriter(err, true));
        assertEquals(2, line.execute("--release-batch=0"), err::toString);
        assertTrue(err.toString().startsWith("--release-batch is 0: expected 1 to 64"), err::toString);
    }

    @Test
    void yardstickRejectsInProcessNodes() {
        StringWriter err = new StringWriter();
        assertEquals(2,
                Program.commandLine(new YardstickCommand())
                        .setErr(new PrintWriter(err, true))
                        .execute("--in-process=3"),
                err::toString);
        assertTrue(err.toString().startsWith("--in-process has no sockets"), err::toString);
    }

    @ParameterizedTest
    @ValueSource(strings = {"--seconds=0", "--in-flight=0", "--rate=-1", "--start=3", "--unix-sockets",
        "--warmup=-1", "--idle=back_off",
        "--nodes=127.0.0.1:1"})
    void optionsOutOfRangeAreRejected(String option) {
        StringWriter err = new StringWriter();
        CommandLine line = Program.commandLine(new YardstickCommand()).setErr(new PrintWriter(err, true));
        assertEquals(2, line.execute("--nodes", "127.0.0.1:1", option), err::toString);
        assertTrue(err.toString().startsWith("--") || err.toString().startsWith("give "), err::toString);
    }
}
