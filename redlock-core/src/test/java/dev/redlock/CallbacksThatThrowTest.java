package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What users hand in runs on the event loop; whatever it throws or returns, the client does its work. */
class CallbacksThatThrowTest extends VirtualTest {

    private static RuntimeException bug() {
        return new IllegalStateException("a bug in a callback, thrown by a test");
    }

    private void assertTheClientGoesOn(final VirtualWorld.Client client) {
        world.runMs(5);
        assertEquals(0, keyCount(), "nothing is left behind");
        assertEquals(ReleaseOutcome.RELEASED, release(lease(client)), "the next one");
    }

    @Test
    void anAcquireCallback() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = client.redlock().newLease();
        quietly(() -> {
            client.redlock().acquire(client.redlock().key("orders"), options(), lease, outcome -> {
                throw bug();
            });
            world.runMs(1);
        });
        assertTrue(lease.isHeld(), "the lock is held all the same");
        release(lease);
        assertTheClientGoesOn(client);
    }

    @Test
    void anAcquireCallbackOfAnAcquisitionThatFailsAtOnce() {
        world = new VirtualWorld(3);
        final VirtualWorld.Client client = client(context().autoExtendedLeasesMax(0));
        final Lease lease = client.redlock().newLease();
        quietly(() -> {
            client.redlock().acquire(client.redlock().key("orders"), options().autoExtend(), lease, outcome -> {
                throw new AssertionError("an error, thrown by a test");
            });
            world.runMs(1);
        });
        assertEquals(LeaseState.NOT_ACQUIRED, lease.state(), "overloaded");
        assertTheClientGoesOn(client);
    }

    @Test
    void aReleaseCallback() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        quietly(() -> {
            lease.release((released, outcome) -> {
                throw bug();
            });
            world.runMs(1);
        });
        assertEquals(LeaseState.RELEASED, lease.state(), "released all the same");
        assertTheClientGoesOn(client);
    }

    @Test
    void anExtendCallback() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        quietly(() -> {
            lease.extend(20_000, (extended, outcome) -> {
                throw bug();
            });
            world.runMs(1);
        });
        assertTrue(lease.remainingValidityNs() > 10_000_000_000L, "extended all the same: " + lease);
        world.runMs(20_000);
        assertEquals(LeaseState.EXPIRED, lease.state(), "and its end is watched");
        assertTheClientGoesOn(client);
    }

    @Test
    void aListener() {
        final VirtualWorld.Client client = world(3);
        final LeaseListener listener = new LeaseListener() {
            @Override
            public void onLost(final Lease lease, final LeaseState state) {
                throw bug();
            }

            @Override
            public void onExtended(final Lease lease, final int extensionCount) {
                throw bug();
            }
        };
        final Lease lease = acquired(acquire(client, options().autoExtend(2, Duration.ofHours(1)).listener(listener)));
        final CompletableFuture<AcquireOutcome> waiting = begin(client, options().waitUpTo(Duration.ofMinutes(1)));
        quietly(() -> world.runMs(18_000));
        assertEquals(2, client.redlock().counters().extendedCount(), "extended as often as it may be");
        assertEquals(LeaseState.EXPIRED, lease.state(), "then over");
        release(acquired(get(waiting)));
        assertTheClientGoesOn(client);
    }

    /** Delays that cannot be: less than nothing is nothing, more than the budget is the budget. */
    @ParameterizedTest
    @CsvSource({"-1, ACQUIRED", "-9223372036854775808, ACQUIRED", "0, ACQUIRED", "9223372036854775807, TIMED_OUT"})
    void aRetryPolicyThatReturnsNonsense(final long delayNs, final AcquireOutcome.Kind kind) {
        final VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().set("orders", "foreign", 20));
        eachNode(node -> node.delay(() -> 1_000_000));
        final AcquireOutcome outcome = acquire(client, options().waitUpTo(Duration.ofMillis(500))
                .retryPolicy((attempts, reason, ttl, random) -> delayNs));
        assertEquals(kind, outcome.kind(), outcome::toString);
        eachNode(node -> node.redis().delete("orders"));
        assertTheClientGoesOn(client);
    }
}
