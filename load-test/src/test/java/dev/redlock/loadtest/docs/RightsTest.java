package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A user without one right: the table of rights on the page on operations says what the client does. */
@Timeout(300)
class RightsTest {
    private static final String PASSWORD = "s3cret";
    private static final Duration TTL = Duration.ofSeconds(30);
    private static final AcquireOptions PLAIN = AcquireOptions.ofTtl(TTL).tryOnce();
    private static final Pattern ROW = Pattern.compile("\\| (`[^|]*) \\| [^|]* \\| ([^|]*) \\|");
    private static final Pattern NAME = Pattern.compile("`([A-Z ]+)`");

    /** The commands of the table, each with the last column of its row. */
    private static Map<String, String> table() throws IOException {
        Map<String, String> effects = new TreeMap<>();
        String page = DocPages.text("docs/guides/operations.md");
        page.substring(page.indexOf("| right | used for | without it |"), page.indexOf("Optional: `CLIENT SETINFO`"))
                .lines()
                .filter(line -> line.startsWith("| `") && !line.contains("run_id"))
                .forEach(line -> {
                    MatchResult row = ROW.matcher(line).results().findFirst().orElseThrow();
                    NAME.matcher(row.group(1)).results().forEach(name -> effects.put(name.group(1), row.group(2)));
                });
        assertEquals(31, effects.size(), effects::toString);
        return effects;
    }

    private static String rightOf(String command) {
        return "+" + command.toLowerCase(Locale.ROOT).replace(' ', '|');
    }

    /** The user of the page without one right, and with those that only newer servers have. */
    private static void giveAllBut(RedisNode node, String command) throws IOException {
        List<String> lines = DocPages.text("docs/guides/operations.md")
                .lines()
                .filter(line -> line.startsWith("ACL SETUSER redlock ") && !line.contains("cluster"))
                .toList();
        for (int i = 0; i < lines.size(); i++) {
            List<String> words = new ArrayList<>(List.of(lines.get(i).replace(">PASSWORD", ">" + PASSWORD).split(" ")));
            words.remove(rightOf(command));
            try {
                node.call(words.toArray(String[]::new));
            } catch (RuntimeException e) {
                assertTrue(i > 0, () -> "the first line: " + e);
            }
        }
    }

    private static RedisNodes start(Source source, String... config) {
        RedisNodesContext context = new RedisNodesContext().source(source).count(1);
        for (String line : config) {
            context.config(line);
        }
        return RequiredNodes.start(context);
    }

    private static RedlockContext context(RedisNodes nodes) {
        RedisNode node = nodes.node(0);
        return context("redis://redlock:" + PASSWORD + "@" + node.address().host() + ":" + node.address().port());
    }

    private static RedlockContext contextOfDefaultUser(RedisNodes nodes) {
        return context(nodes.node(0).address().host() + ":" + nodes.node(0).address().port());
    }

    private static RedlockContext context(String address) {
        return new RedlockContext().nodes(address)
                .keyPrefix("lock:")
                .restartGuard(RestartGuardMode.OFF)
                .connectTimeout(Duration.ofSeconds(20))
                .nodeTimeout(Duration.ofSeconds(5));
    }

    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void eachMissingRightHasTheEffectOfTheTable(Source source) throws Exception {
        try (RedisNodes nodes = start(source)) {
            for (Map.Entry<String, String> row : table().entrySet()) {
                for (CommandMode mode : List.of(CommandMode.AUTO, CommandMode.SCRIPTS)) {
                    giveAllBut(nodes.node(0), row.getKey());
                    nodes.node(0).call("FLUSHALL");
                    try (Redlock redlock = Redlock.connect(context(nodes).commands(mode))) {
                        check(nodes.node(0), redlock, row.getKey(), row.getValue());
                    }
                    assertEquals(List.of(), keysOfLocks(nodes.node(0)), "left behind without " + row.getKey());
                }
            }
        }
    }

    private static List<String> keysOfLocks(RedisNode node) {
        return ((List<?>) node.call("KEYS", "*")).stream()
                .map(Object::toString)
                .filter(key -> !key.contains(":redlock:"))
                .toList();
    }

    private static void check(RedisNode server, Redlock redlock, String command, String effect) throws Exception {
        if (effect.startsWith("node rejected")) {
            assertRejected(redlock, command);
            return;
        }
        assertVotes(redlock, command);
        switch (command) {
            case "PEXPIREAT", "ZADD", "ZREM", "ZREMRANGEBYSCORE", "ZRANGE", "ZSCORE", "ZCARD" -> {
                assertEquals("no votes for them", effect);
                assertNoVotes(redlock, redlock.key("of readers"), PLAIN.forReading(), command);
                assertNoVotes(redlock, redlock.key("of readers"), PLAIN.forWriting(), command);
                cycle(redlock, redlock.key("fenced"), PLAIN.fenced());
            }
            case "EXISTS" -> {
                assertEquals("no votes for them", effect);
                assertNoVotes(redlock, redlock.key("fenced"), PLAIN.fenced(), command);
                assertNoVotes(redlock, redlock.keyOfAll(List.of("a", "b")), PLAIN.waitUpTo(Duration.ofMillis(50)),
                        command);
            }
            case "INCR" -> {
                assertEquals("no votes for them", effect);
                assertNoVotes(redlock, redlock.key("fenced"), PLAIN.fenced(), command);
            }
            case "EVAL" -> {
                assertEquals("an error for the first call of each script", effect);
                server.call("SCRIPT", "FLUSH");
                AcquireOutcome first = redlock.acquire(redlock.key("flushed"), PLAIN);
                // The error of the first call loads the script.
                if (!first.isAcquired()) {
                    first = redlock.acquire(redlock.key("flushed"), PLAIN);
                }
                // UNKNOWN, unless something else of the client has loaded the script meanwhile.
                assertNotEquals(ReleaseOutcome.EXPIRED, first.lease().release());
                server.call("DEL", "lock:flushed");
                cycle(redlock, redlock.key("flushed"), PLAIN, false);
                // The problem of the failed release remains visible for some time.
                return;
            }
            default -> {
                assertTrue(effect.matches("(no order|scripts|no type in the advice|waiters poll"
                        + "|waiters wake all at once); `ACL LOG` entries|nothing"), command + ": " + effect);
                cycle(redlock, redlock.key("fenced"), PLAIN.fenced());
                cycle(redlock, redlock.key("of readers"), PLAIN.forReading(), false);
            }
        }
        assertVotes(redlock, command);
    }

    private static void assertRejected(Redlock redlock, String command) throws InterruptedException {
        AcquireOutcome outcome = redlock.acquire(redlock.key("orders"), PLAIN);
        NodeStatus node = redlock.nodes().get(0);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), command + ": " + outcome);
        assertEquals(NodeState.WAITING, node.state(), command + ": " + node);
        assertTrue(node.problem().matches("(the user may not run |)" + command + "(,| failed: NOPERM;).*allow.*"),
                command + ": " + node);
        assertFalse(redlock.isQuorumAvailable());
    }

    private static void assertVotes(Redlock redlock, String command) throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            cycle(redlock, redlock.key("orders"), PLAIN);
        }
        NodeStatus node = redlock.nodes().get(0);
        assertNull(node.problem(), command + ": " + node);
        assertTrue(redlock.isQuorumAvailable());
    }

    private static void cycle(Redlock redlock, ResourceKey key, AcquireOptions options) throws InterruptedException {
        cycle(redlock, key, options, true);
    }

    private static void cycle(Redlock redlock, ResourceKey key, AcquireOptions options, boolean isExtended)
            throws InterruptedException {
        Lease lease = redlock.acquire(key, options).lease();
        if (isExtended) {
            assertEquals(ExtendOutcome.EXTENDED, lease.extend(TTL), () -> key + ": " + redlock.nodes());
        }
        assertEquals(ReleaseOutcome.RELEASED, lease.release(), lease::toString);
    }

    private static void assertNoVotes(Redlock redlock, ResourceKey key, AcquireOptions options, String command)
            throws InterruptedException {
        AcquireOutcome outcome = redlock.acquire(key, options);
        assertFalse(outcome.isAcquired(), command + ": " + outcome);
        assertTrue(outcome.voteText(0).contains("NOPERM"), command + ": " + outcome);
    }

    @ParameterizedTest
    @ValueSource(strings = {"DEL", "GET", "MGET", "PTTL", "PEXPIRE", "SET", "EVALSHA", "SCRIPT"})
    void aRenamedCommandRejectsTheNode(String command) throws Exception {
        for (Source source : List.of(Source.PATH, Source.EMBEDDED)) {
            for (String newName : List.of("\"\"", "hidden")) {
                try (RedisNodes nodes = start(source, "rename-command " + command + " " + newName);
                        Redlock redlock = Redlock.connect(contextOfDefaultUser(nodes))) {
                    NodeStatus node = redlock.nodes().get(0);
                    assertEquals(NodeState.WAITING, node.state(), node::toString);
                    assertTrue(node.problem().startsWith("the server has no command " + command), node::toString);
                    assertTrue(node.problem()
                            .endsWith("remove \"rename-command " + command + "\" from its"
                                    + " configuration"),
                            node::toString);
                    assertEquals(AcquireOutcome.Kind.NO_QUORUM, redlock.tryAcquire("orders", TTL).kind());
                }
            }
        }
    }

    /** Its other commands find no lock: a lock of this kind cannot be taken, and the others can. */
    @ParameterizedTest
    @ValueSource(strings = {"ZREM", "ZSCORE", "PEXPIREAT"})
    void aRenamedCommandOfReadersTakesTheirVotesOnly(String command) throws Exception {
        try (RedisNodes nodes = start(Source.PATH, "rename-command " + command + " \"\"");
                Redlock redlock = Redlock.connect(contextOfDefaultUser(nodes))) {
            assertVotes(redlock, command);
            assertNoVotes(redlock, redlock.key("of readers"), PLAIN.forReading(), command);
        }
    }

    /** All keys may be set, and none may be read. */
    @ParameterizedTest
    @CsvSource({"%W~*, GET", "%W~lock:*, GET"})
    void aUserWhoMayOnlyWriteKeysIsRejected(String pattern, String command) throws Exception {
        try (RedisNodes nodes = start(Source.PATH)) {
            nodes.node(0).call("ACL", "SETUSER", "redlock", "reset", "on", ">" + PASSWORD, pattern, "+@all");
            try (Redlock redlock = Redlock.connect(context(nodes))) {
                NodeStatus node = redlock.nodes().get(0);
                assertTrue(String.valueOf(node.problem()).contains("may not run " + command), node::toString);
                assertFalse(redlock.tryAcquire("orders", TTL).isAcquired());
            }
        }
    }

    /** The administrator takes the right to delete from a user whose client is connected. */
    @ParameterizedTest
    @CsvSource({"PATH, del", "EMBEDDED, del", "PATH, mget", "PATH, evalsha"})
    void aRightThatIsLostLaterTakesTheVoteAndIsFoundAgain(Source source, String right) throws Exception {
        try (RedisNodes nodes = start(source)) {
            giveAllBut(nodes.node(0), "none");
            try (Redlock redlock = Redlock.connect(context(nodes))) {
                NodeStatus node = redlock.nodes().get(0);
                nodes.node(0).call("ACL", "SETUSER", "redlock", "-" + right);
                Lease first = redlock.acquire(redlock.key("a"), PLAIN).lease();
                Lease second = redlock.acquire(redlock.key("b"), PLAIN).lease();
                // Together they are one script call.
                List.of(first.releaseAsync(), second.releaseAsync())
                        .forEach(released -> released.toCompletableFuture().join());
                assertNotNull(node.problem());
                Await.until("rejected", () -> node.state() == NodeState.WAITING);
                assertTrue(node.problem().contains("may not run " + right.toUpperCase(Locale.ROOT)), node::toString);
                assertFalse(redlock.isQuorumAvailable());
                nodes.node(0).call("ACL", "SETUSER", "redlock", "+" + right);
                // The problem remains visible until the connection has lasted.
                Await.until("voting", () -> node.state() == NodeState.READY && node.problem() == null);
                assertTrue(redlock.isQuorumAvailable());
                cycle(redlock, redlock.key("c"), PLAIN);
            }
        }
    }

    /** The user may set a key outside of the pattern of its other rights: no handshake can find that. */
    @ParameterizedTest
    @ValueSource(ints = {1, 6})
    void aFailedReleaseIsShownWhateverElseSucceeds(int count) throws Exception {
        try (RedisNodes nodes = start(Source.PATH)) {
            nodes.node(0)
                    .call("ACL", "SETUSER", "redlock", "reset", "on", ">" + PASSWORD, "~lock:*", "+@all",
                            "(~far:* +set +get +evalsha)");
            try (Redlock redlock = Redlock.connect(context(nodes).keyPrefix(""))) {
                NodeStatus node = redlock.nodes().get(0);
                Await.until("ready", () -> node.state() == NodeState.READY);
                for (int i = 0; i < count; i++) {
                    Lease lease = redlock.acquire(redlock.key("far:" + i), PLAIN).lease();
                    assertEquals(ReleaseOutcome.UNKNOWN, lease.release());
                    cycle(redlock, redlock.key("lock:near"), PLAIN);
                }
                assertTrue(String.valueOf(node.problem()).contains("answers releases with errors"), node::toString);
            }
        }
    }

    // ---- what the server may do to locks ----------------------------------------------------------------------------

    @ParameterizedTest
    @CsvSource({"noeviction, 100mb, false", "allkeys-lru, 100mb, true", "volatile-ttl, 100mb, true",
        "allkeys-lru, 0, false"})
    void aPolicyThatEvictsLocksIsShown(String policy, String limit, boolean isShown) throws Exception {
        for (Source source : List.of(Source.PATH, Source.EMBEDDED)) {
            try (RedisNodes nodes = start(source, "maxmemory-policy " + policy, "maxmemory " + limit);
                    Redlock redlock = Redlock.connect(contextOfDefaultUser(nodes))) {
                NodeStatus node = redlock.nodes().get(0);
                cycle(redlock, redlock.key("orders"), PLAIN);
                String wanted = "maxmemory-policy is " + policy + " and maxmemory 104857600 bytes, so the server may"
                        + " evict held locks: set maxmemory-policy noeviction";
                assertEquals(isShown ? wanted : null, node.problem());
                assertTrue(redlock.isQuorumAvailable());
            }
        }
    }
}
