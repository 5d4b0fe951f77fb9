package dev.redlock.trial.nodes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.cli.AdminClient;
import dev.redlock.transport.NodeAddress;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RedisNodesTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final Duration SOON = Duration.ofMillis(300);

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "GIVEN")
    void nodesOfEverySourceAreIndependentServers(Source source) {
        try (RedisNodes nodes = RequiredNodes.start(source, 3)) {
            assertEquals(source, nodes.source());
            assertEquals(3, nodes.size());
            Set<String> runIds = new HashSet<>();
            nodes.nodes().forEach(node -> runIds.add(info(node, "run_id")));
            assertEquals(3, runIds.size(), "three servers, not one");
            assertEquals("OK", nodes.node(0).call("SET", "k", "v"));
            assertNull(nodes.node(1).call("GET", "k"));
            assertTrue(nodes.choice().startsWith("3 nodes: " + source.title()), nodes.choice());
        }
    }

    /** No other server runs in its place. */
    @Test
    void aFolderWithServersTakesThePlaceOfAllSources(@TempDir Path folder) throws IOException {
        RequiredNodes.start(Source.PATH, 1).close();
        RedisNodesContext context = new RedisNodesContext().count(1);
        context.serverFolder = folder.toString();
        assertEquals("no nodes available: server on PATH: no redis-server or valkey-server on PATH", refusal(context));
        Path server = folder.resolve("redis-server");
        Files.writeString(server, "#!/bin/sh\necho 'candidate v9'\n");
        assertTrue(server.toFile().setExecutable(true));
        assertEquals("no nodes available: server on PATH: redis-server --version printed: candidate v9",
                refusal(context));
    }

    private static String refusal(RedisNodesContext context) {
        return assertThrows(NodesUnavailableException.class, () -> RedisNodes.start(context)).getMessage();
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "GIVEN")
    void killedNodeRefusesConnectionsAndRestartsEmptyOnItsAddress(Source source) {
        try (RedisNodes nodes = RequiredNodes.start(source, 1)) {
            RedisNode node = nodes.node(0);
            String runId = info(node, "run_id");
            node.call("SET", "k", "v");
            node.kill();
            assertEquals(NodeState.STOPPED, node.state());
            assertThrows(IOException.class, () -> ping(node));
            NodeAddress before = node.address();
            node.restart(Data.LOST);
            assertEquals(before, node.address());
            assertNull(node.call("GET", "k"));
            assertNotEquals(runId, info(node, "run_id"));
        }
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "GIVEN")
    void restartKeepsOrLosesTheDataAsRequested(Source source) {
        RedisNodesContext context = new RedisNodesContext().source(source).count(1).appendOnly(true);
        try (RedisNodes nodes = RequiredNodes.start(context)) {
            RedisNode node = nodes.node(0);
            node.call("SET", "k", "v");
            node.restart(Data.KEPT);
            assertEquals("v", node.call("GET", "k"));
            node.stop();
            node.start();
            assertEquals("v", node.call("GET", "k"));
            node.restart(Data.LOST);
            assertNull(node.call("GET", "k"));
        }
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "GIVEN")
    void pausedNodeKeepsItsConnectionsAndAnswersAfterResume(Source source) throws IOException {
        try (RedisNodes nodes = RequiredNodes.start(source, 1)) {
            RedisNode node = nodes.node(0);
            try (AdminClient redis = AdminClient.connect(node.address(), SOON)) {
                node.pause();
                assertEquals(NodeState.PAUSED, node.state());
                assertThrows(SocketTimeoutException.class, () -> redis.call("SET", "late", "1"));
                node.resume();
                assertEquals("PONG", node.call("PING"));
                assertEquals("1", node.call("GET", "late"), "commands sent meanwhile are executed");
            }
        }
    }

    @Test
    void pausedNodeCanBeKilledAndStopped() {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(2))) {
            nodes.nodes().forEach(RedisNode::pause);
            nodes.node(0).kill();
            nodes.node(1).stop();
            nodes.nodes().forEach(node -> assertFalse(node.isAnswering(SOON)));
            nodes.nodes().forEach(RedisNode::start);
            nodes.nodes().forEach(node -> assertTrue(node.isAnswering(LIMIT)));
        }
    }

    @Test
    void nodesHaveNoPersistenceAndListenOnLoopbackOnly() {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(1))) {
            RedisNode node = nodes.node(0);
            assertEquals(List.of("save", ""), node.call("CONFIG", "GET", "save"));
            assertEquals(List.of("appendonly", "no"), node.call("CONFIG", "GET", "appendonly"));
            assertEquals(List.of("bind", "127.0.0.1"), node.call("CONFIG", "GET", "bind"));
        }
    }

    @Test
    void closeEndsTheProcessesAndRemovesTheirFolder() {
        RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(2).unixSocket(true));
        List<Long> pids = nodes.nodes().stream().map(node -> node.pid().getAsLong()).toList();
        Path socket = nodes.node(0).unixSocket().orElseThrow();
        Path folder = socket.getParent().getParent();
        assertTrue(Files.exists(folder));
        nodes.node(1).pause();
        nodes.close();
        nodes.close();
        pids.forEach(pid -> assertFalse(ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false)));
        assertFalse(Files.exists(folder));
        assertThrows(IllegalStateException.class, () -> nodes.node(0).start());
    }

    @Test
    void socketFileIsAnAddress() throws IOException {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(1).unixSocket(true))) {
            String address = "unix://" + nodes.node(0).unixSocket().orElseThrow();
            try (RedisNodes given = RedisNodes.start(new RedisNodesContext().addresses(List.of(address)))) {
                assertEquals("PONG", given.node(0).call("PING"));
                assertEquals(address, given.node(0).address().toString());
            }
            nodes.node(0).pause();
            try (AdminClient paused = AdminClient.connect(NodeAddress.parse(address), Duration.ofMillis(100))) {
                IOException late = assertThrows(IOException.class, () -> paused.call("PING"));
                assertEquals("no answer within 100 ms", late.getMessage());
            }
            nodes.node(0).kill();
            IOException refused = assertThrows(IOException.class,
                    () -> AdminClient.connect(NodeAddress.parse(address), Duration.ofMillis(100)));
            assertTrue(refused.getMessage().startsWith("cannot connect to " + address), refused.getMessage());
        }
    }

    @Test
    void unixSocketIsServed() throws IOException {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(1).unixSocket(true));
                SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            channel.connect(UnixDomainSocketAddress.of(nodes.node(0).unixSocket().orElseThrow()));
            channel.write(ByteBuffer.wrap("PING\r\n".getBytes(StandardCharsets.US_ASCII)));
            ByteBuffer reply = ByteBuffer.allocate(7);
            while (reply.hasRemaining() && channel.read(reply) >= 0) {
                assertTrue(reply.position() > 0);
            }
            assertEquals("+PONG\r\n", new String(reply.array(), StandardCharsets.US_ASCII));
        }
    }

    @Test
    void passwordGuardsTheNodeAndIsNeverShown() throws IOException {
        try (RedisNodes nodes = RequiredNodes
                .start(new RedisNodesContext().count(1).config("requirepass s3cr3t-word"))) {
            RedisNode node = nodes.node(0);
            assertEquals("PONG", node.call("PING"));
            try (AdminClient stranger = AdminClient.connect(NodeAddress.parse("127.0.0.1:" + node.address().port()),
                    LIMIT)) {
                assertTrue(stranger.call("PING").toString().contains("NOAUTH"));
            }
            assertTrue(nodes.addresses()[0].contains("s3cr3t-word"), "the client needs it");
            assertFalse(nodes.toString().contains("s3cr3t"));
            assertFalse(node.toString().contains("s3cr3t"));
            String processes = ProcessHandle.of(node.pid().getAsLong())
                    .flatMap(handle -> handle.info().commandLine())
                    .orElse("");
            assertFalse(processes.contains("s3cr3t"));
        }
    }

    @Test
    void givenAddressesAreUsedUnchangedAndCannotBeStopped() {
        try (RedisNodes own = RequiredNodes.start(new RedisNodesContext().count(3))) {
            own.node(2).kill();
            RedisNodesContext context = new RedisNodesContext().addresses(Arrays.asList(own.addresses()));
            try (RedisNodes given = RedisNodes.start(context)) {
                assertEquals(Source.GIVEN, given.source());
                assertEquals(3, given.size());
                assertTrue(given.choice().contains("down: [node 2"), given.choice());
                IllegalStateException refusal = assertThrows(IllegalStateException.class, given.node(0)::kill);
                assertTrue(refusal.getMessage().contains("given by address"), refusal.getMessage());
            }
            assertTrue(own.node(0).isAnswering(LIMIT), "closing the given nodes ends nothing");
        }
    }

    @Test
    void givenAddressesWithoutAMajorityFailNamingEach() {
        try (RedisNodes own = RequiredNodes.start(new RedisNodesContext().count(3))) {
            own.node(1).kill();
            own.node(2).kill();
            RedisNodesContext context = new RedisNodesContext().addresses(Arrays.asList(own.addresses()));
            NodesUnavailableException error = assertThrows(NodesUnavailableException.class,
                    () -> RedisNodes.start(context));
            assertTrue(error.getMessage().contains("only 1 of 3"), error.getMessage());
            assertTrue(error.getMessage().contains(own.node(1).address().toString()), error.getMessage());
            assertTrue(error.getMessage().contains(own.node(2).address().toString()), error.getMessage());
        }
    }

    @Test
    void failureOfAllSourcesNamesEveryReason() {
        RedisNodesContext context = new RedisNodesContext().source(Source.CONTAINER).unixSocket(true);
        NodesUnavailableException error = assertThrows(NodesUnavailableException.class,
                () -> RedisNodes.start(context));
        assertTrue(error.getMessage().contains("container: a Unix socket was asked for"), error.getMessage());
    }

    @Test
    void rejectedConfigurationIsReportedWithTheServersReason() {
        RedisNodesContext context = new RedisNodesContext().count(1)
                .source(Source.EMBEDDED)
                .config("no-such-directive yes");
        NodesUnavailableException error = assertThrows(NodesUnavailableException.class,
                () -> RedisNodes.start(context));
        assertTrue(error.getMessage().contains("no-such-directive"), error.getMessage());
    }

    @Test
    void takenPortIsRetriedOnAnotherPortAndThenReported() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            RedisNodesContext context = new RedisNodesContext().count(1)
                    .source(Source.EMBEDDED)
                    .config("port " + taken.getLocalPort());
            NodesUnavailableException error = assertThrows(NodesUnavailableException.class,
                    () -> RedisNodes.start(context));
            assertTrue(error.getMessage().contains("Address already in use"), error.getMessage());
        }
    }

    @Test
    void pathWithoutAServerFails() {
        SourceRefusedException none = assertThrows(SourceRefusedException.class,
                () -> ServerFiles.onPath(System.getProperty("java.io.tmpdir")));
        assertEquals("no redis-server or valkey-server on PATH", none.getMessage());
    }

    @Test
    void brokenServerOnPathIsReportedWithItsOutput(@TempDir Path folder) throws IOException {
        Path script = Files.writeString(folder.resolve("valkey-server"), "#!/bin/sh\necho cannot load libssl\n");
        assertTrue(script.toFile().setExecutable(true));
        SourceRefusedException error = assertThrows(SourceRefusedException.class,
                () -> ServerFiles.onPath(folder.toString()));
        assertEquals("valkey-server --version printed: cannot load libssl", error.getMessage());
    }

    @Test
    void theFirstFolderOnPathDecides(@TempDir Path first, @TempDir Path second) throws Exception {
        server(first.resolve("valkey-server"), "Valkey server v=9.1.0 sha=00000000:0 malloc=libc bits=64 build=0");
        server(second.resolve("redis-server"), "Redis server v=7.0.15 sha=00000000:0 malloc=libc bits=64 build=0");
        assertEquals("valkey-server 9.1.0", ServerFiles.onPath(first + File.pathSeparator + second).product());
        assertEquals("redis-server 7.0.15", ServerFiles.onPath(second + File.pathSeparator + first).product());
    }

    private static void server(Path file, String version) throws IOException {
        Files.writeString(file, "#!/bin/sh\necho '" + version + "'\n");
        assertTrue(file.toFile().setExecutable(true));
    }

    @Test
    void valkeyOnPathIsUsed(@TempDir Path folder) throws Exception {
        Path script = Files.writeString(folder.resolve("valkey-server"),
                "#!/bin/sh\necho 'Valkey server v=8.0.1 sha=00000000:0 malloc=jemalloc bits=64'\n");
        assertTrue(script.toFile().setExecutable(true));
        assertEquals("valkey-server 8.0.1", ServerFiles.onPath(folder.toString()).product());
    }

    @Test
    void everyKnownPlatformHasItsBinaryInTheArtifact() throws SourceRefusedException {
        for (String[] platform : new String[][]{{"Linux", "amd64"}, {"Linux", "aarch64"}, {"Mac OS X", "aarch64"},
            {"Mac OS X", "x86_64"}, {"Windows 11", "amd64"}}) {
            for (String name : ServerFiles.binaries(platform[0], platform[1])) {
                assertTrue(redis.embedded.RedisServer.class.getResource("/" + name) != null, name);
            }
        }
        assertThrows(SourceRefusedException.class, () -> ServerFiles.binaries("Linux", "riscv64"));
    }

    @Test
    void callsInAWrongStateReportTheState() {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(1))) {
            RedisNode node = nodes.node(0);
            assertThrows(IllegalStateException.class, node::start);
            assertThrows(IllegalStateException.class, node::resume);
            assertThrows(IllegalStateException.class, () -> node.restart(Data.KEPT));
            node.kill();
            assertThrows(IllegalStateException.class, node::kill);
            assertThrows(IllegalStateException.class, node::pause);
        }
    }

    @Test
    void optionsOutOfRangeReportTheRange() {
        assertThrows(IllegalArgumentException.class, () -> new RedisNodesContext().count(0));
        assertThrows(IllegalArgumentException.class, () -> new RedisNodesContext().count(64));
        assertThrows(IllegalArgumentException.class, () -> new RedisNodesContext().readyTimeout(Duration.ZERO));
        RedisNodesContext twice = new RedisNodesContext().addresses(List.of("a:1", "b:1", "redis://a:1"));
        assertEquals("node address a:1 is given twice",
                assertThrows(IllegalArgumentException.class, () -> RedisNodes.start(twice)).getMessage());
        RedisNodesContext tooMany = new RedisNodesContext().addresses(List.of("a:1", "b:1")).count(3);
        assertThrows(IllegalArgumentException.class, () -> RedisNodes.start(tooMany));
    }

    private static String info(RedisNode node, String field) {
        try (AdminClient redis = node.connect()) {
            return redis.info(field);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static void ping(RedisNode node) throws IOException {
        try (AdminClient redis = AdminClient.connect(node.address(), SOON)) {
            redis.call("PING");
        }
    }
}
