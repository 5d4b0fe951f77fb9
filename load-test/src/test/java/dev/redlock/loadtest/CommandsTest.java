package dev.redlock.loadtest;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.redlock.loadtest.cli.Invocation;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each measuring command in its short form, on real nodes, and what it leaves behind. */
class CommandsTest {
    private static final String MEASURING = "To measure on them: ";

    @TempDir
    private Path folder;
    /** The folder of the last run. */
    private Path output;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @BeforeAll
    static void requireNodes() {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
    }

    @Test
    void throughputReportsTheSaturationStep() throws IOException {
        JsonNode root = run("throughput", "--nodes", "1", "--in-flight", "1,8,32", "--duration", "200ms", "--warmup",
                "50ms", "--jvm-warmup", "100ms");
        assertTrue(out.toString().matches("(?s).*redlock, N = 1: (not )?saturated.* at \\d+ in flight, .*"),
                out::toString);
        assertTrue(root.get("series").size() >= 2, out::toString);
        assertEquals("CLOSED", root.at("/series/0/spec/loop").asText());
        assertTrue(root.at("/series/0/tally/cyclesPerSecond").asDouble() > 0);
        assertTrue(root.at("/series/0/cost/cpuUsPerCycle").asDouble() > 0);
        assertEquals(root.at("/series/0/tally/acquires/ACQUIRED").asLong(),
                root.at("/series/0/counters/outcome.ACQUIRED").asLong(), "the client counts as the rig does");
    }

    @Test
    void missedRateEndsTheSearchWithoutFailingTheRun() throws IOException {
        JsonNode root = run("throughput", "--nodes", "1", "--driver", "set-nx", "--in-flight", "1", "--rate",
                "100,1000000", "--duration", "300ms", "--warmup", "50ms", "--jvm-warmup", "100ms");
        assertTrue(out.toString().contains("the next rate was missed")
                || out.toString().contains("the lowest rate was missed"), out::toString);
        assertEquals("PASS", root.get("verdict").asText(), out::toString);
        assertEquals("OPEN", root.at("/series/0/spec/loop").asText());
        assertTrue(root.at("/series/0/figures/sendDelayMaxUs").isNumber());
    }

    @Test
    void tailsMeasuresAtSharesOfTheHighestRateBesideBareSockets() throws IOException {
        JsonNode root = run("tails", "--nodes", "1", "--shares", "5,10", "--highest", "2000", "--slow", "0ms",
                "--duration", "300ms", "--warmup", "50ms", "--jvm-warmup", "100ms", "--repetitions", "2",
                // A rate that counts as kept also if a busy machine is late.
                "--bare-every", "2", "--wait", "10s");
        List<String> measured = new ArrayList<>();
        root.get("series")
                .forEach(series -> measured.add(series.at("/spec/driver").asText() + " "
                        + series.at("/spec/ratePerSecond").asInt() + " " + series.at("/spec/repetition").asInt()));
        assertEquals(List.of("redlock 100 1", "redlock 200 1", "bare-sockets 100 1", "bare-sockets 200 1",
                "redlock 100 2", "redlock 200 2"), measured);
        Map<String, Integer> cycles = Map.of("redlock-n1-rate100", 60, "redlock-n1-rate200", 120,
                "bare-sockets-n1-rate200", 60);
        for (Map.Entry<String, Integer> one : cycles.entrySet()) {
            for (String operation : List.of("acquire", "release", "cycle")) {
                String joined = Files.readString(output.resolve(one.getKey() + "-all-" + operation + ".hgrm"));
                assertTrue(joined.matches("(?s).*Total count *= *" + one.getValue() + "\\].*"), joined);
            }
        }
        assertTrue(out.toString().matches("(?s).*redlock +100  60 slow cycles in \\d+ steps: .*"), out::toString);
        assertTrue(out.toString().matches("(?s).*bare-sockets +200 cycle +60 .*"), out::toString);
    }

    @Test
    void crowdsShowWhatAGrantCostsTheServers() throws IOException {
        JsonNode root = run("contention", "--nodes", "1", "--clients", "2,4", "--hold", "1ms", "--wait", "30s",
                "--duration", "2s", "--warmup", "50ms", "--jvm-warmup", "100ms");
        for (int i = 0; i < 2; i++) {
            assertEquals(i == 0 ? 2 : 4, root.at("/series/" + i + "/spec/inFlight").asInt());
            JsonNode figures = root.at("/series/" + i + "/figures");
            // SET, and the script of the release with its two commands; and some of waiting.
            double commands = figures.get("serverCommandsPerGrant").asDouble();
            assertTrue(commands >= 4 && commands < 100, figures::toString);
            double cpuUs = figures.get("serverCpuUsPerGrant").asDouble();
            assertTrue(cpuUs > 0 && cpuUs < 10_000, figures::toString);
            double idleCommands = figures.get("serverIdleCommandsPerGrant").asDouble();
            assertTrue(idleCommands > 0 && idleCommands < commands / 2, figures::toString);
            double idleCpuUs = figures.get("serverIdleCpuUsPerGrant").asDouble();
            assertTrue(idleCpuUs > 0 && idleCpuUs < cpuUs, figures::toString);
            assertEquals(0, figures.get("neverServed").asDouble(), figures::toString);
        }
        String line = "redlock +1 +4 +\\d+( +\\d+\\.\\d){2}( +\\d+){3} +[01]\\.\\d+ +0\\R";
        assertTrue(Pattern.compile(line).matcher(out.toString()).find(), out::toString);
    }

    @Test
    void crowdsOfMissingServicesAreAnErrorWithTheReason() throws Exception {
        try (ChildProgram program = ChildProgram.start(Main.class, Map.of("PATH", "/nowhere"),
                List.of("contention", "--clients", "2,4", "--driver", "etcd", "--source", "embedded", "--nodes", "1",
                        "--output", folder.resolve("missing").toString()))) {
            assertNotEquals(0, program.awaitExit());
            assertTrue(program.err().contains("etcd was skipped: "), program::err);
        }
    }

    @Test
    void tailsFindsTheHighestRate() throws IOException {
        run("tails", "--nodes", "1", "--bare-every", "0", "--shares", "1", "--duration", "200ms", "--warmup", "50ms",
                "--jvm-warmup", "100ms", "--repetitions", "1");
        assertTrue(out.toString().matches("(?s).*the highest rate was \\d+ cycles/s: redlock with 64 in flight.*"),
                out::toString);
        assertFalse(out.toString().contains("bare-sockets"), out::toString);
    }

    @Test
    void missedRateFailsALatencyRunAndMarksItsFiles() throws IOException {
        JsonNode root = run(1, "latency", "--repetitions", "1", "--nodes", "1", "--in-flight", "1", "--rate",
                "1000000", "--duration",
                "200ms", "--warmup", "0ms", "--jvm-warmup", "100ms");
        assertEquals("FAIL", root.get("verdict").asText());
        assertTrue(out.toString().contains("FAIL: redlock, N = 1, 1000000/s: missed the rate: of 200000 cycles"),
                out::toString);
        assertTrue(out.toString().strip().endsWith("report-FAIL.html"), out::toString);
        try (Stream<Path> files = Files.list(output)) {
            assertEquals(List.of(), files.filter(file -> !file.toString().contains("-FAIL.")).toList());
        }
    }

    @Test
    void contentionMeasuresHandoffFairnessAndSuccess() throws IOException {
        JsonNode root = run("contention", "--nodes", "3", "--in-flight", "6", "--duration", "500ms", "--warmup",
                "50ms", "--jvm-warmup", "100ms", "--fenced");
        JsonNode series = root.at("/series/0");
        assertTrue(series.at("/operations/handoff/count").asLong() > 0, series::toString);
        assertTrue(series.at("/figures/jainIndex").asDouble() > 0);
        assertTrue(series.at("/figures/successShare").asDouble() > 0);
        assertTrue(out.toString().contains("fairness"), out::toString);
    }

    @Test
    void rigRetriesForDriversThatCannotWait() throws IOException {
        JsonNode root = run("contention", "--nodes", "1", "--driver", "set-nx", "--in-flight", "4", "--duration",
                "300ms", "--warmup", "50ms", "--jvm-warmup", "0ms");
        assertTrue(root.at("/series/0/figures/refusedAttempts").asDouble() > 0, root::toString);
        assertTrue(root.get("notes").toString().contains("the rig tries again"), root::toString);
    }

    @Test
    void retainedLocksAreMeasuredWithAnotherClient() throws IOException {
        JsonNode root = runUntilBothClientsLocked();
        List<String> drivers = new ArrayList<>();
        root.get("series").forEach(series -> drivers.add(series.at("/spec/driver").asText()));
        assertEquals(List.of("redlock-blocking, 75 % local", "redlock-blocking, 99 % local", "redlock-blocking, idle",
                "redlock-retained, 75 % local", "redlock-retained, 99 % local", "redlock-retained, idle"), drivers);
        for (JsonNode series : root.get("series")) {
            assertTrue(series.at("/operations/localAcquire/count").asLong() > 0, series::toString);
            assertTrue(series.at("/operations/foreignAcquire/count").asLong() > 0, series::toString);
        }
        JsonNode idle = root.at("/series/5");
        double share = idle.at("/figures/localGrantShare").asDouble();
        assertTrue(share > 0.5 && share < 20.0 / 21, "at least one of 21 is of the other client: " + idle);
        assertTrue(idle.at("/counters/retained.revoked").asLong() > 0, idle::toString);
        assertTrue(root.at("/series/2/figures/localGrantShare").isMissingNode(), root::toString);
        assertTrue(out.toString().contains("the other client gets a lock that nobody uses in "), out::toString);
        assertTrue(out.toString()
                .matches("(?s).*\\Rredlock-retained, idle +[0-9]+ +\\([0-9]+ - [0-9]+\\)( +[0-9.]+){5}"
                        + " +[0-9]+ %\\R.*"),
                out::toString);
        assertTrue(
                out.toString().contains("redlock-retained, N = 3, 1 in flight: more locks than redlock-blocking from ")
                        || out.toString()
                                .contains("redlock-retained, N = 3, 1 in flight: at no share more locks than "),
                out::toString);
    }

    /** One cycle in a hundred is of the other client: a busy machine needs a longer run for one. */
    private JsonNode runUntilBothClientsLocked() throws IOException {
        JsonNode root = null;
        for (int ms = 400; ms <= 16 * 400 && !haveBothClientsLocked(root); ms *= 4) {
            out.getBuffer().setLength(0);
            root = run("retain", "--local-shares", "75,99", "--duration", ms + "ms", "--warmup", "100ms",
                    "--jvm-warmup", "200ms", "--repetitions", "1");
        }
        return root;
    }

    private static boolean haveBothClientsLocked(JsonNode root) {
        List<Long> counts = new ArrayList<>();
        if (root != null) {
            for (JsonNode series : root.get("series")) {
                counts.add(series.at("/operations/localAcquire/count").asLong());
                counts.add(series.at("/operations/foreignAcquire/count").asLong());
            }
        }
        return !counts.isEmpty() && counts.stream().allMatch(count -> count > 0);
    }

    @Test
    void leasesAreRenewedBesideLoneAcquires() throws IOException {
        JsonNode root = run("leases", "--count", "200", "--ttl", "3s", "--duration", "2500ms", "--idle", "300ms",
                "--warmup", "100ms", "--jvm-warmup", "100ms");
        JsonNode figures = root.at("/series/1/figures");
        assertEquals(200, figures.get("leases").asInt(), root::toString);
        assertEquals(0, figures.get("lostLeases").asInt(), root::toString);
        double perSecond = figures.get("renewalsPerSecond").asDouble();
        assertTrue(perSecond > 0 && perSecond < 600, "each about once in a second: " + root);
        // RenewalSpreadTest shows how they are spread; a machine that stalls renews all that have become due at once.
        int[] spread = Stream.of("Min", "P50", "P99", "Max")
                .mapToInt(name -> figures.get("renewalsPer100Ms" + name).asInt())
                .toArray();
        assertArrayEquals(Arrays.stream(spread).sorted().toArray(), spread, root::toString);
        assertTrue(spread[3] > 0 && spread[3] <= 400, root::toString);
        assertTrue(figures.get("clientCores").asDouble() > 0, root::toString);
        assertTrue(figures.get("bytesPerRenewal").isNumber(), root::toString);
        assertEquals(0, root.at("/series/0/figures/leases").asInt(), "without leases");
        assertTrue(out.toString().contains("200 leases were acquired in "), out::toString);
    }

    @Test
    void soakSamplesMemoryAndCounters() throws IOException {
        JsonNode root = run("soak", "--nodes", "1", "--in-flight", "1", "--duration", "2s", "--sample", "100ms",
                "--warmup", "100ms", "--jvm-warmup", "100ms");
        JsonNode samples = root.at("/series/0/samples");
        // interruptedSoakWritesItsResultsSoFar awaits more of them.
        assertFalse(samples.isEmpty(), root::toString);
        assertTrue(samples.at("/0/values/heapAfterGcBytes").asDouble() > 0, samples::toString);
        assertTrue(samples.at("/0/values/threads").asDouble() > 0, samples::toString);
        assertTrue(samples.at("/0/values/outcome.ACQUIRED").asDouble() > 0, samples::toString);
        List<String> lines = Files.readAllLines(output.resolve("samples.csv"));
        assertEquals(samples.size() + 1, lines.size());
        assertTrue(lines.get(0).startsWith("offsetMs,heapAfterGcBytes,"), lines.get(0));
        assertTrue(out.toString().contains("heapAfterGc, MB"), out::toString);
    }

    @Test
    void interruptedSoakWritesItsResultsSoFar() throws Exception {
        try (ChildProgram program = ChildProgram.start("soak", "--nodes", "1", "--in-flight", "1", "--duration", "1h",
                "--sample", "100ms", "--warmup", "0ms", "--jvm-warmup", "0ms")) {
            for (int i = 0; i < 3; i++) {
                program.awaitLine("heap");
            }
            program.signal("INT");
            assertEquals(130, program.awaitExit(), program::err);
            JsonNode samples = new ObjectMapper().readTree(program.result("results.json")).at("/series/0/samples");
            assertTrue(samples.size() >= 3, samples::toString);
            double acquired = 0;
            for (JsonNode sample : samples) {
                assertTrue(sample.at("/values/outcome.ACQUIRED").asDouble() >= acquired, samples::toString);
                acquired = sample.at("/values/outcome.ACQUIRED").asDouble();
            }
            assertTrue(acquired > samples.at("/0/values/outcome.ACQUIRED").asDouble(), samples::toString);
            assertEquals(List.of(), program.leftovers());
        }
    }

    @Test
    void delayedNodesAreSlowerByTheDelay() throws IOException {
        JsonNode root = run("latency", "--repetitions", "1", "--nodes", "1", "--in-flight", "1", "--delay", "5ms",
                "--duration", "500ms",
                "--warmup", "50ms", "--jvm-warmup", "0ms");
        assertTrue(root.at("/series/0/operations/acquire/minUs").asDouble() >= 10_000, root::toString);
        assertTrue(root.at("/series/0/cost/cpuUsPerCycle").isNull(), "the proxy runs in this process");
        assertEquals("5ms", root.at("/options/delay").asText());
    }

    @Test
    void oneSlowNodeIsComparedWithNoneInTurns() throws IOException {
        JsonNode root = run("latency", "--nodes", "3", "--versus-delay", "2=20ms", "--repetitions", "2",
                "--in-flight", "1", "--duration", "300ms", "--warmup", "50ms", "--jvm-warmup", "0ms");
        List<String> titles = new ArrayList<>();
        root.get("series").forEach(series -> titles.add(series.get("title").asText()));
        assertEquals(List.of("redlock, N = 3, 1 in flight", "redlock+2=20ms, N = 3, 1 in flight",
                "redlock, N = 3, 1 in flight, repetition 2", "redlock+2=20ms, N = 3, 1 in flight, repetition 2"),
                titles);
        String spread = "[0-9.]+ us \\([0-9.]+ - [0-9.]+\\)";
        String line = "redlock, N = 3, 1 in flight: acquire p99 " + spread + " without and " + spread
                + " with 2=20ms, [0-9.]+ times as long";
        assertTrue(out.toString().matches("(?s).*" + line + ".*"), out::toString);
        assertTrue(root.at("/series/1/operations/acquire/p50Us").asDouble() < 20_000,
                "the two others are a majority: " + root);
    }

    @Test
    void versusDelayEqualToDelayIsRejected() {
        assertEquals(2, Main.run(new PrintWriter(out, true), new PrintWriter(err, true), "latency", "--nodes", "3",
                "--versus-delay", "3=1ms"));
        assertTrue(err.toString().startsWith("--versus-delay names node 3: there are 3, counted from 0"),
                err::toString);
        assertEquals(2, Main.run(new PrintWriter(out, true), new PrintWriter(err, true), "latency", "--nodes", "3",
                "--delay", "1ms", "--versus-delay", "1ms"));
        assertTrue(err.toString().contains("there is nothing to compare"), err::toString);
    }

    @Test
    void nodesOnUnixSocketsAreMeasured() throws IOException {
        JsonNode root = run("latency", "--repetitions", "1", "--nodes", "3", "--unix-sockets", "--in-flight", "2",
                "--duration", "200ms",
                "--warmup", "50ms", "--jvm-warmup", "0ms");
        assertTrue(root.at("/series/0/tally/cycles").asLong() > 0, root::toString);
    }

    @Test
    void nodesThatAreClustersAreMeasured() throws IOException {
        JsonNode root = run("throughput", "--nodes", "3", "--cluster-shards", "2", "--in-flight", "4", "--duration",
                "200ms", "--warmup", "50ms", "--jvm-warmup", "0ms");
        assertTrue(root.at("/series/0/tally/cycles").asLong() > 0, root::toString);
    }

    @Test
    void keysAndRepetitionsAndDriversMakeSeriesThatTakeTurns() throws IOException {
        JsonNode root = run("latency", "--nodes", "1", "--driver", "redlock@nio,set-nx", "--repetitions", "2",
                "--in-flight", "2", "--keys", "20", "--hot-share", "0.2", "--duration", "300ms", "--warmup", "0ms",
                "--jvm-warmup", "0ms");
        List<String> titles = new ArrayList<>();
        root.get("series").forEach(series -> titles.add(series.get("title").asText()));
        assertEquals(List.of("redlock@nio, N = 1, 2 in flight", "set-nx, N = 1, 2 in flight",
                "redlock@nio, N = 1, 2 in flight, repetition 2", "set-nx, N = 1, 2 in flight, repetition 2"),
                titles);
    }

    @Test
    void nodesStayUntilTheyAreInterrupted() throws Exception {
        try (ChildProgram program = ChildProgram.start("nodes", "2", "--unix-sockets")) {
            program.awaitOut("Ctrl-C stops them.");
            List<ProcessHandle> servers = program.servers();
            assertEquals(2, servers.size());
            assertEquals(2, program.out().lines().filter(line -> line.contains("  unix:///")).count(), program.out());
            String printed = program.out().lines().filter(line -> line.startsWith(MEASURING)).findFirst().orElse("");
            assertTrue(printed.contains("--addresses 127.0.0.1:"), program.out());
            runPrinted(printed.substring(MEASURING.length()));
            program.signal("INT");
            assertEquals(130, program.awaitExit(), program::err);
            servers.forEach(server -> assertFalse(server.isAlive()));
            assertEquals(List.of(), program.leftovers());
        }
    }

    private void runPrinted(String command) throws IOException {
        assertTrue(command.startsWith(Invocation.PROGRAM.start() + " latency "), command);
        String arguments = command.substring(Invocation.PROGRAM.start().length()).strip()
                + " --nodes 2 --in-flight 1 --repetitions 1 --duration 50ms --warmup 0ms --jvm-warmup 0ms";
        run(arguments.split(" "));
    }

    private JsonNode run(String... args) throws IOException {
        return run(0, args);
    }

    private JsonNode run(int code, String... args) throws IOException {
        List<String> all = new ArrayList<>(List.of(args));
        output = Files.createTempDirectory(folder, "run");
        all.addAll(List.of("--output", output.toString()));
        int actual = Main.run(new PrintWriter(out, true), new PrintWriter(err, true), all.toArray(String[]::new));
        assertEquals(code, actual, () -> out + "\n" + err);
        String name = code == 0 ? "results.json" : "results-FAIL.json";
        return new ObjectMapper().readTree(output.resolve(name).toFile());
    }
}
