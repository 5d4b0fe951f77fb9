package dev.redlock.hostile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.TransportKind;
import dev.redlock.node.send.KeySlot;
import dev.redlock.resp.RespValue;
import dev.redlock.sim.FakeCluster;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.FakeNode.Hostility;
import dev.redlock.sim.FakeNode.Wire;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.SocketNodes;
import dev.redlock.testing.Await;
import dev.redlock.testing.LogLines;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * One hostile server beside two good ones, over real sockets. For each kind of hostility, the table lists the states
 * that the client reports, the text of {@link NodeStatus#problem}, and the number of log lines. In each row, the other
 * two servers grant each lock and no key stays on them. The client connects to the hostile server a few times in the
 * first second and once or twice per second afterwards. Memory and threads stay bounded.
 */
@Tag("long")
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class HostileServersTest {

    private static final Duration TTL = Duration.ofSeconds(10);
    private static final long RUN_NS = 250_000_000L;
    private static final int LOCKS_MIN = 5;
    private static final long LIMIT_NS = 30_000_000_000L;
    /** The least delay before the second connection: half of 20 ms. */
    private static final long DELAY_NS_MIN = 10_000_000;
    private static final long DIRECT_BYTES_MAX = 64L << 20;
    private static final Set<NodeState> AWAY = EnumSet.of(NodeState.WAITING, NodeState.CONNECTING,
            NodeState.HANDSHAKING);
    private static final Set<NodeState> READY = EnumSet.of(NodeState.READY);
    private static final Set<NodeState> QUARANTINED = EnumSet.of(NodeState.QUARANTINED);
    /** Connected after each handshake, and disconnected soon after it. */
    private static final Set<NodeState> COMING_AND_GOING = EnumSet.of(NodeState.WAITING,
            NodeState.CONNECTING, NodeState.HANDSHAKING, NodeState.QUARANTINED,
            NodeState.READY);
    private static final String TOO_MANY_PUSHES = "more than 1024 pushes within a second";
    private static final String NOT_AN_ANSWER = "reply of the wrong type";
    private static final String BROKEN = "malformed reply";
    private static final String NOT_A_PUSH = "answered SUBSCRIBE by a reply in place of a push";
    private static final String OTHER_CHANNEL = "redlock:wake:" + "x".repeat(22);
    private static final String NO_PROBLEM = "null";
    private static final int LAST_SLOT = KeySlot.COUNT - 1;

    /**
     * A row of the table.
     *
     * @param problem part of the problem that is seen, "null" for none
     * @param linesMax lines that are logged about it
     */
    private record Row(String way, Consumer<FakeNode> setUp, Set<NodeState> states, String problem,
            int linesMax, boolean isLate) {
        @Override
        public String toString() {
            return way;
        }
    }

    private static Row row(String way, Hostility hostility, Set<NodeState> states,
            String problem) {
        return new Row(way, node -> node.hostility(hostility), states, problem, problem.equals(NO_PROBLEM) ? 0 : 4,
                false);
    }

    private static Row model(String way, Consumer<FakeRedis> change, Set<NodeState> states,
            String problem) {
        return new Row(way, node -> change.accept(node.redis()), states, problem, 1, false);
    }

    /** The server is honest until the client has connected. */
    private static Row late(Row row) {
        return new Row(row.way, row.setUp, row.states, row.problem, row.linesMax, true);
    }

    static Stream<Row> rows() {
        List<Row> rows = new ArrayList<>();
        connections(rows);
        streams(rows);
        subscriptions(rows);
        nonsense(rows);
        errors(rows);
        identities(rows);
        return rows.stream().filter(row -> row.way.contains(System.getProperty("hostile.row", "")));
    }

    private static void connections(List<Row> rows) {
        rows.add(row("disconnects when the client connects", opening(Wire::disconnect), AWAY, "connection"));
        rows.add(row("disconnects in the handshake", at("INFO", Wire::disconnect), AWAY, "connection"));
        rows.add(row("disconnects after the handshake", (wire, words, honest) -> {
            wire.send(honest);
            if (words.get(0).equals("SCRIPT") && words.get(2).startsWith("-- Gives many fenced")) {
                wire.disconnect();
            }
        }, COMING_AND_GOING, "connection"));
        rows.add(row("disconnects at the first lock command", atLocks(Wire::disconnect), COMING_AND_GOING,
                "connection"));
        rows.add(row("disconnects after the first vote", (wire, words, honest) -> {
            wire.send(honest);
            if (isLock(words)) {
                wire.disconnect();
            }
        }, COMING_AND_GOING, "connection"));
        rows.add(row("disconnects within a reply", atLocks(wire -> {
            wire.send("+O");
            wire.disconnect();
        }), COMING_AND_GOING, "connection"));
        rows.add(row("is silent from the start", (wire, words, honest) -> {
        }, AWAY, "handshake took longer"));
        rows.add(row("is silent after the handshake", silentFromTheFirstLock(), COMING_AND_GOING, "has not answered"));
    }

    private static void streams(List<Row> rows) {
        rows.add(row("sends one byte at a time", (wire, words, honest) -> {
            while (honest.isReadable()) {
                wire.send(honest.readSlice(1).copy());
            }
        }, READY, NO_PROBLEM));
        rows.add(row("replies twice", (wire, words, honest) -> {
            wire.send(honest.copy());
            if (isLock(words)) {
                wire.send(honest);
            }
        }, COMING_AND_GOING, ""));
        rows.add(row("sends unsolicited replies", (wire, words, honest) -> {
            wire.send(honest);
            if (isLock(words)) {
                wire.send(":1\r\n:1\r\n:1\r\n");
            }
        }, COMING_AND_GOING, ""));
        rows.add(row("replies before the first request", opening(sending("+OK\r\n".repeat(100))), AWAY, ""));
        rows.add(row("pushes a hundred messages before each reply", (wire, words, honest) -> {
            wire.send(">2\r\n+message\r\n$5\r\nhello\r\n".repeat(100));
            wire.send(honest);
        }, COMING_AND_GOING, TOO_MANY_PUSHES));
        rows.add(row("pushes two thousand messages before the first request",
                opening(sending(">2\r\n+message\r\n$5\r\nhello\r\n".repeat(2_000))), AWAY, TOO_MANY_PUSHES));
        rows.add(row("sends a line that does not end", atFirstLock(sending("+" + "x".repeat(6 << 20))),
                COMING_AND_GOING, BROKEN));
        rows.add(row("sends an array that does not end",
                atFirstLock(sending("*4000\r\n" + ("$2000\r\n" + "x".repeat(2_000) + "\r\n").repeat(3_000))),
                COMING_AND_GOING, BROKEN));
        rows.add(row("sends attributes that do not end", atFirstLock(sending("|1\r\n+k\r\n+v\r\n".repeat(500_000))),
                COMING_AND_GOING, ""));
    }

    /** The channel is that of the client, which {@code SUBSCRIBE} names. */
    private static void subscriptions(List<Row> rows) {
        String pushed = ">3\r\n$9\r\nsubscribe\r\n$35\r\nCHANNEL\r\n:1\r\n";
        rows.add(row("pushes two subscriptions before the first vote", firstLock(pushed + pushed), READY, NO_PROBLEM));
        rows.add(row("pushes a subscription before each reply of the handshake",
                atChannel((words, reply) -> isLock(words) || words.get(0).equals("SUBSCRIBE") ? reply : pushed + reply),
                READY, NO_PROBLEM));
        rows.add(row("pushes a subscription twice", onSubscribe(reply -> reply + reply), READY, NO_PROBLEM));
        for (String bytes : List.of("+OK\r\n", ":1\r\n", pushed.replace('>', '*'), "_\r\n")) {
            rows.add(row("replies to SUBSCRIBE with " + shown(bytes), onSubscribe(reply -> bytes), AWAY, NOT_A_PUSH));
        }
        rows.add(row("subscribes to another channel", onSubscribe(reply -> reply.replace("CHANNEL", OTHER_CHANNEL)),
                AWAY, NOT_A_PUSH));
        rows.add(row("pushes the subscription late", swapped("SUBSCRIBE", false), AWAY, NOT_A_PUSH));
        rows.add(row("pushes the subscription early", swapped("CLIENT", false), AWAY, NOT_A_PUSH));
        rows.add(row("pushes the subscription early, before an error", swapped("CLIENT", true), AWAY, "run_id"));
        rows.add(row("pushes the subscription late, after an error", swapped("SUBSCRIBE", true), AWAY, "run_id"));
        for (String message : List.of("$35\r\nCHANNEL\r\n$0\r\n\r\n", "$35\r\nCHANNEL\r\n$7\r\nhorders\r\n",
                "$35\r\nCHANNEL\r\n$1\r\nh\r\n", "$5\r\nother\r\n$7\r\nhorders\r\n",
                "$35\r\nCHANNEL\r\n$65536\r\n" + "h".repeat(65_536) + "\r\n")) {
            rows.add(row("sends a message before the first vote: " + shown(message), firstLock(
                    ">3\r\n$7\r\nmessage\r\n" + message), READY, NO_PROBLEM));
        }
        rows.add(row("sends two thousand messages before the first vote", firstLock(
                ">3\r\n$7\r\nmessage\r\n$35\r\nCHANNEL\r\n$7\r\nhorders\r\n".repeat(2_000)), COMING_AND_GOING,
                TOO_MANY_PUSHES));
    }

    /** Replaces the reply to each request; CHANNEL in it is the channel of the client. */
    private static Hostility atChannel(BiFunction<List<String>, String, String> replies) {
        Map<Wire, String> channels = new IdentityHashMap<>();
        return (wire, words, honest) -> {
            if (words.get(0).equals("SUBSCRIBE")) {
                channels.put(wire, words.get(1));
            }
            String channel = channels.getOrDefault(wire, OTHER_CHANNEL);
            String reply = honest.toString(StandardCharsets.ISO_8859_1).replace(channel, "CHANNEL");
            wire.send(replies.apply(words, reply).replace("CHANNEL", channel));
        };
    }

    private static Hostility onSubscribe(UnaryOperator<String> replies) {
        return atChannel((words, reply) -> words.get(0).equals("SUBSCRIBE") ? replies.apply(reply) : reply);
    }

    /** Sends bytes once for each connection, before the reply to its first lock command. */
    private static Hostility firstLock(String bytes) {
        Set<Wire> done = Collections.newSetFromMap(new IdentityHashMap<>());
        Hostility hostile = atChannel((words, reply) -> isLock(words) ? bytes + reply : reply);
        return (wire, words, honest) -> {
            if (!isLock(words) || done.add(wire)) {
                hostile.onRequest(wire, words, honest);
            } else {
                wire.send(honest);
            }
        };
    }

    /** Swaps the reply to one command of the handshake, and the next; maybe CLIENT SETINFO is an error. */
    private static Hostility swapped(String command, boolean isError) {
        Map<Wire, String> held = new IdentityHashMap<>();
        Set<Wire> done = Collections.newSetFromMap(new IdentityHashMap<>());
        return (wire, words, honest) -> {
            String reply = isError && words.contains("SETINFO")
                    ? "-ERR unknown subcommand\r\n"
                    : honest.toString(StandardCharsets.ISO_8859_1);
            if (words.get(0).equals(command) && done.add(wire)) {
                held.put(wire, reply);
            } else {
                String before = held.remove(wire);
                wire.send(before == null ? reply : reply + before);
            }
        };
    }

    private static void nonsense(List<Row> rows) {
        for (String bytes : List.of("HTTP/1.1 400 Bad Request\r\n\r\n", "\0\0\0\0", "$536870912\r\n",
                "*1000000000\r\n", ":99999999999999999999\r\n", "$-2\r\n", "?\r\n", "*1\r\n".repeat(200) + ":1\r\n")) {
            rows.add(row("replies to a lock command with " + shown(bytes), atLocks(sending(bytes)),
                    COMING_AND_GOING, BROKEN));
        }
        for (String bytes : List.of("+PONG\r\n", ":1\r\n", "*1\r\n:1\r\n", "$2\r\nOK\r\n", "#t\r\n", ",1.5\r\n",
                "(123\r\n", "%1\r\n+a\r\n+b\r\n", "~1\r\n+a\r\n", "=6\r\ntxt:OK\r\n")) {
            rows.add(row("replies to a SET with " + shown(bytes), at("SET", sending(bytes)), COMING_AND_GOING,
                    NOT_AN_ANSWER));
        }
        rows.add(row("replies to a SET with 12 MB of text",
                at("SET", sending("-ERR " + "\u001b[31m\u0007".repeat(1_700_000) + "\r\n")), COMING_AND_GOING, BROKEN));
        rows.add(row("has a role of a megabyte", at("INFO", sending("$1000000\r\n"
                + ("run_id:r\r\nuptime_in_seconds:99999\r\nrole:" + "\u001b[31m\n".repeat(200_000)).substring(0,
                        1_000_000)
                + "\r\n")), AWAY, "role"));
        rows.add(row("speaks another protocol", opening(sending("SSH-2.0-OpenSSH_9.2\r\n")), AWAY, "SSH"));
    }

    private static void errors(List<Row> rows) {
        for (String code : List.of("OOM", "MISCONF", "READONLY", "NOAUTH", "NOPERM", "NOREPLICAS", "MOVED",
                "CLUSTERDOWN", "MASTERDOWN", "LOADING", "BUSY", "WRONGTYPE", "NOSCRIPT", "FENCE", "ERR", "WHATEVER")) {
            boolean isOfServer = List.of("READONLY", "MASTERDOWN", "LOADING").contains(code);
            rows.add(row("replies to each SET with " + code, at("SET", sending("-" + code + " no\r\n")),
                    isOfServer ? COMING_AND_GOING : READY,
                    (isOfServer ? "the server answered " : "acquires with errors: ") + code));
        }
        rows.add(model("is loading", redis -> redis.failNext("INFO", "LOADING Redis is loading", 1_000), AWAY,
                "not ready: LOADING"));
        rows.add(model("requires a password", redis -> redis.password("app", "secret"), AWAY, "NOAUTH"));
        rows.add(model("rejects the password",
                redis -> redis.failNext("HELLO", "WRONGPASS invalid username-password pair", 1_000), AWAY,
                "WRONGPASS"));
        rows.add(model("rejects scripts", redis -> redis.failNext("SCRIPT", "NOPERM no permissions", 1_000), AWAY,
                "NOPERM"));
        rows.add(model("has no permissions", redis -> List.of("HELLO", "CLIENT", "INFO", "TIME", "SCRIPT")
                .forEach(command -> redis.failNext(command, "NOPERM no", 100_000)), AWAY, "NOPERM"));
    }

    private static void identities(List<Row> rows) {
        rows.add(model("is a replica", redis -> redis.role("slave"), AWAY, "slave"));
        rows.add(model("is a cluster node", redis -> redis.modeField("redis_mode:cluster"), AWAY, "redis-cluster://"));
        rows.add(model("is a Sentinel", redis -> redis.modeField("redis_mode:sentinel"), AWAY, "Sentinel"));
        rows.add(row("has no run_id", at("INFO", sending("$13\r\nrole:master\r\n\r\n")), AWAY, "run_id"));
        Row copy = new Row("copies the run_id of another server", node -> {
            node.redis().runId("node-1-" + "0".repeat(31) + "1");
            node.breakConnections();
        }, READY, "identity of node 1", 2, false);
        rows.add(copy);
        rows.add(late(new Row(copy.way + " later", copy.setUp, QUARANTINED, "restart guard", 4, true)));
        for (String bytes : List.of("+now\r\n", "*2\r\n$2\r\n-1\r\n$1\r\n0\r\n",
                "*2\r\n$19\r\n9223372036854775807\r\n$1\r\n0\r\n", "-NOPERM no\r\n")) {
            Row time = row("replies to TIME with " + shown(bytes), at("TIME", sending(bytes)), AWAY,
                    "TIME");
            rows.add(time);
            rows.add(late(new Row(time.way + " after the handshake", time.setUp, QUARANTINED, "TIME", 1, true)));
        }
    }

    private static String shown(String bytes) {
        String line = bytes.replace("\r\n", " ").replace('\0', '.').trim();
        return line.length() > 30 ? line.substring(0, 30) + "..." : line;
    }

    private static boolean isLock(List<String> words) {
        // The handshake probes a SET without NX and a script without keys.
        return words.get(0).equals("SET") && words.contains("NX")
                || words.get(0).startsWith("EVAL") && !words.get(2).equals("0");
    }

    private static Hostility opening(Consumer<Wire> act) {
        return new Hostility() {
            @Override
            public void onOpened(Wire wire) {
                act.accept(wire);
            }

            @Override
            public void onRequest(Wire wire, List<String> words, ByteBuf honest) {
                wire.send(honest);
            }
        };
    }

    private static Consumer<Wire> sending(String bytes) {
        byte[] once = bytes.getBytes(StandardCharsets.ISO_8859_1);
        return wire -> wire.send(Unpooled.wrappedBuffer(once));
    }

    /**
     * Acts once per connection and is silent after it. A reply of megabytes to each of hundreds of pipelined commands
     * would use up the memory of this process, which the client shares.
     */
    private static Hostility atFirstLock(Consumer<Wire> act) {
        Set<Wire> done = Collections.newSetFromMap(new IdentityHashMap<>());
        return (wire, words, honest) -> {
            if (done.contains(wire)) {
                return;
            }
            if (isLock(words)) {
                done.add(wire);
                act.accept(wire);
            } else {
                wire.send(honest);
            }
        };
    }

    /** The invalidations name the lock of this test, other keys, and all keys. */
    private static Hostility invalidatingAtFirstLock() {
        ByteBuf some = Unpooled.directBuffer();
        for (int i = 0; i < 10_000; i++) {
            FakeRedis.invalidation(i == 0 ? null : i % 2 == 0 ? "orders" : "orders-" + i).writeTo(some);
        }
        // The same bytes a hundred times, without a copy: the test limits direct memory.
        ByteBuf shared = Unpooled.unreleasableBuffer(some);
        Set<Wire> done = Collections.newSetFromMap(new IdentityHashMap<>());
        return (wire, words, honest) -> {
            if (isLock(words) && done.add(wire)) {
                for (int i = 0; i < 100; i++) {
                    wire.send(shared.duplicate());
                }
            }
            wire.send(honest);
        };
    }

    private static Hostility silentFromTheFirstLock() {
        Set<Wire> silent = Collections.newSetFromMap(new IdentityHashMap<>());
        return (wire, words, honest) -> {
            if (isLock(words)) {
                silent.add(wire);
            }
            if (!silent.contains(wire)) {
                wire.send(honest);
            }
        };
    }

    private static Hostility at(String command, Consumer<Wire> act) {
        return (wire, words, honest) -> {
            if (words.get(0).equals(command)) {
                act.accept(wire);
            } else {
                wire.send(honest);
            }
        };
    }

    private static Hostility atLocks(Consumer<Wire> act) {
        return (wire, words, honest) -> {
            if (isLock(words)) {
                act.accept(wire);
            } else {
                wire.send(honest);
            }
        };
    }

    @ParameterizedTest
    @MethodSource("rows")
    void aHostileServerCostsNoLockAndIsReportedAsTheTableShows(Row row) throws InterruptedException {
        Set<Thread> threadsBefore = Thread.getAllStackTraces().keySet();
        long directBefore = PooledByteBufAllocator.DEFAULT.metric().usedDirectMemory();
        try (SocketNodes nodes = new SocketNodes(3); LogLines log = new LogLines()) {
            if (!row.isLate) {
                beHostile(nodes, row);
            }
            RedlockContext context = new RedlockContext().nodes(nodes.addresses())
                    .transport(TransportKind.NIO)
                    .unansweredTimeout(Duration.ofMillis(row.way.contains("silent") ? 500 : 10_000))
                    .nodeTimeout(Duration.ofSeconds(9))
                    .clockSampleInterval(Duration.ofMillis(100));
            long connectNs = System.nanoTime();
            try (Redlock redlock = Redlock.connect(context)) {
                Await.until("a quorum", () -> ready(redlock) >= 2);
                if (row.isLate) {
                    Await.until("all of them", () -> ready(redlock) == 3);
                    beHostile(nodes, row);
                }
                long startNs = System.nanoTime();
                lockUntilSeen(redlock, row, startNs);
                int linesLogged = log.with("node 0").size();
                assertTrue(linesLogged <= row.linesMax, () -> "lines: " + log.with("node 0"));
                int opened = nodes.onLoop(0, () -> nodes.node(0).openedCount());
                int openedMax = connectionsMax(System.nanoTime() - connectNs);
                assertTrue(opened <= openedMax, opened + " connections, expected at most " + openedMax);
                assertNothingLeft(nodes);
            }
            long directAfter = PooledByteBufAllocator.DEFAULT.metric().usedDirectMemory();
            assertTrue(directAfter - directBefore <= DIRECT_BYTES_MAX, "direct memory: " + directAfter);
        }
        Await.until(() -> "threads that still run: " + newThreads(threadsBefore),
                () -> newThreads(threadsBefore).isEmpty());
    }

    /** A million pushes precede the reply to the first lock command of each connection, which the client replaces. */
    @Test
    void aMillionInvalidationsCostNoLock() throws InterruptedException {
        long directBefore = PooledByteBufAllocator.DEFAULT.metric().usedDirectMemory();
        try (SocketNodes nodes = new SocketNodes(3); LogLines log = new LogLines()) {
            RedlockContext context = new RedlockContext().nodes(nodes.addresses())
                    .transport(TransportKind.NIO)
                    .unansweredTimeout(Duration.ofSeconds(60))
                    .nodeTimeout(Duration.ofSeconds(9));
            nodes.onLoop(0, () -> {
                nodes.node(0).hostility(invalidatingAtFirstLock());
                return null;
            });
            try (Redlock redlock = Redlock.connect(context)) {
                Await.until("all of them", () -> ready(redlock) == 3);
                NodeStatus hostile = redlock.nodes().get(0);
                long startNs = System.nanoTime();
                while (hostile.disconnectCount() < 3) {
                    lockAndRelease(redlock, "orders");
                    assertTrue(System.nanoTime() - startNs < LIMIT_NS, () -> "still connected: " + hostile);
                }
                List<String> lines = log.with("node 0");
                assertTrue(lines.get(0).contains(TOO_MANY_PUSHES), lines::toString);
                assertNothingLeft(nodes);
            }
            long directAfter = PooledByteBufAllocator.DEFAULT.metric().usedDirectMemory();
            assertTrue(directAfter - directBefore <= DIRECT_BYTES_MAX, "direct memory: " + directAfter);
        }
    }

    /** Each map of the cluster names other masters, all at addresses where nobody listens. */
    @Test
    void aClusterThatNamesAThousandNewMastersInEachMapCostsNoLease() throws InterruptedException {
        Set<Thread> threadsBefore = Thread.getAllStackTraces().keySet();
        int threadsMost = 0;
        try (SocketNodes nodes = new SocketNodes(3); LogLines log = new LogLines()) {
            String[] addresses = nodes.addresses();
            int port = Integer.parseInt(addresses[0].substring(addresses[0].indexOf(':') + 1));
            nodes.onLoop(0, () -> new FakeCluster().add(nodes.node(0).redis(), "127.0.0.1", port).own(0, LAST_SLOT));
            addresses[0] = "redis-cluster://" + addresses[0];
            RedlockContext context = new RedlockContext().nodes(addresses)
                    .transport(TransportKind.NIO)
                    .nodeTimeout(Duration.ofSeconds(9));
            try (Redlock redlock = Redlock.connect(context)) {
                Await.until("all of them", () -> ready(redlock) == 3);
                nodes.onLoop(0, () -> {
                    nodes.node(0).hostility(namingNewMasters());
                    return null;
                });
                AcquireOptions options = AcquireOptions.ofTtl(Duration.ofSeconds(3)).autoExtend();
                List<Lease> leases = new ArrayList<>();
                for (int i = 0; i < 19; i++) {
                    leases.add(redlock.acquire("lease-" + i, options).lease());
                }
                long endNs = System.nanoTime() + 8_000_000_000L;
                long slowestNs = 0;
                while (System.nanoTime() < endNs) {
                    long startNs = System.nanoTime();
                    lockAndRelease(redlock, "orders");
                    slowestNs = Math.max(slowestNs, System.nanoTime() - startNs);
                    Await.pauseOfLoad();
                    threadsMost = Math.max(threadsMost, lookupThreads());
                }
                assertEquals(List.of(), leases.stream().filter(lease -> !lease.isHeld()).toList());
                assertTrue(slowestNs < 1_000_000_000, "slowest acquire and release: " + slowestNs + " ns");
                assertTrue(redlock.nodes().size() <= 1_026, () -> "members: " + redlock.nodes().size());
            }
            assertTrue(threadsMost <= 4, "look-up threads: " + threadsMost);
            assertTrue(log.with("node 0").size() <= 65, () -> "lines: " + log.with("node 0").size());
        }
        Await.until(() -> "threads that still run: " + newThreads(threadsBefore),
                () -> newThreads(threadsBefore).isEmpty() && lookupThreads() == 0);
    }

    private static int lookupThreads() {
        return (int) Thread.getAllStackTraces()
                .keySet()
                .stream()
                .filter(thread -> thread.getName().startsWith("redlock-lookup"))
                .count();
    }

    private static Hostility namingNewMasters() {
        int[] count = {0};
        return (wire, words, honest) -> {
            if (!words.get(0).equals("CLUSTER") || !words.get(1).equals("SLOTS")) {
                wire.send(honest);
                return;
            }
            RespValue[] ranges = new RespValue[1_023];
            for (int i = 0; i < ranges.length; i++) {
                int number = count[0]++;
                String host = i % 2 == 0 ? "127.9." + number / 250 % 250 + "." + (number % 250 + 1) : "localhost";
                ranges[i] = RespValue.array(RespValue.integer(i), RespValue.integer(i),
                        RespValue.array(RespValue.bulk(host), RespValue.integer(number % 1_000 + 2_000),
                                RespValue.bulk("id" + number)));
            }
            ByteBuf out = Unpooled.buffer();
            RespValue.array(ranges).writeTo(out);
            wire.send(out);
        };
    }

    /**
     * Delays of 20, 40, 80 ms and so on up to a second, each at least half of that. An honest connection before the
     * hostility is one more, and its end starts the delays anew.
     */
    private static int connectionsMax(long runNs) {
        int count = 3;
        long delayNs = DELAY_NS_MIN;
        for (long atNs = delayNs; atNs < runNs; atNs += delayNs) {
            count++;
            delayNs = Math.min(2 * delayNs, 500_000_000);
        }
        return count;
    }

    private static void beHostile(SocketNodes nodes, Row row) {
        nodes.onLoop(0, () -> {
            row.setUp.accept(nodes.node(0));
            return null;
        });
    }

    private static long ready(Redlock redlock) {
        return redlock.nodes().stream().filter(node -> node.state() == NodeState.READY).count();
    }

    /** Locks until the table is fulfilled; every single lock is acquired and released. */
    private static void lockUntilSeen(Redlock redlock, Row row, long startNs)
            throws InterruptedException {
        NodeStatus hostile = redlock.nodes().get(0);
        int count = 0;
        boolean isSeen = false;
        while (!isSeen || count < LOCKS_MIN || System.nanoTime() - startNs < RUN_NS) {
            lockAndRelease(redlock, "orders-" + count++ % 7);
            isSeen = row.states.contains(hostile.state()) && String.valueOf(hostile.problem()).contains(row.problem);
            assertTrue(isSeen || System.nanoTime() - startNs < LIMIT_NS,
                    () -> "never as the table says: " + hostile);
            if (isSeen && count >= LOCKS_MIN) {
                Await.pauseOfLoad();
            }
        }
    }

    private static void lockAndRelease(Redlock redlock, String resource) throws InterruptedException {
        AcquireOutcome outcome = redlock.tryAcquire(resource, TTL);
        assertEquals(AcquireOutcome.Kind.ACQUIRED, outcome.kind(), outcome::toString);
        assertEquals(ReleaseOutcome.RELEASED, outcome.lease().release(), outcome::toString);
    }

    private static void assertNothingLeft(SocketNodes nodes) {
        for (int good : new int[]{1, 2}) {
            Await.until("no key left", () -> nodes.onLoop(good, () -> nodes.node(good).redis().keys().isEmpty()));
        }
    }

    /** Netty's global executor ends a second after its last task. */
    private static List<String> newThreads(Set<Thread> before) {
        return Thread.getAllStackTraces()
                .keySet()
                .stream()
                .filter(thread -> !before.contains(thread) && !thread.isDaemon())
                .map(Thread::getName)
                .filter(name -> !name.startsWith("globalEventExecutor"))
                .toList();
    }
}
