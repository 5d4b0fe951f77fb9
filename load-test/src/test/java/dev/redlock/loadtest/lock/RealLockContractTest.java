package dev.redlock.loadtest.lock;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.CommandMode;
import dev.redlock.api.TlsProvider;
import dev.redlock.api.TransportKind;
import dev.redlock.cli.AdminClient;
import dev.redlock.contract.LockContract;
import dev.redlock.testing.NodeAccess;
import dev.redlock.testing.RoutedAccess;
import dev.redlock.transport.NettyTransport;
import dev.redlock.trial.nodes.NodeUris;
import dev.redlock.trial.nodes.RedisCluster;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;

/**
 * The lock contract, the same as on model nodes, on real servers: each kind of server, each transport that runs here.
 * Variants that send the same commands over another connection run before a release.
 */
class RealLockContractTest {

    @Nested
    @Tag("long")
    class OnServersFromThePath extends OnRealNodes {
        OnServersFromThePath() {
            super(new RedisNodesContext().source(Source.PATH).count(5), TransportKind.AUTO);
        }
    }

    @Nested
    @Tag("long")
    class WithThriftyQuorums extends OnRealNodes {
        WithThriftyQuorums() {
            super(new RedisNodesContext().source(Source.PATH).count(5), TransportKind.AUTO);
        }

        @Override
        protected boolean isThrifty() {
            return true;
        }
    }

    @Nested
    @Tag("long")
    class OnEmbeddedServers extends OnRealNodes {
        OnEmbeddedServers() {
            super(new RedisNodesContext().source(Source.EMBEDDED).count(3), TransportKind.AUTO);
        }
    }

    @Nested
    class OverNio extends OnRealNodes {
        OverNio() {
            super(new RedisNodesContext().source(Source.PATH).count(3), TransportKind.NIO);
        }

        @Override
        protected boolean isNamed() {
            return true;
        }
    }

    @Nested
    @Tag("release")
    class OverEpoll extends OnRealNodes {
        OverEpoll() {
            super(new RedisNodesContext().source(Source.PATH).count(3), TransportKind.EPOLL);
        }
    }

    @Nested
    @Tag("release")
    class OverIoUring extends OnRealNodes {
        OverIoUring() {
            super(new RedisNodesContext().source(Source.PATH).count(3), TransportKind.IO_URING);
        }
    }

    @Nested
    @Tag("release")
    class OverUnixSockets extends OnRealNodes {
        OverUnixSockets() {
            super(new RedisNodesContext().source(Source.PATH).count(3).unixSocket(true), TransportKind.EPOLL);
        }

        @Override
        String addressOf(RedisNode node) {
            return "unix://" + node.unixSocket().orElseThrow();
        }
    }

    /** Three clusters of three masters each. */
    @Nested
    @Tag("long")
    class OnClusters extends OnRealNodes {
        private static final int SHARDS = 3;
        private static final int CLUSTERS = 3;
        private List<RedisCluster> clusters;
        /** By cluster and slot; no slot moves. */
        private final Map<String, RedisNode> owners = new ConcurrentHashMap<>();

        OnClusters() {
            super(RedisCluster.enabled(new RedisNodesContext().source(Source.PATH).count(SHARDS * CLUSTERS), 15_000),
                    TransportKind.AUTO);
        }

        @BeforeAll
        void formClusters() {
            clusters = RedisCluster.formEach(nodes().nodes(), SHARDS, SHARDS);
        }

        @Override
        protected String[] addresses() {
            return clusters.stream().map(RedisCluster::address).toArray(String[]::new);
        }

        @Override
        protected NodeAccess node(int index) {
            return new RoutedAccess(key -> access(owners.computeIfAbsent(index + " " + RedisCluster.slotOf(text(key)),
                    slot -> clusters.get(index).ownerOf(text(key)))));
        }
    }

    /** An acquire is a plain SET on every server; the rest of the ladder needs newer ones. */
    @Nested
    @Tag("long")
    class ByNativeCommands extends InNativeMode {
        ByNativeCommands() {
            super(new RedisNodesContext().source(Source.PATH).count(3));
        }
    }

    @Nested
    @Tag("release")
    class ByNativeCommandsOnEmbeddedServers extends InNativeMode {
        ByNativeCommandsOnEmbeddedServers() {
            super(new RedisNodesContext().source(Source.EMBEDDED).count(3));
        }

        @Override
        protected boolean isNamed() {
            return true;
        }
    }

    /** Without scripts where that is possible. */
    abstract static class InNativeMode extends OnRealNodes {
        InNativeMode(RedisNodesContext nodesContext) {
            super(nodesContext, TransportKind.AUTO);
        }

        @Override
        protected RedlockContext context() {
            return super.context().commands(CommandMode.NATIVE);
        }

        @Override
        protected boolean isRemainingTtlReported() {
            return false;
        }
    }

    @Nested
    @Tag("release")
    class WithPasswords extends OnRealNodes {
        WithPasswords() {
            super(new RedisNodesContext().source(Source.PATH).count(3).config("requirepass pass:w0rd"),
                    TransportKind.AUTO);
        }

        @Override
        String addressOf(RedisNode node) {
            return NodeUris.of(node.address());
        }
    }

    @Nested
    @Tag("release")
    class WithTlsOfTheJdk extends WithTls {
        WithTlsOfTheJdk() {
            super(TlsProvider.JDK);
        }
    }

    @Nested
    class WithTlsOfOpenSsl extends WithTls {
        WithTlsOfOpenSsl() {
            super(TlsProvider.OPENSSL);
        }
    }

    /** The nodes require a client certificate. */
    abstract static class WithTls extends OnRealNodes {
        private final TlsProvider provider;

        WithTls(TlsProvider provider) {
            super(new RedisNodesContext().source(Source.PATH).count(3).tls(true), TransportKind.AUTO);
            this.provider = provider;
        }

        @Override
        String addressOf(RedisNode node) {
            return node.tlsAddress().orElseThrow().toString();
        }

        @Override
        protected RedlockContext context() {
            return super.context().tls(nodes().tls().options().provider(provider));
        }
    }

    /** Nodes of one kind, started once for all tests of the contract. */
    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    abstract static class OnRealNodes extends LockContract {
        private static final String HEX_OF_VALUE = "local v = redis.call('GET', KEYS[1]) "
                + "if not v then return false end "
                + "return (v:gsub('.', function(c) return string.format('%02x', c:byte()) end))";

        private final RedisNodesContext nodesContext;
        private final TransportKind transport;
        private final Map<RedisNode, AdminClient> connections = new ConcurrentHashMap<>();
        private RedisNodes nodes;

        OnRealNodes(RedisNodesContext nodesContext, TransportKind transport) {
            this.nodesContext = nodesContext;
            this.transport = transport;
        }

        String addressOf(RedisNode node) {
            return node.address().toString();
        }

        RedisNodes nodes() {
            return nodes;
        }

        @BeforeAll
        void startNodes() {
            if (transport != TransportKind.AUTO) {
                String refusal = NettyTransport.valueOf(transport.name()).refusal(false);
                Assumptions.assumeTrue(refusal == null,
                        () -> "transport " + transport + " does not run here: " + refusal);
            }
            nodes = RequiredNodes.start(nodesContext);
        }

        @AfterAll
        void stopNodes() {
            connections.values().forEach(AdminClient::close);
            if (nodes != null) {
                nodes.close();
            }
        }

        @Override
        protected String[] addresses() {
            return nodes.nodes().stream().map(this::addressOf).toArray(String[]::new);
        }

        @Override
        protected Redlock connect(RedlockContext context) {
            return Redlock.connect(context.transport(transport));
        }

        @Override
        protected NodeAccess node(int index) {
            return access(nodes.node(index));
        }

        /** The contract gives bytes, one char each; the connection takes text and sends it as UTF-8. */
        static String text(String bytes) {
            return new String(bytes.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
        }

        final NodeAccess access(RedisNode node) {
            return new RealAccess(connections.computeIfAbsent(node, RedisNode::connect));
        }

        /** A look at a real node with commands that every client has. */
        private record RealAccess(AdminClient redis) implements NodeAccess {
            private Object call(String... words) {
                try {
                    return redis.call(words);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }

            @Override
            public String get(String key) {
                Object hex = call("EVAL", HEX_OF_VALUE, "1", text(key));
                return hex == null
                        ? null
                        : new String(HexFormat.of().parseHex((String) hex), StandardCharsets.ISO_8859_1);
            }

            @Override
            public boolean setIfAbsent(String key, String value, long ttlMs) {
                Object reply = ttlMs < 0
                        ? call("SET", text(key), value, "NX")
                        : call("SET", text(key), value, "NX", "PX", Long.toString(ttlMs));
                return "OK".equals(reply);
            }

            @Override
            public void setHash(String key, long ttlMs) {
                call("HSET", text(key), "field", "value");
                call("PEXPIRE", text(key), Long.toString(ttlMs));
            }

            @Override
            public boolean delete(String key) {
                return Long.valueOf(1).equals(call("DEL", text(key)));
            }

            @Override
            public long pttl(String key) {
                return (Long) call("PTTL", text(key));
            }
        }
    }
}
