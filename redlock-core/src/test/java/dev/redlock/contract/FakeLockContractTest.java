package dev.redlock.contract;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.api.CommandMode;
import dev.redlock.sim.FakeCluster;
import dev.redlock.sim.FakeRedis.Kind;
import dev.redlock.sim.LiveNodes;
import dev.redlock.testing.NodeAccess;
import dev.redlock.testing.RoutedAccess;
import dev.redlock.time.NanoClock;
import java.util.concurrent.ForkJoinPool;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;

/**
 * The lock contract on model nodes in this process, in real time: with servers of each kind and clients of each command
 * mode.
 */
@Tag("long")
class FakeLockContractTest {

    @Nested
    class OnServersWithScriptsAlone extends OnModelNodes {
        OnServersWithScriptsAlone() {
            super(CommandMode.AUTO, Kind.REDIS_7);
        }
    }

    @Nested
    class OnMixedServers extends OnModelNodes {
        OnMixedServers() {
            super(CommandMode.AUTO, Kind.REDIS_8_4, Kind.REDIS_7, Kind.VALKEY_9, Kind.VALKEY_8_1);
        }
    }

    @Nested
    class WithNamesOnMixedServers extends OnModelNodes {
        WithNamesOnMixedServers() {
            super(CommandMode.AUTO, Kind.REDIS_8_4, Kind.REDIS_7, Kind.VALKEY_9, Kind.VALKEY_8_1);
        }

        @Override
        protected boolean isNamed() {
            return true;
        }
    }

    @Nested
    class WithThriftyQuorums extends OnModelNodes {
        WithThriftyQuorums() {
            super(CommandMode.AUTO, Kind.REDIS_7, Kind.REDIS_8_4);
        }

        @Override
        protected boolean isThrifty() {
            return true;
        }
    }

    @Nested
    class OnMixedServersByNativeCommands extends OnModelNodes {
        OnMixedServersByNativeCommands() {
            super(CommandMode.NATIVE, Kind.VALKEY_9, Kind.REDIS_8_4, Kind.VALKEY_8_1, Kind.REDIS_7);
        }
    }

    @Nested
    class OnNewServersByNativeCommands extends OnModelNodes {
        OnNewServersByNativeCommands() {
            super(CommandMode.NATIVE, Kind.REDIS_8_4);
        }
    }

    @Nested
    class OnNewServersByScripts extends OnModelNodes {
        OnNewServersByScripts() {
            super(CommandMode.SCRIPTS, Kind.VALKEY_9);
        }
    }

    /** Two clusters of three masters each, and one master. */
    @Nested
    class OnClustersOfMixedServers extends OnModelNodes {
        private static final int SHARDS = 3;
        private static final int VOTERS = 3;

        OnClustersOfMixedServers() {
            super(CommandMode.AUTO, Kind.REDIS_8_4, Kind.REDIS_7, Kind.VALKEY_9, Kind.VALKEY_8_1);
        }

        @BeforeAll
        void formClusters() {
            for (int c = 0; c < 2; c++) {
                FakeCluster cluster = new FakeCluster();
                for (int i = 0; i < SHARDS; i++) {
                    int index = c * SHARDS + i;
                    int first = i * 5_461;
                    nodes().onLoop(() -> cluster.add(nodes().node(index).redis(), "node-" + index, 1)
                            .own(first, first + 5_460 + first / 10_922));
                }
            }
        }

        @Override
        int nodeCount() {
            return 2 * SHARDS + 1;
        }

        @Override
        protected String[] addresses() {
            return new String[]{"redis-cluster://node-0:1,node-1:1", "redis-cluster://node-4:1", "node-6:1"};
        }

        /** The master that owns the slot of the key. */
        @Override
        protected NodeAccess node(int index) {
            return index == VOTERS - 1
                    ? nodes().access(2 * SHARDS)
                    : new RoutedAccess(key -> nodes().access(
                            index * SHARDS + Math.min(FakeCluster.slotOf(key) / 5_461, SHARDS - 1)));
        }
    }

    @Nested
    class OnClustersWithThriftyQuorums extends OnClustersOfMixedServers {
        @Override
        protected boolean isThrifty() {
            return true;
        }
    }

    /** Starts nodes of the given kinds, in turn, for all tests of the contract. */
    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    abstract static class OnModelNodes extends LockContract {
        private final CommandMode mode;
        private final Kind[] kinds;
        private LiveNodes nodes;

        OnModelNodes(CommandMode mode, Kind... kinds) {
            this.mode = mode;
            this.kinds = kinds;
        }

        @BeforeAll
        void startNodes() {
            nodes = new LiveNodes(nodeCount());
            for (int i = 0; i < nodeCount(); i++) {
                int index = i;
                nodes.onLoop(() -> {
                    nodes.node(index).redis().kind(kinds[index % kinds.length]);
                    return null;
                });
            }
        }

        LiveNodes nodes() {
            return nodes;
        }

        int nodeCount() {
            return 5;
        }

        @AfterAll
        void stopNodes() {
            nodes.close();
        }

        @Override
        protected RedlockContext context() {
            // As a client with loops of its own: these are the test's, on which functions of stages would run.
            return super.context().commands(mode).callbackExecutor(ForkJoinPool.commonPool());
        }

        @Override
        protected boolean isRemainingTtlReported() {
            return mode != CommandMode.NATIVE;
        }

        @Override
        protected String[] addresses() {
            return nodes.addresses();
        }

        @Override
        protected Redlock connect(RedlockContext context) {
            TestClient client = new TestClient(context, nodes.clientLoop(), nodes.newTransport(),
                    NanoClock.system(),
                    System.nanoTime());
            client.open().join();
            return client.redlock();
        }

        @Override
        protected NodeAccess node(int index) {
            return nodes.access(index);
        }
    }
}
