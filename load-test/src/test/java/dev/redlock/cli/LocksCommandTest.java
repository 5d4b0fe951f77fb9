package dev.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.engine.LockValue;
import dev.redlock.loadtest.Await;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.SocketNodes;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RedisSentinels;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** The commands about locks, on real servers. */
@Timeout(60)
class LocksCommandTest {

    private static final Duration TTL = Duration.ofSeconds(30);
    private static final String ID = "[0-9a-f]{8}";
    private static final String MARK = "node:redlock:fence:run_id";

    private static RedisNodes nodes;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private final List<String> questions = new ArrayList<>();
    private Function<String, String> terminal = question -> null;

    @BeforeAll
    static void startNodes() {
        nodes = RequiredNodes.start(new RedisNodesContext().count(3));
    }

    @AfterAll
    static void stopNodes() {
        if (nodes != null) {
            nodes.close();
        }
    }

    @AfterEach
    void clear() {
        nodes.nodes().forEach(node -> node.call("FLUSHALL"));
    }

    private static Redlock client(String name) throws Exception {
        RedlockContext context = new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(2));
        Redlock client = Redlock.connect(name == null ? context : context.clientName(name).nameInValues(true));
        Await.until("all nodes ready",
                () -> client.nodes().stream().allMatch(node -> node.state() == NodeState.READY));
        return client;
    }

    /** On all nodes, and not only on the quorum that decided. */
    private static Lease held(Redlock client, String resource, AcquireOptions options) throws Exception {
        Lease lease = client.tryAcquire(resource, options).lease();
        Await.until("a key on each node", () -> nodes.nodes().stream().allMatch(node -> keyOf(node, resource)));
        return lease;
    }

    private static boolean keyOf(RedisNode node, String resource) {
        return Long.valueOf(1).equals(node.call("EXISTS", resource));
    }

    private int run(String... args) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        CommandLine line = Main.commandLine();
        LocksBreakCommand breaking = (LocksBreakCommand) line.getSubcommands()
                .get("locks")
                .getSubcommands()
                .get("break")
                .getCommandSpec()
                .userObject();
        breaking.terminal(question -> {
            questions.add(question);
            return terminal.apply(question);
        });
        List<String> words = new ArrayList<>(List.of("locks"));
        words.addAll(Arrays.asList(args));
        return Main.PROGRAM.run(line, UncheckedIOException.class, new PrintWriter(out, true),
                new PrintWriter(err, true), words.toArray(String[]::new));
    }

    private int runOnNodes(String... args) {
        List<String> all = new ArrayList<>(Arrays.asList(args));
        all.addAll(List.of("--nodes", String.join(",", nodes.addresses()), "--timeout", "5s"));
        return run(all.toArray(String[]::new));
    }

    private JsonNode json(String... args) throws Exception {
        List<String> all = new ArrayList<>(Arrays.asList(args));
        all.add("--json");
        assertEquals(0, runOnNodes(all.toArray(String[]::new)), () -> out + "\n" + err);
        return new ObjectMapper().readTree(out.toString());
    }

    private static void setOn(int node, String key, String value, long ttlMs) {
        nodes.node(node).call("SET", key, value, "PX", Long.toString(ttlMs));
    }

    // ---- list and show ----------------------------------------------------------------------------------------------

    @Test
    void listShowsHoldersVotesAndDisagreements() throws Exception {
        try (Redlock named = client("orders-7c9f:4711"); Redlock nameless = client(null)) {
            held(named, "orders/1", AcquireOptions.ofTtl(TTL).fenced());
            held(nameless, "orders/2", AcquireOptions.ofTtl(TTL));
            held(named, "other/3", AcquireOptions.ofTtl(TTL));
            setOn(1, "orders/3", "leftover", 20_000);
            for (int i = 0; i < 3; i++) {
                setOn(i, "orders/4", i == 2 ? "b" : "a", 20_000);
            }
            nodes.node(0).call("SET", "orders/5", "forever");
            nodes.node(0).call("HSET", "orders/6", "field", "value");
            assertEquals(0, runOnNodes("list", "orders/"), () -> out + "\n" + err);
            String text = out.toString();
            List<String> lines = text.lines().toList();
            assertTrue(lines.get(0).matches("KEY +NODES +STATE +HOLDER +ID +EXPIRES"), text);
            assertTrue(text.matches("(?s).*orders/1  3 of 3  held       orders-7c9f:4711  " + ID + "  2\\d s\n.*"),
                    text);
            assertTrue(text.contains("    fencing counter 1"), text);
            assertTrue(text.matches("(?s).*orders/2  3 of 3  held       -                 " + ID + "  2\\d s\n.*"),
                    text);
            assertTrue(text.matches("(?s).*orders/3  1 of 3  no quorum  -                 " + ID + "  1\\d s\n    " + ID
                    + " is no value of redlock: another program has set it\n.*"), text);
            assertTrue(text.matches("(?s).*orders/4  2 of 3  held .*\n    the nodes have 2 different values\n.*"
                    + "\n          1 of 3  no quorum .*"), text);
            assertTrue(text.matches("(?s).*orders/5  1 of 3  no quorum .*never\n    " + ID
                    + " never expires on 1 node\n.*"),
                    text);
            assertTrue(text.contains("    no lock, but a key of another type, which no acquire replaces, on 1 node"),
                    text);
            assertFalse(text.contains("other/3"), text);
            lines.forEach(line -> assertTrue(line.length() <= 80, line));
        }
    }

    /** The nodes know who may retain a lock, and not whether somebody uses it. */
    @Test
    void aLockThatItsClientMayRetainIsNamed() throws Exception {
        AcquireOptions retaining = AcquireOptions.ofTtl(TTL).retain(TTL);
        try (Redlock client = client("orders-7c9f:4711"); Redlock other = client("other")) {
            Lease lease = held(client, "orders/1", retaining);
            held(other, "orders/2", AcquireOptions.ofTtl(TTL));
            assertEquals(ReleaseOutcome.RETAINED, lease.release());
            assertEquals(0, runOnNodes("list"), () -> out + "\n" + err);
            String text = out.toString();
            assertTrue(text.matches("(?s).*orders/1 [^\n]*\n    " + ID
                    + " may be retained: its client then keeps it, and nobody uses it\n.*orders/2 .*"), text);
            assertEquals(1, text.split("may be retained", -1).length - 1, text);
            assertTrue(json("show", "orders/1").at("/locks/0/values/0/mayBeRetained").asBoolean());
            assertFalse(json("show", "orders/2").at("/locks/0/values/0/mayBeRetained").asBoolean());
            lease = held(client, "orders/3", retaining);
            assertEquals(ReleaseOutcome.RETAINED, lease.release());
            String id = json("show", "orders/3").at("/locks/0/values/0/id").asText();
            assertEquals(0, runOnNodes("break", "orders/3", id, "--yes"), () -> out + "\n" + err);
            Await.until("the client retains it no longer", () -> client.counters().retainedCount() == 1);
            assertTrue(other.tryAcquire("orders/3", AcquireOptions.ofTtl(TTL)).isAcquired());
            assertFalse(client.tryAcquire("orders/3", retaining).isAcquired());
            // The trace stays for a minute, and is not of the next holder.
            other.acquire("orders/1", AcquireOptions.ofTtl(TTL).waitUpTo(TTL));
            assertFalse(json("show", "orders/1").at("/locks/0/values/0/mayBeRetained").asBoolean());
        }
    }

    @Test
    void jsonHasTheSameFacts() throws Exception {
        try (Redlock named = client("orders-7c9f:4711")) {
            held(named, "orders/1", AcquireOptions.ofTtl(TTL).fenced());
            JsonNode root = json("list");
            assertEquals(2, root.get("quorum").asInt());
            assertFalse(root.get("isCut").asBoolean());
            assertEquals(1, root.get("locks").size(), "the counter is no lock: " + root);
            JsonNode lock = root.at("/locks/0");
            assertEquals("orders/1", lock.get("key").asText());
            assertEquals("orders-7c9f:4711", lock.at("/values/0/holder").asText());
            assertEquals("HELD", lock.at("/values/0/state").asText());
            assertEquals(3, lock.at("/values/0/nodeCount").asInt());
            assertTrue(lock.at("/values/0/remainingMs").asLong() > 20_000, root::toString);
            assertTrue(lock.at("/nodes/2/fence").asLong() > 1_000_000, root::toString);
            assertTrue(lock.at("/values/0/value").isMissingNode(), "values are secrets");
            assertTrue(json("list", "--values").at("/locks/0/values/0/value")
                    .asText()
                    .matches("[0-9a-f]{40}40" + hex("orders-7c9f:4711")));
            assertTrue(json("show", "orders/1").at("/locks/0/nodes/0/id").asText().matches(ID));
        }
    }

    private static String hex(String text) {
        return text.chars().mapToObj(c -> String.format("%02x", c)).reduce("", String::concat);
    }

    @Test
    void showHasOneLineForEachNode() throws Exception {
        try (Redlock named = client("api-1")) {
            held(named, "orders/1", AcquireOptions.ofTtl(TTL));
            setOn(2, "orders/1", "another", 10_000);
            assertEquals(0, runOnNodes("show", "orders/1"));
            String text = out.toString();
            assertTrue(text.startsWith("orders/1: held, 2 of 3 nodes, by api-1\n    id "), text);
            assertTrue(text.contains("orders/1: no quorum, 1 of 3 nodes, holder without a name\n"), text);
            for (RedisNode node : nodes.nodes()) {
                assertTrue(text.matches("(?s).*" + node.address() + "  " + ID + "  \\S+ s  +-\n.*"), text);
            }
            assertEquals(0, runOnNodes("show", "orders/none"));
            assertTrue(out.toString().startsWith("orders/none: free on 3 of 3 nodes\n"), out::toString);
        }
    }

    @Test
    void showHasThePermitsOfASemaphoreThatAreHeld() throws Exception {
        try (Redlock client = client("api-1")) {
            AcquireOptions permit = AcquireOptions.ofTtl(TTL).forPermitOf(3);
            List<String> numbers = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                client.acquire("exports", permit).lease();
            }
            for (int i = 0; i < 3; i++) {
                String key = "exports:redlock:permit:{exports}:" + i;
                Await.until("each node has the permit, or none", () -> nodes.nodes()
                        .stream()
                        .map(node -> keyOf(node, key))
                        .distinct()
                        .count() == 1);
                if (keyOf(nodes.node(0), key)) {
                    numbers.add(key);
                }
            }
            assertEquals(2, numbers.size());
            assertEquals(0, runOnNodes("show", "exports"));
            assertTrue(out.toString().startsWith("exports: free on 3 of 3 nodes"), out::toString);
            for (String key : numbers) {
                assertTrue(out.toString()
                        .matches("(?s).*" + Pattern.quote(key) + "\\s+3 of 3  held   api-1   " + ID
                                + "  [23]\\d s\n.*"),
                        out::toString);
            }
            assertEquals(0, runOnNodes("show", "exports", "--json"));
            JsonNode root = new ObjectMapper().readTree(out.toString());
            assertEquals(0, root.at("/locks/0/values").size(), root::toString);
            assertEquals(numbers, root.get("permits").findValuesAsText("key"), root::toString);
            assertEquals("api-1", root.at("/permits/1/values/0/holder").asText(), root::toString);
        }
    }

    @Test
    void manyKeysAreScannedUpToTheLimit() throws Exception {
        for (RedisNode node : nodes.nodes()) {
            node.call("EVAL", "for i = 1, 3500 do redis.call('SET', 'many/' .. i, 'value', 'PX', 60000) end", "0");
            node.call("SET", "other[1]*?", "value");
            node.call("SET", "other1", "value");
        }
        JsonNode all = json("list", "many/", "--limit", "3500");
        assertEquals(3500, all.get("locks").size());
        assertFalse(all.get("isCut").asBoolean());
        JsonNode cut = json("list", "many/", "--limit", "3499");
        assertEquals(3499, cut.get("locks").size());
        assertTrue(cut.get("isCut").asBoolean());
        assertEquals(0, runOnNodes("list", "many/", "--limit", "2"));
        assertTrue(out.toString().endsWith("There are more keys: give a longer prefix, or a --limit above 2.\n"),
                out::toString);
        JsonNode escaped = json("list", "other[1]*?");
        assertEquals(1, escaped.get("locks").size(), escaped::toString);
    }

    @Test
    void hostileNamesAndValuesAreEscaped() throws Exception {
        nodes.node(0).call("SET", "bad\u001b[31m\nname", "12345678901234567890@bad\nname");
        nodes.node(1).call("SET", "n\u00e4me/" + "x".repeat(100), "12345678901234567890@" + "y".repeat(64));
        nodes.node(2).call("SET", "long", "z".repeat(100_000));
        assertEquals(0, runOnNodes("list"), () -> out + "\n" + err);
        String text = out.toString();
        assertTrue(text.contains("bad\\u001b[31m\\nname"), text);
        assertFalse(text.contains("\u001b"), text);
        assertTrue(text.contains("n\u00e4me/" + "x".repeat(100) + "\n"), "a long name can be copied: " + text);
        assertTrue(text.contains("    held by " + "y".repeat(64)), text);
        assertTrue(text.contains("no lock, but a longer value, which no acquire replaces, on 1 node"), text);
        assertEquals(0, runOnNodes("show", "n\u00e4me/" + "x".repeat(100)));
        assertTrue(out.toString().contains("by " + "y".repeat(64)), out::toString);
    }

    // ---- break ------------------------------------------------------------------------------------------------------

    private static String idOf(String key) {
        String value = (String) nodes.node(0)
                .call("EVAL", "return (redis.call('GET', KEYS[1]):gsub('.', "
                        + "function(c) return string.format('%02x', c:byte()) end))", "1", key);
        return LockValue.of(java.util.HexFormat.of().parseHex(value)).id();
    }

    @Test
    void breakFreesAPermitByTheKeyThatShowPrints() throws Exception {
        try (Redlock named = client("api-1"); Redlock other = client(null)) {
            AcquireOptions permit = AcquireOptions.ofTtl(TTL).forPermitOf(2);
            List<Lease> leases = List.of(named.acquire("exports", permit).lease(),
                    named.acquire("exports", permit).lease());
            assertFalse(other.tryAcquire("exports", permit).isAcquired(), "both are held");
            String key = "exports:redlock:permit:{exports}:1";
            Await.until("on each node", () -> nodes.nodes().stream().allMatch(node -> keyOf(node, key)));
            assertEquals(0, runOnNodes("show", "exports"));
            assertTrue(out.toString().contains(key) && out.toString().contains(idOf(key)), out::toString);
            assertEquals(0, runOnNodes("break", key, idOf(key), "--yes"), () -> out + "\n" + err);
            assertTrue(other.tryAcquire("exports", permit).isAcquired());
            assertFalse(other.tryAcquire("exports", permit).isAcquired(), "the other permit is not touched");
            List<ExtendOutcome> extensions = new ArrayList<>();
            for (Lease lease : leases) {
                extensions.add(lease.extend(TTL));
            }
            assertTrue(extensions.containsAll(List.of(ExtendOutcome.EXTENDED, ExtendOutcome.LOST)),
                    extensions::toString);
        }
    }

    @Test
    void breakFreesALockAfterAYes() throws Exception {
        try (Redlock named = client("api-1"); Redlock other = client(null)) {
            Lease lease = held(named, "orders/1", AcquireOptions.ofTtl(TTL));
            terminal = question -> "no";
            assertEquals(1, runOnNodes("break", "orders/1", idOf("orders/1")));
            assertTrue(out.toString().endsWith("Nothing was changed.\n"), out::toString);
            assertTrue(out.toString().contains("orders/1: held, 3 of 3 nodes, by api-1"), out::toString);
            assertTrue(out.toString().contains("\nat most 2"),
                    out::toString);
            assertFalse(other.tryAcquire("orders/1", TTL).isAcquired(), "still held");
            terminal = question -> "yes";
            assertEquals(0, runOnNodes("break", "orders/1", idOf("orders/1")), () -> out + "\n" + err);
            assertEquals(List.of("Delete this value? Type yes: ", "Delete this value? Type yes: "), questions);
            for (RedisNode node : nodes.nodes()) {
                assertTrue(out.toString().contains(node.address() + "  deleted\n"), out::toString);
                assertFalse(keyOf(node, "orders/1"));
            }
            assertTrue(out.toString().contains("\nFreed: no quorum of nodes has value "), out::toString);
            out.toString().lines().forEach(line -> assertTrue(line.length() <= 80, line));
            assertEquals(ExtendOutcome.LOST, lease.extend(TTL), "the holder notices at its next extension");
            // The extension has put the missing keys back, and the client is deleting them again.
            Await.until("free", () -> other.tryAcquire("orders/1", TTL).isAcquired());
        }
    }

    @Test
    void breakLeavesTheLockOfANewHolder() throws Exception {
        try (Redlock first = client("api-1"); Redlock second = client("api-2")) {
            Lease lease = held(first, "orders/1", AcquireOptions.ofTtl(TTL));
            String old = idOf("orders/1");
            lease.release();
            Await.until("no key", () -> nodes.nodes().stream().noneMatch(node -> keyOf(node, "orders/1")));
            Lease next = held(second, "orders/1", AcquireOptions.ofTtl(TTL));
            assertEquals(1, runOnNodes("break", "orders/1", old, "--yes"));
            assertTrue(err.toString()
                    .contains("no node has value " + old + " of orders/1: the nodes have "
                            + idOf("orders/1") + "; the lock was released or has another holder. Nothing was changed."),
                    err::toString);
            // Between the look and the deletion: each node still compares.
            String oldId = idOf("orders/1");
            terminal = question -> {
                next.release();
                for (int i = 0; i < 3; i++) {
                    setOn(i, "orders/1", "12345678901234567890@api-3", 20_000);
                }
                return "yes";
            };
            assertEquals(0, runOnNodes("break", "orders/1", oldId), () -> out + "\n" + err);
            assertTrue(out.toString().contains("  has another value, which stays: "), out::toString);
            assertTrue(out.toString().contains("\nFreed, and acquired by api-3: id "), out::toString);
            nodes.nodes().forEach(node -> assertTrue(keyOf(node, "orders/1")));
        }
    }

    @Test
    void breakRemovesALeftoverOnly() throws Exception {
        try (Redlock holder = client("api-1")) {
            held(holder, "orders/1", AcquireOptions.ofTtl(TTL));
            setOn(2, "orders/1", "leftover", 20_000);
            String id = LockValue.of("leftover".getBytes()).id();
            assertEquals(0, runOnNodes("break", "orders/1", id, "--yes"), () -> out + "\n" + err);
            assertTrue(out.toString().contains("Too few nodes have this value for a lock"), out::toString);
            assertTrue(keyOf(nodes.node(0), "orders/1") && keyOf(nodes.node(1), "orders/1"), "the lock stays");
            assertFalse(keyOf(nodes.node(2), "orders/1"));
            JsonNode result = json("break", "orders/1", idOf("orders/1"), "--yes");
            assertTrue(result.get("freed").asBoolean(), result::toString);
            assertEquals("did not have it", result.at("/results/2/result").asText());
        }
    }

    @Test
    void breakLeavesAKeyOfAnotherType() {
        setOn(0, "orders/1", "leftover", 20_000);
        nodes.node(2).call("RPUSH", "orders/1", "element");
        String id = LockValue.of("leftover".getBytes()).id();
        assertEquals(0, runOnNodes("break", "orders/1", id, "--yes"), () -> out + "\n" + err);
        assertTrue(out.toString().contains(nodes.node(0).address() + "  deleted\n"), out::toString);
        assertTrue(out.toString().contains(nodes.node(2).address() + "  did not have it\n"), out::toString);
        assertTrue(keyOf(nodes.node(2), "orders/1"));
    }

    @Test
    void nodesThatAreDownAreReported() throws Exception {
        try (RedisNodes own = RequiredNodes.start(new RedisNodesContext().count(3))) {
            String addresses = String.join(",", own.addresses());
            own.nodes().forEach(node -> node.call("SET", "orders/1", "12345678901234567890@api-1", "PX", "30000"));
            own.node(2).kill();
            String id = LockValue.of("12345678901234567890@api-1".getBytes()).id();
            assertEquals(0, run("list", "--nodes", addresses));
            assertTrue(out.toString().startsWith("no answer from " + own.node(2).address() + ": cannot connect: "),
                    out::toString);
            assertTrue(out.toString().contains("2 of 3  held"), out::toString);
            own.node(1).kill();
            assertEquals(0, run("show", "orders/1", "--nodes", addresses));
            assertTrue(out.toString().contains("orders/1: unclear, 1 of 3 nodes, by api-1"), out::toString);
            assertTrue(out.toString().contains(own.node(1).address() + "  no answer"), out::toString);
            assertEquals(1, run("break", "orders/1", id, "--yes", "--nodes", addresses));
            assertTrue(out.toString().contains(own.node(0).address() + "  deleted\n"), out::toString);
            assertTrue(out.toString().contains("Not freed: nodes without an answer may still have the value."),
                    out::toString);
            own.node(0).kill();
            assertEquals(3, run("list", "--nodes", addresses));
            assertTrue(err.toString().startsWith("redlock: none of the 3 nodes answers\nno answer from "),
                    err::toString);
            assertEquals(3, run("list", "--nodes", own.addresses()[0]));
            assertEquals("redlock: no answer from " + own.addresses()[0] + ": cannot connect: Connection refused",
                    err.toString().strip());
        }
    }

    /** The rights that the page on operations lists. */
    @Test
    void aUserWithTheDocumentedRightsMayListAndBreak() throws Exception {
        try (RedisNodes own = RequiredNodes.start(new RedisNodesContext().count(1))) {
            String rights = "on >s3cret ~lock:* +scan +getrange +pttl +zcount";
            own.node(0).call(("ACL SETUSER reader reset " + rights).split(" "));
            own.node(0).call(("ACL SETUSER breaker reset " + rights + " +eval +get +del").split(" "));
            own.node(0).call("SET", "lock:1", "value", "PX", "30000");
            String id = LockValue.of("value".getBytes()).id();
            String reader = "redis://reader:s3cret@" + own.node(0).address();
            assertEquals(0, run("list", "lock:", "--nodes", reader), () -> out + "\n" + err);
            assertTrue(out.toString().contains("lock:1  1 of 1  held"), out::toString);
            assertEquals(0, run("show", "lock:1", "--nodes", reader), () -> out + "\n" + err);
            assertTrue(out.toString().startsWith("lock:1: held, 1 of 1 node, "), out::toString);
            assertEquals(0, run("show", "lock:2", "--nodes", reader), () -> out + "\n" + err);
            assertTrue(out.toString().startsWith("lock:2: free on 1 of 1 node\n"), out::toString);
            assertEquals(0, run("list", "lock:2", "--nodes", reader), () -> out + "\n" + err);
            assertEquals("No keys with this prefix on 1 of 1 node.\n", out.toString());
            own.node(0).call("SET", "other:1", "x");
            assertEquals(0, run("list", "--nodes", reader), () -> out + "\n" + err);
            assertTrue(out.toString()
                    .startsWith("Left out: 1 key that the user may not read; give the prefix of your locks.\n"),
                    out::toString);
            assertTrue(out.toString().contains("lock:1  1 of 1  held"), out::toString);
            assertFalse(out.toString().contains("other:1"), out::toString);
            own.node(0).call("SET", "other:2", "x");
            assertEquals(0, run("list", "other", "--limit", "1", "--nodes", reader), () -> out + "\n" + err);
            assertEquals("Left out: 1 key that the user may not read; give the prefix of your locks.\n"
                    + "There are more keys: give a longer prefix, or a --limit above 1.\n", out.toString());
            assertEquals(3, run("show", "other:1", "--nodes", reader), () -> out + "\n" + err);
            assertTrue(out.toString().contains("GETRANGE failed: NOPERM"), out::toString);
            assertEquals(1, run("break", "lock:1", id, "--yes", "--nodes", reader));
            assertTrue(out.toString().contains("EVAL failed: NOPERM"), out::toString);
            assertEquals(0, run("break", "lock:1", id, "--yes", "--nodes", reader.replace("reader", "breaker")),
                    () -> out + "\n" + err);
            assertNull(own.node(0).call("GET", "lock:1"));
            assertEquals(3, run("list", "--nodes", reader.replace("s3cret", "wr0ng")));
            assertTrue(err.toString().contains("WRONGPASS") && !err.toString().contains("wr0ng"), err::toString);
        }
    }

    /** The server behind Sentinels must say that it is a master. */
    @Test
    void aUserWithTheDocumentedRightsMayUseSentinels() throws Exception {
        List<String> line = Files.readAllLines(Path.of("../docs/guides/operations.md"))
                .stream()
                .filter(text -> text.startsWith("ACL SETUSER breaker "))
                .map(text -> text.replace("PASSWORD", "s3cret"))
                .toList();
        RedisNodesContext servers = new RedisNodesContext().source(Source.PATH)
                .count(2)
                .config("repl-diskless-sync-delay 0");
        try (RedisNodes own = RequiredNodes.start(servers); RedisSentinels group = RedisSentinels.watch(own, null)) {
            own.node(0).call(line.get(0).split(" "));
            own.node(0).call("SET", "lock:1", "value", "PX", "30000");
            String breaker = group.address("breaker:s3cret@");
            assertEquals(0, run("list", "lock:", "--nodes", breaker), () -> out + "\n" + err);
            assertTrue(out.toString().contains("lock:1  1 of 1  held"), out::toString);
            String id = LockValue.of("value".getBytes()).id();
            assertEquals(0, run("break", "lock:1", id, "--yes", "--nodes", breaker), () -> out + "\n" + err);
            own.node(0).call("ACL", "SETUSER", "breaker", "-info");
            assertEquals(3, run("list", "lock:", "--nodes", breaker), () -> out + "\n" + err);
            String text = err.toString();
            assertTrue(text.contains("the primary that Sentinels name for " + group.address("") + " cannot be used: "),
                    text);
            assertTrue(text.contains(own.node(0).address() + ": INFO replication failed: NOPERM "), text);
            assertTrue(text.contains("; allow +info with ACL SETUSER"), text);
            assertFalse(text.contains("is no master") || text.contains("no Sentinel names"), text);
            assertFalse(text.contains("s3cret"), text);
        }
    }

    // ---- nodes ------------------------------------------------------------------------------------------------------

    private int runNodes(String... args) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        List<String> words = new ArrayList<>(List.of("nodes"));
        words.addAll(Arrays.asList(args));
        return Main.run(new PrintWriter(out, true), new PrintWriter(err, true), words.toArray(String[]::new));
    }

    @Test
    void nodesShowsTheStateAndLocks() throws Exception {
        try (RedisNodes own = RequiredNodes.start(new RedisNodesContext().count(3))) {
            String addresses = String.join(",", own.addresses());
            // The restart guard trusts a fresh group of empty nodes.
            assertEquals(0, runNodes("--nodes", addresses, "--lock", "probe"), () -> out + "\n" + err);
            String text = out.toString();
            assertTrue(text.matches("NODE +STATE +VERSION +ROUND TRIP\n(127\\.0\\.0\\.1:\\d+ +ready +"
                    + "(redis|valkey) \\S+ +\\S+ ms\n){3}Computed for clients with --max-ttl 1m, --key-prefix '' and"
                    + " --restart-guard fresh_group: give what yours have.\nA quorum votes.\n"
                    + "The lock was acquired and released.\n"), text);
            Await.until("released", () -> own.nodes().stream().noneMatch(node -> keyOf(node, "probe")));
            markedByAClient(own, "");
            own.nodes().forEach(node -> node.call("SET", "probe", "another", "PX", "60000"));
            assertEquals(1, runNodes("--nodes", addresses, "--lock", "probe"), () -> out + "\n" + err);
            assertTrue(out.toString().contains("A quorum votes.\nThe lock: "), out::toString);
            own.node(2).kill();
            assertEquals(0, runNodes("--nodes", addresses, "--json"), () -> out + "\n" + err);
            JsonNode root = new ObjectMapper().readTree(out.toString());
            assertTrue(root.get("isQuorumAvailable").asBoolean(), root::toString);
            assertEquals("READY", root.at("/nodes/0/state").asText(), root::toString);
            assertFalse(root.at("/nodes/2/problem").isNull(), root::toString);
            own.node(1).kill();
            assertEquals(1, runNodes("--nodes", addresses));
            assertTrue(out.toString().contains("Too few nodes vote"), out::toString);
            own.node(0).kill();
            assertEquals(3, runNodes("--nodes", addresses));
        }
    }

    /** Clients with a longer maxTtl would trust the mark of a node that may have lost their locks. */
    @Test
    void nodesLeavesNoMarkThatClientsTrust() {
        try (SocketNodes restarted = new SocketNodes(3)) {
            for (int i = 0; i < 3; i++) {
                FakeNode node = restarted.node(i);
                long uptimeSeconds = i == 0 ? 86_400 : 70;
                restarted.onLoop(i, () -> {
                    node.redis().uptime(uptimeSeconds);
                    return null;
                });
            }
            String addresses = String.join(",", restarted.addresses());
            assertEquals(0, runNodes("--nodes", addresses), () -> out + "\n" + err);
            assertTrue(out.toString().contains("Computed for clients with --max-ttl 1m, "), out::toString);
            assertNoMark(restarted);
            assertEquals(1, runNodes("--nodes", addresses, "--max-ttl", "10m"), () -> out + "\n" + err);
            assertTrue(out.toString().contains("in quarantine for another 5"), out::toString);
            assertTrue(out.toString().contains("Computed for clients with --max-ttl 10m, "), out::toString);
            assertEquals(0, runNodes("--nodes", addresses, "--max-ttl", "10m", "--restart-guard", "off"),
                    () -> out + "\n" + err);
            assertNoMark(restarted);
        }
    }

    /** A client lets fresh nodes vote, and marks them for others. */
    private static void markedByAClient(RedisNodes fresh, String keyPrefix) throws Exception {
        try (Redlock client = Redlock.connect(new RedlockContext().nodes(fresh.addresses()).keyPrefix(keyPrefix))) {
            Await.until("all nodes ready",
                    () -> client.nodes().stream().allMatch(node -> node.state() == NodeState.READY));
        }
    }

    private static void assertNoMark(SocketNodes fakes) {
        for (int i = 0; i < 3; i++) {
            FakeNode node = fakes.node(i);
            assertNull(fakes.onLoop(i, () -> node.redis().get(MARK)));
        }
    }

    /** The mark of the clients makes a young node vote, and it is a key beside which no group is fresh. */
    @Test
    void nodesReadsTheMarksOfTheClients() throws Exception {
        try (RedisNodes own = RequiredNodes.start(new RedisNodesContext().count(3))) {
            String addresses = String.join(",", own.addresses());
            markedByAClient(own, "lock:");
            assertEquals(1, runNodes("--nodes", addresses), () -> out + "\n" + err);
            assertTrue(out.toString().contains("--key-prefix '' and"), out::toString);
            assertEquals(0, runNodes("--nodes", addresses, "--key-prefix", "lock:", "--lock", "lock:probe"),
                    () -> out + "\n" + err);
            assertTrue(out.toString()
                    .endsWith(" --key-prefix lock: and --restart-guard fresh_group: give what yours have.\n"
                            + "A quorum votes.\nThe lock was acquired and released.\n"),
                    out::toString);
            assertEquals(2, runNodes("--nodes", addresses, "--key-prefix", "lock:", "--lock", "probe"));
            assertTrue(err.toString().contains("--lock is probe: expected a key that starts with --key-prefix lock:"),
                    err::toString);
            assertEquals(1, runNodes("--nodes", addresses, "--restart-guard", "uptime", "--json"));
            JsonNode root = new ObjectMapper().readTree(out.toString());
            assertEquals(60_000, root.get("maxTtlMs").asInt(), root::toString);
            assertEquals("UPTIME", root.get("restartGuard").asText(), root::toString);
        }
    }

    @ParameterizedTest
    @CsvSource({"100ms", "24h"})
    void nodesTakesEachMaxTtlOfAClient(String maxTtl) {
        String addresses = String.join(",", nodes.addresses());
        assertEquals(0, runNodes("--nodes", addresses, "--max-ttl", maxTtl, "--restart-guard", "off", "--lock",
                "probe"), () -> out + "\n" + err);
    }

    /** A user without a right that a release needs has no vote; one whose release fails for this key sees the key. */
    @Test
    void nodesDoesNotCallALockReleasedThatIsNot() throws Exception {
        try (RedisNodes own = RequiredNodes.start(new RedisNodesContext().source(Source.PATH).count(3))) {
            String addresses = own.nodes()
                    .stream()
                    .map(node -> "redis://holder:s3cret@" + node.address())
                    .collect(Collectors.joining(","));
            own.nodes().forEach(node -> node.call("ACL SETUSER holder reset on >s3cret ~* +@all -del".split(" ")));
            assertEquals(3, runNodes("--nodes", addresses, "--lock", "probe"), () -> out + "\n" + err);
            assertTrue(out.toString()
                    .contains("the user may not run DEL, which a lock needs: allow it with ACL SETUSER"
                            + " USER +del\nComputed for clients with "),
                    out::toString);
            assertTrue(own.nodes().stream().noneMatch(node -> keyOf(node, "probe")));

            own.nodes()
                    .forEach(node -> node.call("ACL", "SETUSER", "holder", "reset", "on", ">s3cret", "~redlock:*",
                            "~node:redlock:*", "+@all", "(~probe +@all -del)"));
            assertEquals(1, runNodes("--nodes", addresses, "--lock", "probe"), () -> out + "\n" + err);
            assertTrue(out.toString()
                    .matches("(?s).*\nThe lock was acquired, but not released \\(UNKNOWN\\): the key"
                            + " probe remains for [34]\\d{3} ms on \\S+, [34]\\d{3} ms on \\S+,"
                            + " [34]\\d{3} ms on \\S+\\.\n"),
                    out::toString);
            own.nodes().forEach(node -> node.call("DEL", "probe"));
            assertEquals(1, runNodes("--nodes", addresses, "--lock", "probe", "--json"), () -> out + "\n" + err);
            JsonNode root = new ObjectMapper().readTree(out.toString());
            assertTrue(root.get("remnant").asText().contains("not released"), root::toString);
        }
    }

    // ---- broken servers ---------------------------------------------------------------------------------------------

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "*2\\r\\n$2\\r\\n17\\r\\n*0\\r\\n|SCAN has not ended after 100ms: raise --scan-timeout if the node",
        "*2\\r\\n$1\\r\\n0\\r\\n*1\\r\\n:5\\r\\n|SCAN has an unexpected reply: expected a string",
        "*1\\r\\n$1\\r\\n0\\r\\n|SCAN has an unexpected reply: expected a cursor and keys",
        "+OK\\r\\n|SCAN has an unexpected reply: expected an aggregate, got SIMPLE_STRING(OK)",
        "*2\\r\\n$1\\r\\n0\\r\\n*1\\r\\n$1\\r\\nk\\r\\n|GETRANGE has an unexpected reply: expected a string"})
    void aBrokenServerIsANodeWithAProblem(String reply, String problem) {
        try (SocketNodes broken = new SocketNodes(1)) {
            String bytes = reply.translateEscapes();
            broken.onLoop(0, () -> {
                broken.node(0).hostility((wire, words, honest) -> wire.send(bytes));
                return null;
            });
            String address = broken.addresses()[0];
            List<String> all = new ArrayList<>(List.of(nodes.addresses()).subList(0, 2));
            all.add(address);
            assertEquals(0, run("list", "--nodes", String.join(",", all), "--scan-timeout", "100ms"),
                    err::toString);
            assertTrue(out.toString().startsWith("no answer from " + address + ": " + problem), out::toString);
            assertEquals("", err.toString());
        }
    }

    // ---- wrong use --------------------------------------------------------------------------------------------------

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "list|no nodes are named: give --nodes host:port,host:port,... or set REDLOCK_NODES",
        "list --nodes ,|--nodes has an empty element: write values between commas",
        "list --nodes nowhere|--nodes: node address \"nowhere\" is invalid: the port is missing",
        "list --nodes a:1,redis://a:1|--nodes names a server twice: name each node once",
        "list --limit 0 --nodes a:1|--limit is 0: expected 1 to 100000",
        "list --limit 100001 --nodes a:1|--limit is 100001: expected 1 to 100000",
        "list --scan-timeout 0ms --nodes a:1|--scan-timeout is 0ms: expected at least 1ms",
        "list --timeout 0ms --nodes a:1|--timeout is 0ms: expected at least 1ms",
        "break orders/1 12345 --nodes a:1|ID is \"12345\": expected the 8 hexadecimal digits that locks show",
        "break orders/1 3f9a01cx --nodes a:1|ID is \"3f9a01cx\": expected the 8 hexadecimal digits",
        "break orders/1 3f9a01c2 --json --nodes a:1|--json does not ask: add --yes",
        "break orders/1|Missing required parameter: 'ID'", "show|Missing required parameter: 'KEY'"})
    void wrongOptionsReportTheRule(String args, String message) {
        assertEquals(2, run(args.split(" ")));
        assertTrue(err.toString().contains(message), err::toString);
        assertTrue(err.toString().lines().count() <= 3, err::toString);
        assertEquals("", out.toString());
    }

    @Test
    void withoutATerminalBreakNeedsYes() {
        nodes.nodes().forEach(node -> node.call("SET", "orders/1", "value", "PX", "30000"));
        assertEquals(2, runOnNodes("break", "orders/1", LockValue.of("value".getBytes()).id()));
        assertTrue(err.toString().startsWith("there is no terminal to ask for confirmation: add --yes"), err::toString);
        nodes.nodes().forEach(node -> assertTrue(keyOf(node, "orders/1")));
        assertEquals(2, runOnNodes("show", ""));
        assertTrue(err.toString().startsWith("KEY is empty: give the name of the lock"), err::toString);
        assertEquals(2, run());
        assertTrue(err.toString().startsWith("locks needs a command: write locks list, show, top or break"),
                err::toString);
    }
}
