package dev.redlock.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RedisReplicas;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The compare command, short, on real nodes. */
class CompareTest {
    private static final String[] SHORT = {"--duration", "1s", "--warmup", "50ms", "--jvm-warmup", "50ms"};

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @Test
    void driversTakeTurnsInProcessesOfTheirOwn(@TempDir Path folder) throws Exception {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
        int code = run(folder.resolve("run"), "--driver", "redlock,set-nx", "--nodes", "3",
                "--in-flight", "4", "--repetitions", "2");
        assertEquals(0, code, () -> out.toString() + err);
        assertTrue(out.toString().contains("PASS: every call succeeded"), out::toString);
        for (String driver : List.of("redlock", "set-nx")) {
            String figures = "(?m)^" + driver + " +[0-9]+ +\\([0-9]+ - [0-9]+\\)( +[0-9.]+){8}$";
            assertTrue(Pattern.compile(figures).matcher(out.toString()).find(), out::toString);
        }
        JsonNode result = new ObjectMapper().readTree(folder.resolve("run/results.json").toFile());
        assertEquals(List.of("redlock 1", "set-nx 1", "redlock 2", "set-nx 2"), turns(result), "A B A B");
        JsonNode first = result.get("series").get(0);
        assertTrue(first.get("cost").get("cpuUsPerCycle").asDouble() > 0, first::toString);
        assertTrue(first.get("figures").get("serverCpuUsPerCycle").asDouble() > 0, first::toString);
        assertTrue(Files.exists(folder.resolve("run/redlock-n3-k4-r2-cycle.hlog")), "the child's interval log");
        assertTrue(Files.readString(folder.resolve("run/report.html")).contains("set-nx"));
    }

    @Test
    void localGrantsAreCountedApart(@TempDir Path folder) {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
        int code = run(folder.resolve("run"), "--driver", "redlock-retained", "--nodes", "3", "--in-flight", "4",
                "--repetitions", "1");
        assertEquals(0, code, () -> out.toString() + err);
        Pattern line = Pattern.compile("(?m)^redlock-retained +[0-9]+ .* (100|9[0-9])\\.[0-9]+ % local grants$");
        assertTrue(line.matcher(out.toString()).find(), out::toString);
    }

    private static List<String> turns(JsonNode result) {
        List<String> turns = new ArrayList<>();
        for (JsonNode one : result.get("series")) {
            turns.add(one.get("spec").get("driver").asText() + " " + one.get("spec").get("repetition").asInt());
        }
        return turns;
    }

    @Test
    @Tag("release")
    void driverThatFindsNoMajorityFailsTheRunAndNotTheOthers(@TempDir Path folder) throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(3).config("requirepass s3cr3t"))) {
            String dead = nodes.addresses()[0];
            nodes.node(0).kill();
            String addresses = String.join(",", dead, nodes.addresses()[1], nodes.addresses()[2]);
            int code = run(folder.resolve("run"), "--driver", "set-nx,jedis", "--nodes", "3", "--in-flight", "2",
                    "--repetitions", "1", "--addresses", addresses);
            assertEquals(1, code, () -> out.toString() + err);
            assertTrue(out.toString().contains("FAIL: set-nx, N = 3, 2 in flight: "), out::toString);
            assertTrue(Pattern.compile("(?m)^jedis +[0-9]+ ").matcher(out.toString()).find(), out::toString);
            assertTrue(Files.exists(folder.resolve("run/report-FAIL.html")));
            assertFalse((out.toString() + err).contains("s3cr3t"), "a password was printed");
            assertFalse(Files.readString(folder.resolve("run/report-FAIL.html")).contains("s3cr3t"), "in the report");
        }
    }

    @Test
    void missingServiceIsSkippedAndTheOthersAreMeasured() throws Exception {
        RequiredNodes.start(Source.EMBEDDED, 1).close();
        List<String> args = new ArrayList<>(
                List.of("compare", "--driver", "set-nx,etcd", "--source", "embedded", "--nodes", "1",
                        "--in-flight", "1", "--repetitions", "1"));
        args.addAll(List.of(SHORT));
        try (ChildProgram program = ChildProgram.start(Main.class, Map.of("PATH", "/nowhere"), args)) {
            assertEquals(0, program.awaitExit(), program::err);
            String said = program.out();
            assertTrue(
                    said.contains("etcd was skipped: this program was built without it: build it with mvn -Pconsensus")
                            || said.contains("etcd was skipped: there is no etcd on PATH: install it"),
                    said);
            assertTrue(Pattern.compile("(?m)^set-nx +[0-9]+ ").matcher(said).find(), said);
        }
    }

    @Test
    void missingFolderForDataIsAnError(@TempDir Path folder) {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
        assertNotEquals(0, run(folder.resolve("run"), "--driver", "set-nx", "--consensus-data", "no/such"));
        assertTrue(err.toString().contains("--consensus-data is no/such: there is no such folder"), err::toString);
    }

    @Test
    void waitsForReplicasAreCountedByThePrimary(@TempDir Path folder) throws Exception {
        RequiredNodes.start(Source.PATH, 1).close();
        int code = run(folder.resolve("run"), "--driver", "redlock-blocking,redisson-single,redisson-wait", "--nodes",
                "1", "--replicas", "1", "--source", "path", "--in-flight", "2", "--repetitions", "1");
        assertEquals(0, code, () -> out.toString() + err);
        assertTrue(Pattern.compile("(?m)^redisson-wait .* 2\\.[0-9]+ WAIT per cycle$").matcher(out.toString()).find(),
                out::toString);
        assertEquals(1, Pattern.compile("WAIT per cycle").matcher(out.toString()).results().count(), out::toString);
        JsonNode result = new ObjectMapper().readTree(folder.resolve("run/results.json").toFile());
        assertEquals("1", result.get("options").get("replicas").asText());
        assertTrue(result.get("notes").toString().contains("the first node had 1 replica"),
                result.get("notes")::toString);
        for (JsonNode one : result.get("series")) {
            JsonNode waits = one.get("figures").path("waitsPerCycle");
            assertEquals(one.get("spec").get("driver").asText().equals("redisson-wait"), waits.asDouble() >= 2,
                    one::toString);
        }
    }

    /** A server that has no replica, or no WAIT, would be measured as if it had waited. */
    @Test
    void driverThatWaitsForReplicasIsRefusedWithoutThem(@TempDir Path folder) throws Exception {
        String[] waiting = {"--driver", "redisson-wait", "--nodes", "1", "--in-flight", "2", "--repetitions", "1"};
        assertEquals(2, run(folder.resolve("none"), waiting));
        assertTrue(err.toString().contains("--driver redisson-wait waits for replicas: add --replicas 1"),
                err::toString);
        assertEquals(2, Main.run(new PrintWriter(out, true), new PrintWriter(err, true), "latency", "--driver",
                "redisson-wait"));
        assertTrue(err.toString().contains("whose use it verifies: use compare"), err::toString);
        RedisNodesContext context = new RedisNodesContext().count(3).config("repl-diskless-sync-delay 0");
        try (RedisNodes nodes = RequiredNodes.start(context);
                RedisNodes crippled = RequiredNodes.start(new RedisNodesContext().count(1)
                        .config("rename-command WAIT \"\"")
                        .config("repl-diskless-sync-delay 0"))) {
            assertEquals(3, run(folder.resolve("alone"), given(nodes.addresses()[0], waiting)));
            assertTrue(err.toString().contains(nodes.addresses()[0] + " has no replica that is in step"),
                    err::toString);
            replicate(nodes, 1, nodes.node(0));
            assertEquals(0, run(folder.resolve("given"), given(nodes.addresses()[0], waiting)),
                    () -> out.toString() + err);
            assertTrue(out.toString().contains(" WAIT per cycle"), out::toString);
            replicate(nodes, 2, crippled.node(0));
            assertEquals(3, run(folder.resolve("crippled"), given(crippled.addresses()[0], waiting)));
            assertTrue(err.toString().contains(crippled.addresses()[0] + " answers WAIT with ERR unknown command"),
                    err::toString);
        }
    }

    private static void replicate(RedisNodes nodes, int replica, RedisNode primary) throws Exception {
        nodes.node(replica).call("REPLICAOF", primary.address().host(), Integer.toString(primary.address().port()));
        Await.until("a replica is in step",
                () -> RedisReplicas.inStep(String.valueOf(primary.call("INFO", "replication"))) == 1);
    }

    private static String[] given(String address, String... args) {
        List<String> all = new ArrayList<>(List.of(args));
        all.addAll(List.of("--fresh", "--addresses", address));
        return all.toArray(String[]::new);
    }

    private int run(Path output, String... args) {
        List<String> all = new ArrayList<>(List.of("compare", "--output", output.toString()));
        all.addAll(List.of(SHORT));
        all.addAll(List.of(args));
        return Main.run(new PrintWriter(out, true), new PrintWriter(err, true), all.toArray(String[]::new));
    }
}
