package dev.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** The base of tests of waiters that the nodes wake. */
abstract class WokenTest extends VirtualTest {

    protected static final Duration WAIT = Duration.ofSeconds(60);
    /** A push, an attempt at the coordinator and one at the other nodes; 200 us for the timers. */
    protected static final long WOKEN_US = 700;

    protected CompletableFuture<AcquireOutcome> waiter(VirtualWorld.Client client) {
        return acquireAsync(client, options().waitUpTo(WAIT));
    }

    /** Releases the lock, and expects that the waiter gets it in time. */
    protected void assertHandoff(Lease holder, CompletableFuture<AcquireOutcome> waiting, long usMax) {
        long tookUs = handoffUs(holder, waiting);
        assertTrue(tookUs <= usMax, () -> "the waiter got the lock after " + tookUs + " us");
    }

    /** @return how many scripts of attempts a node has executed */
    protected static int attempts(FakeNode node) {
        return node.redis().commandCount("acquire") + node.redis().commandCount("acquire_fenced");
    }

    protected int attempts() {
        return world.nodes().stream().mapToInt(WokenTest::attempts).sum();
    }

    /** @return the node that got the only script of an attempt since the start */
    protected int coordinator() {
        List<Integer> asked = new ArrayList<>();
        for (int i = 0; i < world.nodes().size(); i++) {
            if (attempts(node(i)) > 0) {
                asked.add(i);
            }
        }
        assertEquals(1, asked.size(), () -> "the coordinator alone is asked, not " + asked);
        return asked.get(0);
    }
}
