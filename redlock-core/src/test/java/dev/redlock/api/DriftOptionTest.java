package dev.redlock.api;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.RedlockContext;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** {@link RedlockContext#drift} applies to every clock allowance. */
class DriftOptionTest extends VirtualTest {

    private static final long MS = 1_000_000;

    /** Ten percent of two clock sample periods (2 s) and 100 ms. */
    private static final long UNSEEN_MS = 220;

    private VirtualWorld.Client clientWithTenPercent() {
        world = new VirtualWorld(3);
        return client(context().drift(100_000, Duration.ofMillis(7)));
    }

    @Test
    void driftReducesTheValidityOfAnAcquisition() {
        Lease lease = lease(clientWithTenPercent());
        assertEquals((10_000 - 1_000 - UNSEEN_MS - 7) * MS, lease.remainingValidityNs(), "ttl - 10 % - 7 ms");
    }

    @Test
    void driftReducesTheValidityOfAnExtension() {
        Lease lease = lease(clientWithTenPercent());
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, Duration.ofSeconds(20)), "to twice the ttl");
        assertEquals((20_000 - 2_000 - UNSEEN_MS - 7) * MS, lease.remainingValidityNs(), "ttl - 10 % - 7 ms");
    }

    /** Without clock watch there is no allowance for undetected steps, only for the drift of the ttl. */
    @Test
    void validityWithoutClockWatchHasNoStepAllowance() {
        world = new VirtualWorld(3);
        Lease lease = lease(client(context().drift(100_000, Duration.ofMillis(7)).clockSampleInterval(Duration.ZERO)));
        assertEquals((10_000 - 1_000 - 7) * MS, lease.remainingValidityNs(), "ttl - 10 % - 7 ms");
    }

    @Test
    void shorterClockSamplesCostLessValidity() {
        world = new VirtualWorld(3);
        Lease lease = lease(client(context().clockSampleInterval(Duration.ofMillis(50))));
        assertEquals((10_000 - 100 - 3 - 2) * MS, lease.remainingValidityNs(), "1 % of twice 50 + 100 ms");
    }

    @Test
    void driftExtendsTheQuarantineOfARestartedNode() {
        VirtualWorld.Client client = clientWithTenPercent();
        node(0).crash();
        node(0).restart(false);
        world.await("back", 3_000, () -> status(client, 0).state() == NodeState.QUARANTINED);
        // Redis reports the uptime in whole seconds, rounded down, so the quarantine ends up to a second later.
        world.runMs(60_000 + 6_000 + 7 + 1_000 - 2_000);
        assertEquals(NodeState.QUARANTINED, status(client, 0).state(), "maxTtl + 10 % + 7 ms + 1 s, not yet");
        world.runMs(3_000);
        assertEquals(NodeState.READY, status(client, 0).state(), "now");
    }

    @Test
    void driftSetsTheLimitOfAClockStep() {
        VirtualWorld.Client client = clientWithTenPercent();
        world.runMs(3_000);
        node(0).redis().clockJump(90);
        world.runMs(3_000);
        assertEquals(NodeState.READY, status(client, 0).state(), "less than a tenth of a sample's second");
        node(0).redis().clockJump(150);
        world.runMs(3_000);
        assertEquals(NodeState.QUARANTINED, status(client, 0).state(), "more");
    }
}
