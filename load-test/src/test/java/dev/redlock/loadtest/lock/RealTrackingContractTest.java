package dev.redlock.loadtest.lock;

import dev.redlock.cli.AdminClient;
import dev.redlock.contract.TrackingContract;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.TestInstance;

/** The tracking contract, the same as on model nodes, on real servers. */
class RealTrackingContractTest {

    @Nested
    class OnAServerFromThePath extends OnARealNode {
        OnAServerFromThePath() {
            super(new RedisNodesContext().source(Source.PATH).count(1).config("enable-debug-command yes"));
        }
    }

    /** Redis 6.2, which allows DEBUG without a configuration. */
    @Nested
    class OnAnEmbeddedServer extends OnARealNode {
        OnAnEmbeddedServer() {
            super(new RedisNodesContext().source(Source.EMBEDDED).count(1));
        }
    }

    /** Starts one server for all tests of the contract. */
    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    abstract static class OnARealNode extends TrackingContract {
        private final RedisNodesContext nodesContext;
        private RedisNodes nodes;
        private AdminClient admin;

        OnARealNode(RedisNodesContext nodesContext) {
            this.nodesContext = nodesContext;
        }

        @BeforeAll
        void startNode() {
            nodes = RequiredNodes.start(nodesContext);
            admin = nodes.node(0).connect();
        }

        @AfterAll
        void stopNode() {
            if (nodes != null) {
                admin.close();
                nodes.close();
            }
        }

        private void call(String words) {
            try {
                Object reply = admin.call(words.split(" "));
                if (!"OK".equals(reply)) {
                    throw new AssertionError(words + " failed: " + reply);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        protected int port() {
            return nodes.node(0).address().port();
        }

        @Override
        protected void trackedKeysMax(int max) {
            call("CONFIG SET tracking-table-max-keys " + max);
        }

        @Override
        protected void activeExpiry(boolean isOn) {
            call("DEBUG SET-ACTIVE-EXPIRE " + (isOn ? 1 : 0));
        }

        @Override
        protected void evictAll() {
            call("CONFIG SET maxmemory-policy allkeys-random");
            call("CONFIG SET maxmemory 1");
            // A command that needs memory evicts keys, and fails after the last one.
            nodes.node(0).call("SET", "k2", "1");
            call("CONFIG SET maxmemory 0");
        }

        @Override
        protected boolean isEveryScriptKeyRegistered() {
            try {
                String[] version = admin.info("redis_version").split("\\.");
                int major = Integer.parseInt(version[0]);
                return major < 7 || major == 7 && Integer.parseInt(version[1]) < 2;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
