package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** {@link RedlockContext#drift} reaches everything that allows for clocks. */
class DriftOptionTest extends VirtualTest {

    private static final long MS = 1_000_000;

    /** Ten percent of twice the second between two samples and 100 ms. */
    private static final long UNSEEN_MS = 220;

    private VirtualWorld.Client clientWithTenPercent() {
        world = new VirtualWorld(3);
        return client(context().drift(100_000, Duration.ofMillis(7)));
    }

    @Test
    void validityOfAnAcquisition() {
        final Lease lease = lease(clientWithTenPercent());
        assertEquals((10_000 - 1_000 - UNSEEN_MS - 7) * MS, lease.remainingValidityNs(), "ttl - 10 % - 7 ms");
    }

    @Test
    void validityOfAnExtension() {
        final Lease lease = lease(clientWithTenPercent());
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, Duration.ofSeconds(20)), "to twice the ttl");
        assertEquals((20_000 - 2_000 - UNSEEN_MS - 7) * MS, lease.remainingValidityNs(), "ttl - 10 % - 7 ms");
    }

    /** Nobody watches the clocks, so nothing that the watch would let pass is allowed for: the drift of the ttl is. */
    @Test
    void validityWhereClocksAreNotWatched() {
        world = new VirtualWorld(3);
        final Lease lease = lease(client(context().drift(100_000, Duration.ofMillis(7)).clockSampleMs(0)));
        assertEquals((10_000 - 1_000 - 7) * MS, lease.remainingValidityNs(), "ttl - 10 % - 7 ms");
    }

    @Test
    void aShortTimeBetweenSamplesCostsLessValidity() {
        world = new VirtualWorld(3);
        final Lease lease = lease(client(context().clockSampleMs(50)));
        assertEquals((10_000 - 100 - 3 - 2) * MS, lease.remainingValidityNs(), "1 % of twice 50 + 100 ms");
    }

    @Test
    void quarantineOfARestartedNode() {
        final VirtualWorld.Client client = clientWithTenPercent();
        node(0).crash();
        node(0).restart(false);
        world.await("back", 3_000, () -> status(client, 0).state() == NodeState.QUARANTINED);
        // Uptime is told in whole seconds, rounded down, so it ends within a second after what is needed.
        world.runMs(60_000 + 6_000 + 7 + 1_000 - 2_000);
        assertEquals(NodeState.QUARANTINED, status(client, 0).state(), "maxTtl + 10 % + 7 ms + 1 s, not yet");
        world.runMs(3_000);
        assertEquals(NodeState.READY, status(client, 0).state(), "now");
    }

    @Test
    void stepOfANodesClock() {
        final VirtualWorld.Client client = clientWithTenPercent();
        world.runMs(3_000);
        node(0).redis().clockJump(90);
        world.runMs(3_000);
        assertEquals(NodeState.READY, status(client, 0).state(), "less than a tenth of a sample's second");
        node(0).redis().clockJump(150);
        world.runMs(3_000);
        assertEquals(NodeState.QUARANTINED, status(client, 0).state(), "more");
    }
}
