package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Credentials;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.cli.AdminClient;
import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisCluster;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The user that the page on operations makes has the rights that the client needs, and needs them. */
@Timeout(120)
class AclTest {
    private static final String PASSWORD = "s3cret";
    private static final String CLUSTER_LINE = "ACL SETUSER redlock +cluster|slots +cluster|myid +config|get +asking";
    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(30)).tryOnce();

    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void documentedUserSupportsAllClientCommands(Source source) throws Exception {
        try (RedisNodes nodes = nodes(source)) {
            giveRights(nodes);
            for (CommandMode mode : CommandMode.values()) {
                try (Redlock redlock = Redlock.connect(context(nodes).keyPrefix("lock:").commands(mode))) {
                    cycle(redlock, OPTIONS, mode + "/plain");
                    cycle(redlock, OPTIONS.waitUpTo(Duration.ofSeconds(5)), mode + "/waiting");
                    cycle(redlock, OPTIONS.fenced(), mode + "/fenced");
                    cycle(redlock, OPTIONS.fenced(), mode + "/fenced");
                    releaseTogether(redlock, mode + "/many");
                    cycleOfSet(redlock, OPTIONS, mode + "/set");
                    cycle(redlock, OPTIONS.forPermitOf(1), mode + "/semaphore");
                    readAndWrite(redlock, mode + "/read and write");
                    cycleOfSet(redlock, OPTIONS.fenced().waitUpTo(Duration.ofSeconds(5)), mode + "/fenced set");
                    nodes.node(0).call("SCRIPT", "FLUSH");
                    cycle(redlock, OPTIONS, mode + "/flushed");
                }
            }
            assertEquals(List.of(), denied(nodes), "commands that the server refused");
        }
    }

    /** With a lease whose key moves to the other master: its release follows the redirection. */
    @Test
    void aClusterNeedsFourMoreRights() throws Exception {
        assertTrue(DocPages.text("docs/guides/operations.md").lines().anyMatch(CLUSTER_LINE::equals), "on the page");
        try (RedisNodes nodes = RequiredNodes.start(
                RedisCluster.enabled(new RedisNodesContext().source(Source.PATH).count(2), 15_000))) {
            RedisCluster cluster = RedisCluster.form(nodes.nodes(), 2);
            assertEquals(List.of(), deniedByCluster(nodes, cluster, CLUSTER_LINE), "commands that a server refused");
            for (String right : CLUSTER_LINE.replace("ACL SETUSER redlock ", "").split(" ")) {
                assertFalse(deniedByCluster(nodes, cluster, CLUSTER_LINE.replace(" " + right, "")).isEmpty(),
                        "needed: " + right);
            }
        }
    }

    private static List<String> deniedByCluster(RedisNodes nodes, RedisCluster cluster, String clusterLine)
            throws Exception {
        for (RedisNode node : nodes.nodes()) {
            giveRights(node);
            assertEquals("OK", node.call(clusterLine.split(" ")));
            node.call("ACL", "LOG", "RESET");
        }
        String address = addressOf(nodes.node(0)).replace("redis://", "redis-cluster://");
        try (Redlock redlock = Redlock
                .connect(context(address).connectTimeout(Duration.ofSeconds(3)).keyPrefix("lock:"))) {
            AcquireOutcome outcome = redlock.tryAcquire("orders/42", Duration.ofSeconds(30));
            if (outcome.isAcquired()) {
                releaseAfterMove(nodes, cluster, outcome.lease());
            }
            if (clusterLine.equals(CLUSTER_LINE)) {
                cycle(redlock, OPTIONS, "orders/43");
                cycle(redlock, OPTIONS.fenced(), "orders/44");
            }
        }
        return nodes.nodes().stream().flatMap(node -> denied(node).stream()).toList();
    }

    private static void releaseAfterMove(RedisNodes nodes, RedisCluster cluster, Lease lease) throws Exception {
        int slot = RedisCluster.slotOf("lock:orders/42");
        RedisNode owner = cluster.ownerOf("lock:orders/42");
        RedisNode target = nodes.node(1 - owner.index());
        cluster.startMove(slot, owner, target);
        cluster.moveKeys(slot, owner, target);
        lease.release();
        cluster.endMove(slot, owner, target);
    }

    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void keysOutsideThePatternAreDenied(Source source) throws Exception {
        try (RedisNodes nodes = nodes(source)) {
            giveRights(nodes);
            try (Redlock redlock = Redlock.connect(context(nodes))) {
                AcquireOutcome outcome = redlock.tryAcquire("elsewhere", Duration.ofSeconds(30));
                assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
                assertTrue(outcome.failedCount() > 0, outcome::toString);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void nodeWithoutTimeCommandIsRejected(Source source) throws Exception {
        try (RedisNodes nodes = nodes(source)) {
            giveRights(nodes);
            nodes.node(0).call("ACL", "SETUSER", "redlock", "-time");
            try (Redlock redlock = Redlock.connect(context(nodes).keyPrefix("lock:"))) {
                assertFalse(redlock.tryAcquire("orders/42", Duration.ofSeconds(30)).isAcquired());
                NodeStatus node = redlock.nodes().get(0);
                assertTrue(String.valueOf(node.problem()).contains("TIME"), node::toString);
            }
        }
    }

    /** The user may not register for pushes: the node says why in its status, and waiters poll. */
    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void waitersPollWithoutTheRightToTrack(Source source) throws Exception {
        try (RedisNodes nodes = nodes(source)) {
            giveRights(nodes);
            nodes.node(0).call("ACL", "SETUSER", "redlock", "-client");
            try (Redlock holding = Redlock.connect(context(nodes).keyPrefix("lock:"));
                    Redlock waiting = Redlock.connect(context(nodes).keyPrefix("lock:"))) {
                NodeStatus node = waiting.nodes().get(0);
                assertEquals("CLIENT TRACKING failed: NOPERM", node.wakeUpProblem());
                Lease lease = holding.acquire("orders/42", OPTIONS).lease();
                CompletionStage<AcquireOutcome> waiter = waiting.acquireAsync("orders/42",
                        OPTIONS.waitUpTo(Duration.ofSeconds(30)));
                assertEquals(ReleaseOutcome.RELEASED, lease.release());
                assertTrue(waiter.toCompletableFuture().get().isAcquired());
            }
        }
    }

    /** The user may not subscribe: the node is used, and says in its status that it wakes all waiters at once. */
    @ParameterizedTest
    @CsvSource({"PATH, -subscribe", "PATH, resetchannels", "EMBEDDED, -subscribe", "EMBEDDED, resetchannels"})
    void waitersWakeAllAtOnceWithoutTheRightToSubscribe(Source source, String change) throws Exception {
        try (RedisNodes nodes = nodes(source)) {
            giveRights(nodes);
            nodes.node(0).call("ACL", "SETUSER", "redlock", change);
            try (Redlock redlock = Redlock.connect(context(nodes).keyPrefix("lock:"))) {
                NodeStatus node = redlock.nodes().get(0);
                assertTrue(String.valueOf(node.wakeUpProblem()).startsWith("SUBSCRIBE failed: NOPERM"), node::toString);
                cycle(redlock, OPTIONS, "orders/42");
            }
        }
    }

    /** With the restart guard, which reads and writes marks on new nodes. */
    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void documentedUserUsesTheMarksOfTheRestartGuard(Source source) throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().source(source).count(3))) {
            for (RedisNode node : nodes.nodes()) {
                assertEquals("OK", node.call(lines().get(0).split(" ")));
            }
            for (int client = 0; client < 2; client++) {
                try (Redlock redlock = Redlock
                        .connect(guarded(nodes).keyPrefix("lock:").commands(CommandMode.SCRIPTS))) {
                    cycle(redlock, OPTIONS, "orders/" + client);
                }
            }
            assertEquals(List.of(), denied(nodes), "commands that the server refused");
        }
    }

    /** Its nodes vote by their uptime, which is enough after a short {@code maxTtl}. */
    @Test
    void aUserWithoutTheRightToMarksIsGuardedByUptime() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().source(Source.PATH).count(3))) {
            for (RedisNode node : nodes.nodes()) {
                assertEquals("OK", node.call(lines().get(0).replace("~lock:*", "~lock:orders/*").split(" ")));
            }
            RedlockContext context = guarded(nodes).keyPrefix("lock:").maxTtl(Duration.ofSeconds(5));
            try (Redlock redlock = Redlock.connect(context)) {
                AcquireOutcome early = redlock.tryAcquire("orders/42", Duration.ofSeconds(4));
                assertEquals(AcquireOutcome.Kind.NO_QUORUM, early.kind(), early::toString);
                AcquireOutcome later = redlock.tryAcquire("orders/42", Duration.ofSeconds(4), Duration.ofSeconds(20));
                assertTrue(later.isAcquired(), later::toString);
            }
        }
    }

    private static RedlockContext guarded(RedisNodes nodes) {
        return new RedlockContext().nodes(nodes.nodes().stream().map(AclTest::addressOf).toArray(String[]::new))
                .connectTimeout(Duration.ofSeconds(20))
                .nodeTimeout(Duration.ofSeconds(1));
    }

    private static String addressOf(RedisNode node) {
        return "redis://redlock:" + PASSWORD + "@" + node.address().host() + ":" + node.address().port();
    }

    private static RedisNodes nodes(Source source) {
        return RequiredNodes.start(new RedisNodesContext().source(source).count(1));
    }

    /**
     * Without permission for the conditional commands of the server, the client uses scripts, and the log has one entry
     * for each.
     */
    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void firstAclLineIsEnoughAndLogsNoDenial(Source source) throws Exception {
        try (RedisNodes nodes = nodes(source)) {
            assertEquals("OK", nodes.node(0).call(lines().get(0).split(" ")));
            try (Redlock redlock = Redlock.connect(context(nodes).keyPrefix("lock:"))) {
                for (int i = 0; i < 5; i++) {
                    cycle(redlock, OPTIONS, "plain" + i);
                }
                releaseTogether(redlock, "many");
            }
            List<String> denied = denied(nodes);
            assertEquals(commandsOfItsOwn(nodes.node(0), "delex", "delifeq", "msetex"), denied.size(),
                    denied::toString);
            assertTrue(denied.stream()
                    .allMatch(entry -> entry.matches("(?s).*count, 1, .*object, (delex|delifeq|msetex), .*")),
                    denied::toString);
        }
    }

    /** Plain locks in native mode need no right to scripts where the server has conditional deletes. */
    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void userWithoutScriptsSupportsPlainLocks(Source source) throws Exception {
        try (RedisNodes nodes = nodes(source)) {
            long commands = commandsOfItsOwn(nodes.node(0), "delex", "delifeq");
            Assumptions.assumeTrue(commands > 0, "the server does not have this command: a conditional delete");
            assertEquals(commands, giveNativeRights(nodes), "the lines that the server took");
            try (Redlock redlock = Redlock.connect(nativeContext(nodes))) {
                nodes.node(0).call("CONFIG", "RESETSTAT");
                cycle(redlock, OPTIONS, "plain");
                cycle(redlock, OPTIONS.waitUpTo(Duration.ofSeconds(5)), "waiting");
                releaseTogether(redlock, "many");
                assertEquals(List.of(), denied(nodes), "commands that the server refused");

                nodes.node(0).call("CLIENT", "KILL", "USER", "redlock-native");
                NodeStatus node = redlock.nodes().get(0);
                Await.until("connected again", () -> node.disconnectCount() == 1 && node.state() == NodeState.READY);
                cycle(redlock, OPTIONS, "plain");
                assertEquals(List.of(), denied(nodes), "commands that the server refused");
                String stats = nodes.node(0).call("INFO", "commandstats").toString();
                assertFalse(stats.matches("(?s).*cmdstat_(script|eval|evalsha|command)\\b.*"), stats);

                AcquireOutcome fenced = redlock.acquire(redlock.key("fenced"), OPTIONS.fenced());
                assertTrue(fenced.voteText(0).contains("NOPERM"), fenced::toString);
            }
        }
    }

    /** A refusal of SET IFEQ counts although the user may not run the script that finds its reason. */
    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void userWithoutScriptsLearnsThatALeaseIsLost(Source source) throws Exception {
        try (RedisNodes nodes = nodes(source)) {
            Assumptions.assumeTrue(giveNativeRights(nodes) > 0,
                    "the server does not have this command: a conditional delete");
            try (Redlock redlock = Redlock.connect(nativeContext(nodes))) {
                for (int i = 0; i < 2; i++) {
                    Lease lease = redlock.acquire(redlock.key("orders"), OPTIONS).lease();
                    nodes.node(0).call("DEL", "lock:orders");
                    lease.extend(Duration.ofSeconds(20));
                    assertEquals(LeaseState.LOST, lease.state());
                }
                assertEquals(List.of(), denied(nodes), "one node is the quorum: the lease is lost before the script");
                assertEquals(0, redlock.nodes().get(0).errorCount());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void serverWithoutConditionalDeletesNeedsTheRightToScripts(Source source) throws Exception {
        try (RedisNodes nodes = nodes(source)) {
            giveNativeRights(nodes);
            nodes.node(0).call("ACL", "SETUSER", "redlock-native", "-delex");
            nodes.node(0).call("ACL", "SETUSER", "redlock-native", "-delifeq");
            try (Redlock redlock = Redlock.connect(nativeContext(nodes))) {
                NodeStatus node = redlock.nodes().get(0);
                assertEquals("SCRIPT LOAD failed: NOPERM; allow the command, which the lock needs on a server without"
                        + " DELEX or DELIFEQ, and SET IFEQ", node.problem(), node::toString);
            }
        }
    }

    private static RedlockContext nativeContext(RedisNodes nodes) {
        String place = addressOf(nodes.node(0)).replaceFirst(".*@", "");
        return context(place).keyPrefix("lock:")
                .commands(CommandMode.NATIVE)
                .credentials(node -> Credentials.of("redlock-native", PASSWORD.toCharArray()));
    }

    /** The lines of the second user; returns the number of conditional deletes that the server has. */
    private static long giveNativeRights(RedisNodes nodes) throws IOException {
        List<String> lines = DocPages.text("docs/guides/operations.md")
                .lines()
                .filter(line -> line.startsWith("ACL SETUSER redlock-native "))
                .map(line -> line.replace(">PASSWORD", ">" + PASSWORD))
                .toList();
        assertEquals(4, lines.size(), lines::toString);
        assertEquals("OK", nodes.node(0).call(lines.get(0).split(" ")));
        long given = 0;
        for (String line : lines.subList(1, 3)) {
            given += reply(nodes.node(0), line).equals("OK") ? 1 : 0;
        }
        reply(nodes.node(0), lines.get(3));
        return given;
    }

    private static long commandsOfItsOwn(RedisNode node, String... names) {
        List<String> words = new ArrayList<>(List.of("COMMAND", "INFO"));
        words.addAll(List.of(names));
        List<?> known = (List<?>) node.call(words.toArray(String[]::new));
        return known.stream().filter(Objects::nonNull).count();
    }

    /** The user, with the permissions for the commands that the server has. */
    private static List<String> lines() throws IOException {
        List<String> lines = DocPages.text("docs/guides/operations.md")
                .lines()
                .filter(line -> line.startsWith("ACL SETUSER redlock ") && !line.equals(CLUSTER_LINE))
                .map(line -> line.replace(">PASSWORD", ">" + PASSWORD))
                .toList();
        assertEquals(
                List.of("ACL SETUSER redlock +delex", "ACL SETUSER redlock +delifeq", "ACL SETUSER redlock +msetex"),
                lines.subList(1, lines.size()), "the page shows one user");
        return lines;
    }

    /** All lines of the page, to any server: it refuses those about commands that it does not have. */
    private static void giveRights(RedisNodes nodes) throws IOException {
        giveRights(nodes.node(0));
    }

    private static void giveRights(RedisNode node) throws IOException {
        assertEquals("OK", node.call(lines().get(0).split(" ")));
        long given = 0;
        for (String line : lines().subList(1, lines().size())) {
            Object reply = reply(node, line);
            assertTrue(reply.equals("OK") || reply.toString().contains("Unknown command"), reply::toString);
            given += reply.equals("OK") ? 1 : 0;
        }
        assertEquals(commandsOfItsOwn(node, "delex", "delifeq", "msetex"), given, "the lines that the server took");
    }

    private static Object reply(RedisNode node, String line) throws IOException {
        try (AdminClient redis = node.connect()) {
            return redis.call(line.split(" "));
        }
    }

    private static RedlockContext context(RedisNodes nodes) {
        return context(addressOf(nodes.node(0)));
    }

    private static RedlockContext context(String address) {
        return new RedlockContext().nodes(address)
                .restartGuard(RestartGuardMode.OFF)
                // A busy machine takes its time; connect() waits no longer than this.
                .connectTimeout(Duration.ofSeconds(20))
                .nodeTimeout(Duration.ofSeconds(5));
    }

    private static void cycle(Redlock redlock, AcquireOptions options, String resource) throws InterruptedException {
        cycle(redlock, options, redlock.key(resource));
    }

    private static void cycleOfSet(Redlock redlock, AcquireOptions options, String resource)
            throws InterruptedException {
        cycle(redlock, options, redlock.keyOfAll(List.of(resource + "/1", resource + "/2")));
    }

    /** A writer waits for a reader. */
    private static void readAndWrite(Redlock redlock, String resource) throws Exception {
        Lease read = redlock.acquire(resource, OPTIONS.forReading()).lease();
        assertEquals(ExtendOutcome.EXTENDED, read.extend(Duration.ofSeconds(20)), read::toString);
        for (AcquireOptions options : List.of(OPTIONS, OPTIONS.fenced())) {
            CompletableFuture<AcquireOutcome> writing = redlock
                    .acquireAsync(resource, options.forWriting().waitUpTo(Duration.ofSeconds(20)))
                    .toCompletableFuture();
            Await.until("refused", () -> redlock.counters().contendedAttemptCount() > 1);
            assertEquals(ReleaseOutcome.RELEASED, read.release(), read::toString);
            assertEquals(ReleaseOutcome.RELEASED, writing.get().lease().release());
            read = redlock.acquire(resource, OPTIONS.forReading().waitUpTo(Duration.ofSeconds(20))).lease();
        }
        assertEquals(ReleaseOutcome.RELEASED, read.release(), read::toString);
    }

    private static void cycle(Redlock redlock, AcquireOptions options, ResourceKey key) throws InterruptedException {
        Lease lease = redlock.acquire(key, options).lease();
        AcquireOutcome refused = redlock.acquire(key, options.waitUpTo(Duration.ZERO));
        assertEquals(AcquireOutcome.Kind.CONTENDED, refused.kind(), refused::toString);
        assertEquals(ExtendOutcome.EXTENDED, lease.extend(Duration.ofSeconds(20)), lease::toString);
        assertEquals(ReleaseOutcome.RELEASED, lease.release(), lease::toString);
    }

    /** Releases that are asked for in one turn of the loop go to the node as one call. */
    private static void releaseTogether(Redlock redlock, String resource) throws Exception {
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            leases.add(redlock.acquire(redlock.key(resource + i), OPTIONS).lease());
        }
        CompletableFuture<List<CompletionStage<ReleaseOutcome>>> released = new CompletableFuture<>();
        redlock.acquireAsync(resource, OPTIONS).thenAccept(outcome -> {
            outcome.lease().close();
            released.complete(leases.stream().map(Lease::releaseAsync).toList());
        });
        for (CompletionStage<ReleaseOutcome> each : released.get()) {
            assertEquals(ReleaseOutcome.RELEASED, each.toCompletableFuture().get());
        }
    }

    /** The entries of the server's log of denials, except for CLIENT SETNAME, which is optional. */
    private static List<String> denied(RedisNodes nodes) {
        return denied(nodes.node(0));
    }

    private static List<String> denied(RedisNode node) {
        List<String> denied = new ArrayList<>();
        for (Object entry : (List<?>) node.call("ACL", "LOG")) {
            String text = entry instanceof Object[] fields ? Arrays.toString(fields) : entry.toString();
            boolean isName = text.contains("object, client|setinfo, ") || text.contains("object, client|setname, ")
                    || text.contains("object, client, ") && !text.contains("client tracking");
            if (!isName) {
                denied.add(text);
            }
        }
        return denied;
    }
}
