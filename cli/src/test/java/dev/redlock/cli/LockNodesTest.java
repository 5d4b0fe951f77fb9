package dev.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.transport.NodeAddress;
import dev.redlock.transport.SentinelAddress;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The nodes of the commands about locks, behind a Sentinel that says what a test wants. */
@Timeout(60)
class LockNodesTest {

    private static final String MASTER = "$11\r\nrole:master\r\n";
    private static final String NO_KEYS = "*2\r\n$1\r\n0\r\n*0\r\n";

    private static String naming(FakeServer primary) {
        return "*2\r\n$9\r\n127.0.0.1\r\n$" + Integer.toString(primary.port()).length() + "\r\n" + primary.port()
                + "\r\n";
    }

    private static FakeServer master() {
        return new FakeServer().reply("INFO", MASTER).reply("SCAN", NO_KEYS);
    }

    private static LockNode only(LockNodes nodes) {
        return nodes.nodes().get(0);
    }

    @Test
    void aPrimaryThatCannotBeUsedIsOneThatIsNamed() {
        try (FakeServer sentinel = new FakeServer(); FakeServer primary = master()) {
            sentinel.reply("SENTINEL", naming(primary));
            String group = "redis-sentinel://" + sentinel.address() + "/orders";
            String start = "the primary that Sentinels name for " + group + " cannot be used: " + sentinel.address()
                    + ": " + primary.address();
            primary.reply("INFO", "-NOPERM no permissions\r\n");
            assertEquals(start + ": INFO replication failed: NOPERM no permissions; allow +info with ACL SETUSER",
                    problemOf(group));
            primary.reply("INFO", "-ERR unknown command\r\n");
            assertEquals(start + ": INFO replication failed: ERR unknown command; the server rejects the command; if"
                    + " it is renamed or disabled, allow it", problemOf(group));
            primary.reply("INFO", "$10\r\nrole:slave\r\n");
            assertEquals(start + " is no master", problemOf(group));
        }
    }

    private static String problemOf(String group) {
        try (LockNodes nodes = LockNodes.connect(List.of(SentinelAddress.parse(group)), Duration.ofSeconds(30),
                ClientTls.DEFAULTS)) {
            return only(nodes).problem();
        }
    }

    /** Redis 6.2 and 7.0, and later versions and Valkey. */
    @ParameterizedTest
    @ValueSource(strings = {"this user has no permissions to access one of the keys used as arguments",
        "No permissions to access a key"})
    void aFoundKeyThatTheUserMayNotReadIsLeftOut(String denial) {
        try (FakeServer server = denying(denial); LockNodes nodes = connect(server)) {
            LockNodes.Listing listing = nodes.list("", 10, Duration.ofSeconds(30));
            assertNull(only(nodes).problem());
            assertEquals(List.of(), listing.locks());
            assertEquals(1, listing.deniedCount());
            LockWatch.Snapshot snapshot = new LockWatch(nodes, "", 10).refresh();
            assertNull(only(nodes).problem());
            assertEquals(1, snapshot.deniedCount());
            nodes.read("other:1");
            assertTrue(String.valueOf(only(nodes).problem()).startsWith("GETRANGE failed: NOPERM " + denial),
                    "a key that the operator names");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"this user has no permissions to run the 'getrange' command or its subcommand",
        "this user has no permissions to run the 'getrange' command",
        "User reader has no permissions to run the 'getrange' command"})
    void aCommandThatTheUserMayNotRunIsAProblemOfTheNode(String denial) {
        try (FakeServer server = denying(denial); LockNodes nodes = connect(server)) {
            assertEquals(0, nodes.list("", 10, Duration.ofSeconds(30)).deniedCount());
            assertTrue(String.valueOf(only(nodes).problem()).startsWith("GETRANGE failed: NOPERM " + denial));
        }
    }

    private static FakeServer denying(String denial) {
        FakeServer server = new FakeServer().reply("SCAN", "*2\r\n$1\r\n0\r\n*1\r\n$7\r\nother:1\r\n");
        for (String command : List.of("GETRANGE", "PTTL", "ZCOUNT")) {
            server.reply(command, "-NOPERM " + denial + "\r\n");
        }
        return server;
    }

    /** Else its votes would be missing without a word. */
    @Test
    void aKeyThatOnlyOneNodeLetsTheUserReadIsAProblemOfTheOther() {
        String denial = "No permissions to access a key";
        try (FakeServer open = denying(denial);
                FakeServer closed = denying(denial);
                LockNodes nodes = connect(open, closed)) {
            allow(open);
            LockWatch watch = new LockWatch(nodes, "", 10);
            assertEquals(1, nodes.list("", 10, Duration.ofSeconds(30)).locks().size());
            assertProblem(nodes, closed, denial, watch.refresh());
            LockNodes.Listing listing = nodes.list("", 10, Duration.ofSeconds(30));
            assertEquals(0, listing.deniedCount());
            assertNull(listing.locks().get(0).readings().get(1));
            assertProblem(nodes, closed, denial, watch.refresh());
            allow(closed);
            watch.refresh();
            assertNull(nodes.nodes().get(1).problem());
            assertEquals(2, nodes.list("", 10, Duration.ofSeconds(30))
                    .locks()
                    .get(0)
                    .holders()
                    .values()
                    .iterator()
                    .next()
                    .size());
        }
    }

    private static void assertProblem(LockNodes nodes, FakeServer closed, String denial, LockWatch.Snapshot snapshot) {
        assertNull(only(nodes).problem());
        assertEquals(2, nodes.upCount(), "the node answers for other keys");
        String problem = "other:1 cannot be read: NOPERM " + denial + "; the user may not run the command, or not on"
                + " this key; allow both with ACL SETUSER";
        assertEquals(problem, nodes.nodes().get(1).problem());
        String line = "node " + closed.address() + ": " + problem;
        StringWriter out = new StringWriter();
        LocksText.printProblems(new PrintWriter(out, true), nodes);
        assertEquals(line + System.lineSeparator(), out.toString());
        assertEquals(1, snapshot.rows().size());
        assertTrue(new TopTable(200).lines("12:34:56", nodes, snapshot, snapshot.rows(), 99).contains(line));
        assertEquals(problem, ((Map<?, ?>) ((List<?>) LocksJson.root(nodes).get("nodes")).get(1)).get("problem"));
    }

    private static void allow(FakeServer server) {
        server.reply("GETRANGE", "$20\r\nabcdefghijklmnopqrst\r\n")
                .reply("PTTL", ":30000\r\n")
                .reply("ZCOUNT", "-WRONGTYPE no sorted set\r\n");
    }

    private static LockNodes connect(FakeServer... servers) {
        return LockNodes.connect(Stream.of(servers).map(FakeServer::address).map(NodeAddress::parse).toList(),
                Duration.ofSeconds(30), ClientTls.DEFAULTS);
    }

    @Test
    void aReconnectFollowsTheSentinels() {
        try (FakeServer sentinel = new FakeServer(); FakeServer first = master(); FakeServer second = master()) {
            sentinel.reply("SENTINEL", naming(first));
            String group = "redis-sentinel://" + sentinel.address() + "/orders";
            try (LockNodes nodes = LockNodes.connect(List.of(SentinelAddress.parse(group)), Duration.ofSeconds(30),
                    ClientTls.DEFAULTS)) {
                assertEquals(first.address(), only(nodes).address().toString());
                nodes.reconnect();
                assertEquals(first.address(), only(nodes).address().toString());
                // The former primary still answers.
                sentinel.reply("SENTINEL", naming(second));
                nodes.reconnect();
                assertNull(only(nodes).problem());
                assertEquals(second.address(), only(nodes).address().toString());
                sentinel.reply("SENTINEL", "*-1\r\n");
                nodes.reconnect();
                assertTrue(only(nodes).isUp(), "without a word of the Sentinels, the server that answers stays");
                second.stop();
                nodes.list("", 10, Duration.ofSeconds(30));
                assertFalse(only(nodes).isUp());
                nodes.reconnect();
                assertEquals(group, only(nodes).address().toString());
                assertEquals("no Sentinel names the primary of " + group + ": " + sentinel.address()
                        + ": it knows no primary orders", only(nodes).problem());
                sentinel.reply("SENTINEL", naming(first));
                nodes.reconnect();
                assertNull(only(nodes).problem());
                assertEquals(first.address(), only(nodes).address().toString());
            }
        }
    }
}
