package dev.redlock.failover;

import dev.redlock.RedlockContext;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;

/**
 * The base of tests of one endpoint that fails over: node 0 is its primary and node 1 a replica, which is promoted and
 * takes over the name.
 */
abstract class EndpointTest extends VirtualTest {

    protected static final String MARK = "node:redlock:fence:run_id";

    protected FakeRedis primary;
    protected FakeRedis replica;

    protected VirtualWorld.Client endpoint() {
        return endpoint(FakeRedis.Kind.REDIS_7);
    }

    protected VirtualWorld.Client endpoint(FakeRedis.Kind kind) {
        world = new VirtualWorld(2);
        primary = node(0).redis();
        replica = node(1).redis();
        primary.kind(kind);
        replica.kind(kind);
        replica.replicate(primary);
        return client();
    }

    @Override
    protected RedlockContext context() {
        return new RedlockContext().nodes("node-0:1");
    }

    /** The replica becomes the primary, and the name leads to it. The former primary lives on. */
    protected void failOver() {
        replica.promote();
        world.moveName(0, 1);
    }
}
