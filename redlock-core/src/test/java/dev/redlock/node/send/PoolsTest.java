package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A client does not keep the memory of its peak load forever. */
class PoolsTest extends VirtualTest {

    private static final int ATTEMPTS = 8_000;
    private static final int BOUND = 1_024;

    private VirtualWorld.Client client;

    private void lockAll(int count) {
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            client.redlock()
                    .acquireAsync("orders/" + i, options())
                    .thenAccept(outcome -> leases.add(outcome.lease()));
            if (i % 500 == 0) {
                world.settle();
            }
        }
        world.settle();
        assertEquals(count, leases.size(), "locks");
        leases.forEach(lease -> lease.releaseAsync());
        world.settle();
    }

    @Test
    void poolsShrinkAfterAFrozenNodeHasResumed() {
        client = world(3);
        node(0).pause();
        lockAll(ATTEMPTS);
        assertEquals(ATTEMPTS, client.engine().claimsOut(), "claims that wait for node 0");
        world.runMs(500);
        node(0).resume();
        world.settle();
        assertEquals(0, client.engine().claimsOut());
        assertTrue(client.engine().pooledClaims() >= ATTEMPTS, "all of them are in the pool");
        world.runMs(60_000);
        int pooled = client.engine().pooledClaims();
        assertTrue(pooled > 0 && pooled <= BOUND, pooled + " claims in the pool");
        assertEquals(ReleaseOutcome.RELEASED, release(lease(client)));
    }

    @Test
    void leasesThatAClockJumpHasShortenedAreForgottenAtTheirEnd() {
        client = world(1);
        int count = 2_000;
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            client.redlock()
                    .acquireAsync("orders/" + i, options())
                    .thenAccept(outcome -> leases.add(outcome.lease()));
        }
        world.settle();
        node(0).redis().clockJump(1_000);
        world.await("shortened", 2_000, () -> client.engine().engine().shortenedLeases() == count);
        world.runMs(2_000);
        assertEquals(count, client.engine().engine().shortenedLeases(), "while they are held");
        leases.subList(1, count).forEach(Lease::releaseAsync);
        world.runMs(2_000);
        assertEquals(1, client.engine().engine().shortenedLeases());
        assertEquals(ReleaseOutcome.RELEASED, release(leases.get(0)));
        world.runMs(2_000);
        assertEquals(0, client.engine().engine().shortenedLeases());
    }

    /** The queues of waiters, and the tables in which pushes find them. */
    @Test
    void queuesShrinkAfterManyWaiters() {
        client = world(1);
        int count = 5_000;
        List<Lease> leases = new ArrayList<>();
        node(0).delay(() -> 20_000_000);
        for (int i = 0; i < count; i++) {
            client.redlock()
                    .acquireAllAsync(List.of("a/" + i, "b/" + i), options().waitUpTo(TTL))
                    .thenAccept(outcome -> leases.add(outcome.lease()));
        }
        world.runMs(1);
        int peak = client.engine().engine().queueCapacity();
        assertTrue(peak >= 3 * count, () -> peak + " buckets for " + count + " queues of two resources");
        world.await("the leases", 1_000, () -> leases.size() == count);
        assertEquals(count, client.engine().engine().pooledAcquires());
        leases.forEach(Lease::releaseAsync);
        world.runMs(60_000);
        int pooled = client.engine().engine().pooledAcquires();
        assertTrue(pooled <= BOUND, () -> pooled + " pending acquires");
        int left = client.engine().engine().queueCapacity();
        // A pool of one bound, and two tables of four.
        assertTrue(left <= 9 * BOUND, () -> left + " queues and buckets");
    }

    /** A load that varies within a second allocates nothing. */
    @Test
    void claimsInRegularUseStayInThePool() {
        client = world(1);
        lockAll(2_500);
        int pooled = client.engine().pooledClaims();
        assertTrue(pooled >= 2_500, pooled + " claims in the pool");
        for (int second = 0; second < 6; second++) {
            lockAll(2_500);
            world.runMs(1_000);
        }
        assertEquals(pooled, client.engine().pooledClaims());
    }
}
