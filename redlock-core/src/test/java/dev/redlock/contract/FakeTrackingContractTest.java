package dev.redlock.contract;

import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.FakeRedis.Kind;
import dev.redlock.sim.SocketNodes;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;

/** The tracking contract on model nodes of each kind. */
@Tag("long")
class FakeTrackingContractTest {

    @Nested
    class OnRedis7 extends OnModelNode {
        OnRedis7() {
            super(Kind.REDIS_7);
        }
    }

    @Nested
    class OnRedis84 extends OnModelNode {
        OnRedis84() {
            super(Kind.REDIS_8_4);
        }
    }

    @Nested
    class OnValkey9 extends OnModelNode {
        OnValkey9() {
            super(Kind.VALKEY_9);
        }
    }

    /** Starts one node behind a real socket for all tests of the contract. */
    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    abstract static class OnModelNode extends TrackingContract {
        private static final long ACTIVE_EXPIRY_MS = 1;

        private final Kind kind;
        private SocketNodes nodes;

        OnModelNode(Kind kind) {
            this.kind = kind;
        }

        private void change(Consumer<FakeRedis> change) {
            nodes.onLoop(0, () -> {
                change.accept(nodes.node(0).redis());
                return null;
            });
        }

        @BeforeAll
        void startNode() {
            nodes = new SocketNodes(1);
            change(redis -> redis.kind(kind));
        }

        @AfterAll
        void stopNode() {
            nodes.close();
        }

        @Override
        protected int port() {
            return Integer.parseInt(nodes.addresses()[0].split(":")[1]);
        }

        @Override
        protected void trackedKeysMax(int max) {
            change(redis -> redis.trackedKeysMax(max));
        }

        @Override
        protected void activeExpiry(boolean isOn) {
            change(redis -> redis.activeExpiry(() -> isOn ? ACTIVE_EXPIRY_MS : -1));
        }

        @Override
        protected void evictAll() {
            change(redis -> redis.keys().forEach(redis::delete));
        }

        @Override
        protected boolean isEveryScriptKeyRegistered() {
            return kind.isEveryScriptKeyRegistered();
        }
    }
}
