package dev.redlock.acquire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The validity starts before the first byte is sent: a node may execute a command while its client still sends. */
class SlowSendTest extends VirtualTest {

    private static final long MS = 1_000_000;

    /** Returns a client whose socket writes take longer than the clock allowance of its ttl. */
    private VirtualWorld.Client slowSender() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().nodeTimeout(Duration.ofSeconds(5)));
        slowDown(client);
        return client;
    }

    private void slowDown(VirtualWorld.Client client) {
        client.transport().sendListener(() -> world.pass(100 * MS));
    }

    private void assertCountedFrom(long startNs, Lease lease) {
        long elapsedNs = world.nowNs() - startNs;
        assertTrue(elapsedNs > 300 * MS, "precondition: the sends are slow: " + elapsedNs);
        assertTrue(lease.remainingValidityNs() <= TTL.toNanos() - elapsedNs,
                "the keys may exist since the first byte was sent: " + lease);
    }

    @Test
    void validityStartsBeforeTheAcquireIsSent() {
        VirtualWorld.Client client = slowSender();
        long startNs = world.nowNs();
        assertCountedFrom(startNs, lease(client));
    }

    @Test
    void validityStartsBeforeTheExtensionIsSent() {
        VirtualWorld.Client client = slowSender();
        Lease lease = lease(client);
        world.runMs(1_000);
        long startNs = world.nowNs();
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "extended");
        assertCountedFrom(startNs, lease);
    }

    /** Such an extension is sent in the call, without a batch. */
    @Test
    void validityStartsBeforeAnExtensionThatAlsoAsksAnotherNode() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().nodeTimeout(Duration.ofSeconds(5)).thriftyQuorums(true));
        Lease lease = lease(client);
        assertEquals(2, keyCount(), "precondition: one node was not asked");
        slowDown(client);
        long startNs = world.nowNs();
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "extended");
        eachNode(node -> assertEquals(key(0), node.redis().get("orders"), "all nodes hold the lock"));
        assertCountedFrom(startNs, lease);
    }
}
