package dev.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.NodeState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** {@code locks top} on real servers, with a clock that stands still. */
@Timeout(60)
class LocksTopCommandTest {

    private static final AcquireOptions HELD = AcquireOptions.ofTtl(Duration.ofSeconds(60)).tryOnce();
    private static final AcquireOptions WAITING = HELD.waitUpTo(Duration.ofSeconds(50));
    private static final String HEAD = "KEY"
            + "                        KIND        NODES  HOLDER            EXPIRES  WAITING";

    private static RedisNodes nodes;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private Screen screen = new Screen();

    /** A terminal of 80 by 24, or none. */
    private static class Screen extends TopScreen {

        private boolean isTerminal;
        int pauses;

        @Override
        boolean isTerminal() {
            return isTerminal;
        }

        @Override
        String time() {
            return "12:34:56";
        }

        @Override
        Size size() {
            return USUAL;
        }

        @Override
        void pause() throws InterruptedException {
            pauses++;
        }
    }

    /** Between two looks at clients that change. */
    private static void breathe() throws InterruptedException {
        new CountDownLatch(1).await(20, TimeUnit.MILLISECONDS);
    }

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
        Redlock client = Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(2))
                .clientName(name)
                .nameInValues(true));
        Await.until("all nodes ready",
                () -> client.nodes().stream().allMatch(node -> node.state() == NodeState.READY));
        return client;
    }

    private int run(PrintWriter to, String... args) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        CommandLine line = Main.commandLine();
        LocksTopCommand top = (LocksTopCommand) line.getSubcommands()
                .get("locks")
                .getSubcommands()
                .get("top")
                .getCommandSpec()
                .userObject();
        top.screen(screen);
        List<String> words = new ArrayList<>(List.of("locks", "top"));
        words.addAll(Arrays.asList(args));
        return Main.PROGRAM.run(line, UncheckedIOException.class, to, new PrintWriter(err, true),
                words.toArray(String[]::new));
    }

    private int runOn(String[] addresses, String... args) {
        List<String> all = new ArrayList<>(Arrays.asList(args));
        all.addAll(List.of("--nodes", String.join(",", addresses), "--timeout", "5s"));
        return run(new PrintWriter(out, true), all.toArray(String[]::new));
    }

    /** The lines of the last of some refreshes; each line fits. */
    private List<String> top(String... args) {
        List<String> all = new ArrayList<>(Arrays.asList(args));
        all.addAll(List.of("--count", "1"));
        assertEquals(0, runOn(nodes.addresses(), all.toArray(String[]::new)), () -> out + "\n" + err);
        List<String> lines = out.toString().lines().toList();
        lines.forEach(line -> assertTrue(TopTable.columns(line) <= 80, line));
        lines.forEach(line -> assertTrue(line.chars().allMatch(character -> character >= ' '), line));
        return lines;
    }

    /** Clients ask all nodes, and some answer late. */
    private void awaitTop(String what, List<String> patterns, String... args) throws Exception {
        Await.until(what, () -> {
            List<String> lines = top(args);
            boolean isMet = lines.size() == patterns.size();
            for (int i = 0; isMet && i < patterns.size(); i++) {
                isMet = Pattern.matches(patterns.get(i), lines.get(i));
            }
            return isMet;
        });
    }

    private static String line(String text) {
        return Pattern.quote(text.substring(0, text.indexOf('#'))) + "[56][0-9] s"
                + Pattern.quote(text.substring(text.indexOf('#') + 4));
    }

    @Test
    void eachKindOfLockHasARow() throws Exception {
        try (Redlock client = client("orders-7c9f:4711"); Redlock other = client("a-long-name-of-a-pod-7c9f:4711")) {
            client.acquire("orders/42", HELD.fenced()).lease();
            other.acquire("shop:customers/0000000000000000000000/cart/17", HELD).lease();
            client.acquireAll(List.of("set/a", "set/b"), HELD).lease();
            client.acquire("exports", HELD.forPermitOf(1)).lease();
            client.acquire("doc/1", HELD.forReading()).lease();
            other.acquire("doc/1", HELD.forReading()).lease();
            client.acquire("doc/2", HELD.forWriting()).lease();
            client.acquire("kept", HELD.retain(Duration.ofSeconds(60))).lease().release();
            for (RedisNode node : nodes.nodes()) {
                node.call("SET", "of/another/program", "value");
                node.call("HSET", "of/a/third", "field", "value");
                node.call("ZADD", "of/a/leaderboard", "7", "player");
            }
            awaitTop("all kinds", List.of("12:34:56  8 locks held, 0 waited for, 3 of 3 nodes", HEAD,
                    line("doc/1                      read        3/3    2 readers            ####        -"),
                    line("doc/2                      lock        3/3    orders-7c9f:4711     ####        -"),
                    line("exports                    permit 0    3/3    orders-7c9f:4711     ####        -"),
                    line("kept                       retained    3/3    orders-7c9f:4711     ####        -"),
                    line("orders/42                  fenced      3/3    orders-7c9f:4711     ####        -"),
                    line("set/a                      set         3/3    orders-7c9f:4711     ####        -"),
                    line("set/b                      set         3/3    orders-7c9f:4711     ####        -"),
                    line("shop:custom...000/cart/17  lock        3/3    a-long-...f:4711     ####        -")),
                    "--sort", "name");
            awaitTop("a prefix", List.of("12:34:56  2 locks held, 0 waited for, 3 of 3 nodes", HEAD,
                    line("doc/1                      read        3/3    2 readers            ####        -"),
                    line("doc/2                      lock        3/3    orders-7c9f:4711     ####        -")),
                    "--prefix", "doc/");
            client.acquire("doc/3", AcquireOptions.ofTtl(Duration.ofSeconds(40))).lease();
            Await.until("the next to expire is first",
                    () -> top("--sort", "ttl", "--prefix", "doc/").get(2).startsWith("doc/3"));
        }
    }

    @Test
    void waitersAreCountedWhereTheNodesCount() throws Exception {
        List<Redlock> clients = new ArrayList<>();
        try (Redlock holder = client("holder")) {
            for (String name : List.of("a", "b/2", "c/3", "d/4", "exports", "z")) {
                AcquireOptions options = name.equals("exports") ? HELD.forPermitOf(1) : HELD;
                holder.acquire(name, name.equals("c/3") ? HELD.forReading() : options).lease();
            }
            for (int i = 0; i < 3; i++) {
                Redlock waiter = client("waiter-" + i);
                clients.add(waiter);
                waiter.acquireAsync("z", WAITING).toCompletableFuture();
                if (i == 0) {
                    waiter.acquireAsync("b/2", WAITING).toCompletableFuture();
                    waiter.acquireAllAsync(List.of("d/4", "d/5"), WAITING).toCompletableFuture();
                    waiter.acquireAsync("c/3", WAITING.forWriting()).toCompletableFuture();
                    waiter.acquireAsync("exports", WAITING.forPermitOf(1)).toCompletableFuture();
                }
            }
            StringWriter last = new StringWriter();
            screen = new Screen() {
                @Override
                void pause() throws InterruptedException {
                    last.getBuffer().setLength(0);
                    last.append(out.toString().strip());
                    out.getBuffer().setLength(0);
                    boolean isShown = List.of("z .* 3", "b/2 .* 1", "c/3 .* 1\\+?", "d/4 .* 1\\+",
                            "exports .* 1\\+", "a .* -")
                            .stream()
                            .allMatch(row -> last.toString().lines().anyMatch(line -> line.matches(row)));
                    if (isShown && last.toString().lines().toList().get(2).startsWith("z ")) {
                        throw new InterruptedException();
                    }
                    breathe();
                }
            };
            assertEquals(ExitCodes.INTERRUPTED, runOn(nodes.addresses(), "--count", "400"),
                    () -> last + "\n" + err);
            assertTrue(last.toString().contains("6 locks held, 5 waited for"), last::toString);
        } finally {
            clients.forEach(Redlock::close);
        }
    }

    /** An acquisition that waits shows although other locks fill the table. */
    @Test
    void anAwaitedLockHasAPlaceInAFullTable() throws Exception {
        for (RedisNode node : nodes.nodes()) {
            node.call("EVAL", "for i = 1, 300 do redis.call('SET', 'many/' .. i, '12345678901234567890', 'PX', 60000)"
                    + " end", "0");
        }
        try (Redlock holder = client("holder"); Redlock waiter = client("waiter")) {
            holder.acquire("zzz", HELD).lease();
            waiter.acquireAsync("zzz", WAITING).toCompletableFuture();
            Await.until("it is first", () -> {
                List<String> lines = top("--limit", "20");
                assertEquals("12:34:56  20 locks held", lines.get(0).substring(0, 23));
                assertEquals("There are more locks: give a longer --prefix, or a higher --limit.", lines.get(1));
                assertEquals(23, lines.size());
                return lines.get(3).startsWith("zzz ") && lines.get(3).endsWith(" 1");
            });
        }
    }

    @Test
    void aRefreshOfAServerWithManyKeysIsBounded() throws Exception {
        RedisNode node = nodes.node(0);
        node.call("EVAL", "for i = 1, 20000 do redis.call('SET', 'other/' .. i, 'value') end", "0");
        node.call("SET", "orders/42", "12345678901234567890@api-1", "PX", "60000");
        node.call("CONFIG", "RESETSTAT");
        String[] one = {node.address().toString()};
        assertEquals(0, runOn(one, "--count", "1"), () -> out + "\n" + err);
        assertTrue(out.toString().contains("\nNot all keys are scanned yet: more locks may follow.\n"), out::toString);
        assertTrue(calls(node, "scan") <= NodeScan.PAGES_MAX, "SCANs: " + calls(node, "scan"));
        // SCAN may return some more keys than asked for.
        long limit = NodeScan.PAGES_MAX * LockNode.SCAN_COUNT * 2;
        assertTrue(calls(node, "getrange") <= limit, "GETRANGEs: " + calls(node, "getrange"));
        assertEquals(0, runOn(one, "--count", "8"), () -> out + "\n" + err);
        String last = out.toString().substring(out.toString().lastIndexOf("12:34:56"));
        assertTrue(last.startsWith("12:34:56  1 lock held, 0 waited for, 1 of 1 node\nKEY "), last);
        assertTrue(last.contains("orders/42                  lock        1/1    api-1"), last);
    }

    private static long calls(RedisNode node, String command) {
        return Pattern.compile("cmdstat_" + command + ":calls=(\\d+)")
                .matcher((String) node.call("INFO", "commandstats"))
                .results()
                .mapToLong(found -> Long.parseLong(found.group(1)))
                .sum();
    }

    @Test
    void aNodeThatIsDownIsALine() throws Exception {
        try (RedisNodes own = RequiredNodes.start(new RedisNodesContext().count(3))) {
            own.nodes().forEach(node -> node.call("SET", "orders/1", "12345678901234567890@api-1", "PX", "60000"));
            List<String> frames = new ArrayList<>();
            screen = new Screen() {
                @Override
                void pause() throws InterruptedException {
                    pauses++;
                    frames.add(out.toString());
                    out.getBuffer().setLength(0);
                    switch (pauses) {
                        case 1 -> own.node(2).kill();
                        case 2 -> own.node(2).start();
                        case 8 -> own.nodes().forEach(RedisNode::kill);
                        default -> {
                            // The next refresh follows at once.
                        }
                    }
                }
            };
            assertEquals(ExitCodes.NO_NODES, runOn(own.addresses(), "--count", "10"), () -> out + "\n" + err);
            assertTrue(frames.get(0).contains("1 lock held, 0 waited for, 3 of 3 nodes"), frames::toString);
            assertTrue(frames.get(1)
                    .contains("1 lock held, 0 waited for, 2 of 3 nodes\nno answer from "
                            + own.node(2).address() + ": "),
                    frames::toString);
            assertTrue(frames.get(1).contains("  2/3    api-1"), frames::toString);
            assertTrue(frames.get(7).contains("1 lock held, 0 waited for, 3 of 3 nodes\nKEY"), frames::toString);
            assertTrue(frames.get(8).contains("0 locks held, 0 waited for, 0 of 3 nodes\nno answer from "),
                    frames::toString);
            assertEquals("", err.toString());
            assertEquals(ExitCodes.NO_NODES, runOn(own.addresses()));
            assertTrue(err.toString().startsWith("redlock: none of the 3 nodes answers\nno answer from "),
                    err::toString);
        }
    }

    @Test
    void aTerminalIsOverwrittenAndDoesNotScroll() {
        for (RedisNode node : nodes.nodes()) {
            node.call("EVAL", "for i = 10, 69 do redis.call('SET', 'many/' .. i, '12345678901234567890', 'PX', 60000)"
                    + " end", "0");
        }
        screen.isTerminal = true;
        assertEquals(0, runOn(nodes.addresses(), "--count", "2", "--sort", "name"), () -> out + "\n" + err);
        String[] frames = out.toString().split(Pattern.quote("\033[H"));
        assertEquals(3, frames.length);
        assertEquals("", frames[0]);
        assertTrue(frames[1].startsWith("\033[2J12:34:56  60 locks held, 0 waited for, 3 of 3 nodes\033[K\n"),
                frames[1]);
        assertTrue(frames[2].startsWith("12:34:56  60 locks held"), frames[2]);
        for (int i = 1; i < 3; i++) {
            List<String> lines = frames[i].lines().toList();
            assertEquals(24, lines.size());
            assertTrue(lines.get(21).startsWith("many/29 "), frames[i]);
            assertEquals("and 40 more\033[K", lines.get(22));
            assertEquals("\033[J", lines.get(23));
        }
    }

    @Test
    void hostileNamesKeepTheTable() {
        nodes.node(0).call("SET", "bad\u001b[31m\nname", "12345678901234567890@bad");
        nodes.node(1).call("SET", "\u65e5\u672c\u8a9e".repeat(20), "12345678901234567890@" + "y".repeat(64));
        nodes.node(2).call("SET", "\u0301".repeat(90), "12345678901234567890");
        List<String> lines = top();
        assertEquals(5, lines.size());
        assertTrue(String.join("\n", lines).contains("bad\\u001b[31m\\nname        no quorum   1/3    bad "),
                lines::toString);
    }

    @Test
    void aReaderThatEndsEndsTheCommand() {
        PrintWriter closed = new PrintWriter(new Writer() {
            @Override
            public void write(char[] text, int offset, int length) throws IOException {
                throw new IOException("Broken pipe");
            }

            @Override
            public void flush() {
                // nothing is buffered
            }

            @Override
            public void close() {
                // nothing is open
            }
        });
        assertEquals(0, run(closed, "--nodes", nodes.addresses()[0]));
        assertEquals(1, screen.pauses + 1);
    }

    /** The rights that the page on operations lists. */
    @Test
    void aUserWithTheDocumentedRightsMayWatch() throws Exception {
        try (RedisNodes own = RequiredNodes.start(new RedisNodesContext().count(1))) {
            own.node(0)
                    .call("ACL SETUSER reader reset on >s3cret ~lock:* +scan +getrange +pttl +zcount".split(" "));
            own.node(0).call("SET", "lock:1", "12345678901234567890", "PX", "60000");
            String[] reader = {"redis://reader:s3cret@" + own.node(0).address()};
            assertEquals(0, runOn(reader, "--count", "1", "--prefix", "lock:"), () -> out + "\n" + err);
            assertTrue(out.toString().contains("\nlock:1  "), out::toString);
            assertFalse(out.toString().contains("s3cret"), out::toString);
            // A lock of other clients, and the mark of a client that waits for it.
            own.node(0).call("SET", "other:1", "12345678901234567890", "PX", "60000");
            own.node(0).call("SET", "other:1:redlock:fence:waiting", "1", "PX", "60000");
            assertEquals(0, runOn(reader, "--count", "2"), () -> out + "\n" + err);
            assertTrue(out.toString()
                    .contains("\nLeft out: 1 key that the user may not read; give the prefix of your locks.\n"),
                    out::toString);
            assertEquals(2, out.toString().split("\nlock:1  ", -1).length - 1, out::toString);
            assertFalse(out.toString().contains("no answer"), out::toString);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"--limit 0|--limit is 0: expected 1 to 1000",
        "--limit 1001|--limit is 1001: expected 1 to 1000", "--count 0|--count is 0: expected 1 or more",
        "--sort age|Invalid value for option '--sort'", "--json|Unknown option: '--json'"})
    void wrongOptionsReportTheRule(String args, String message) {
        assertEquals(2, run(new PrintWriter(out, true), (args + " --nodes a:1").split(" ")));
        assertTrue(err.toString().contains(message), err::toString);
        assertEquals("", out.toString());
    }
}
