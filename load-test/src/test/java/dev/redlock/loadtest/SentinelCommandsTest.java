package dev.redlock.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RedisSentinels;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Commands that measure on a primary behind real Sentinels. */
@Timeout(240)
class SentinelCommandsTest {
    private static final String SENTINEL_USER = "user redlock on >w4tch resetchannels &+switch-master -@all +auth"
            + " +sentinel|get-master-addr-by-name +subscribe +unsubscribe";
    private static final String[] SHORT = {"--fresh", "--in-flight", "2", "--duration", "200ms", "--warmup", "50ms",
        "--jvm-warmup", "50ms", "--repetitions", "1"};

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @Test
    void thePrimaryThatSentinelsNameIsMeasuredAndAsked(@TempDir Path folder) throws Exception {
        RedisNodesContext servers = new RedisNodesContext().source(Source.PATH)
                .count(2)
                .config("repl-diskless-sync-delay 0")
                .config("requirepass s3rver")
                .config("masterauth s3rver");
        try (RedisNodes nodes = RequiredNodes.start(servers);
                RedisSentinels group = RedisSentinels.watch(nodes, "s3rver", SENTINEL_USER, "requirepass 0ther")) {
            String address = group.address(":s3rver@");
            JsonNode result = measured(folder.resolve("first"), address, "compare", "--driver",
                    "redlock-blocking,redisson-wait");
            String notes = result.get("notes").toString();
            assertTrue(notes.contains(nodes.node(0).address() + " is the primary of " + group.address("")), notes);
            assertTrue(notes.contains("redisson-wait asked no Sentinels"), notes);
            for (JsonNode one : result.get("series")) {
                assertTrue(one.get("figures").get("serverCpuUsPerCycle").asDouble() > 0, one::toString);
            }
            RedisNode successor = group.failOver();
            nodes.nodes().forEach(node -> node.call("CONFIG", "RESETSTAT"));
            result = measured(folder.resolve("second"), address, "latency", "--driver", "redlock");
            assertTrue(result.get("versions").get("servers").get(0).asText().startsWith("redis "), result::toString);
            assertTrue(result.get("notes").toString().contains(successor.address() + " is the primary of "),
                    result::toString);
            assertTrue(String.valueOf(successor.call("INFO", "commandstats")).contains("cmdstat_set:"));
        }
    }

    private JsonNode measured(Path folder, String address, String... args) throws Exception {
        List<String> all = new ArrayList<>(List.of(args));
        all.addAll(List.of("--output", folder.toString(), "--addresses", address));
        all.addAll(List.of(SHORT));
        Map<String, String> credentials = Map.of("REDLOCK_SENTINEL_USER", "redlock", "REDLOCK_SENTINEL_PASSWORD",
                "w4tch");
        try (ChildProgram program = ChildProgram.start(Main.class, credentials, all)) {
            int code = program.awaitExit();
            assertEquals(0, code, program.out() + program.err());
            assertFalse((program.out() + program.err()).contains("s3rver"), "a password was printed");
        }
        String json = Files.readString(folder.resolve("results.json"));
        assertFalse((json + Files.readString(folder.resolve("report.html"))).matches("(?s).*(s3rver|w4tch).*"),
                "a password was recorded");
        return new ObjectMapper().readTree(json);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "redis-sentinel://a:1,b:1/m --delay 1ms|2|--delay and a redis-sentinel:// address exclude each other",
        "redis-sentinel://a:1,b:1/m --nodes 2|2|--nodes asks for 2 nodes and --addresses names 1",
        "redis-sentinel://a:1,b:1/m,redis-sentinel://b:1,c:1/m|2|--addresses names a server twice",
        "redis-sentinel://a:1,b:1|2|the name of the primary is missing",
        "rediss-sentinel://a:1,b:1/m --driver jedis --unix-sockets|2|--unix-sockets is for nodes",
        "redis-sentinel://:s3rver@127.0.0.1:1,127.0.0.1:2/m|3|no Sentinel names the primary of"
                + " redis-sentinel://127.0.0.1:1,127.0.0.1:2/m"})
    void addressesThatCannotBeMeasuredAreRefused(String arguments, int code, String message) {
        List<String> all = new ArrayList<>(List.of("latency", "--addresses"));
        all.addAll(List.of(arguments.split(" ")));
        assertEquals(code,
                Main.run(new PrintWriter(out, true), new PrintWriter(err, true), all.toArray(String[]::new)));
        assertTrue(err.toString().contains(message), err::toString);
        assertFalse(err.toString().contains("s3rver"), err::toString);
    }

    @Test
    void oneServerByTwoAddressesIsRefused() {
        RedisNodesContext servers = new RedisNodesContext().source(Source.PATH)
                .count(2)
                .config(
                        "repl-diskless-sync-delay 0");
        try (RedisNodes nodes = RequiredNodes.start(servers);
                RedisSentinels group = RedisSentinels.watch(nodes, null)) {
            String both = group.address("") + "," + nodes.addresses()[0];
            assertEquals(3, Main.run(new PrintWriter(out, true), new PrintWriter(err, true), "latency", "--nodes", "2",
                    "--fresh", "--addresses", both));
            assertTrue(err.toString().contains("leads to " + nodes.addresses()[0] + ", and so does another one"),
                    err::toString);
        }
    }
}
