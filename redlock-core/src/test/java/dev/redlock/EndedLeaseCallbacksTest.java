package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** On the event loop a call on a lease that has ended is carried out at once; its callback comes behind it. */
class EndedLeaseCallbacksTest extends VirtualTest {

    private VirtualWorld.Client client;
    private final List<String> told = new ArrayList<>();

    private void assertToldBehindTheCalls(final Lease lease, final String release, final String extension) {
        lease.release((released, outcome) -> told.add("release " + outcome));
        lease.extend(10_000, (extended, outcome) -> told.add("extend " + outcome));
        assertEquals(List.of(), told, "inside of the calls");
        world.settle();
        told.sort(null);
        assertEquals(List.of("extend " + extension, "release " + release), told);
        told.clear();
    }

    @Test
    void aLeaseThatIsReleased() {
        client = world(3);
        final Lease lease = lease(client);
        release(lease);
        assertToldBehindTheCalls(lease, "RELEASED", "NOT_HELD");
        assertToldBehindTheCalls(lease, "RELEASED", "NOT_HELD");
    }

    @Test
    void aLeaseThatHasExpired() {
        client = world(3);
        final Lease lease = lease(client);
        world.runMs(11_000);
        assertToldBehindTheCalls(lease, "EXPIRED", "EXPIRED");
    }

    @Test
    void aLeaseThatWasNotAcquired() {
        client = world(3);
        eachNode(node -> node.redis().set("orders", "foreign", 60_000));
        final Lease lease = client.redlock().newLease();
        client.redlock().acquire(client.redlock().key("orders"), options(), lease, outcome -> {
        });
        world.runMs(10);
        assertEquals(LeaseState.NOT_ACQUIRED, lease.state());
        assertToldBehindTheCalls(lease, "EXPIRED", "NOT_HELD");
    }

    @Test
    void aLeaseOfAClientThatIsClosed() {
        client = world(3);
        final Lease lease = lease(client);
        client.engine().close(Duration.ofSeconds(1));
        world.runMs(10);
        assertToldBehindTheCalls(lease, "RELEASED", "NOT_HELD");
    }

    /** Its validity has just ended, and the timer that would notice has not been called yet. */
    @Test
    void aLeaseWhoseEndIsNoticedByTheCall() {
        client = world(3);
        final Lease lease = lease(client);
        world.pass(TTL.toNanos());
        lease.extend(10_000, (extended, outcome) -> told.add("extend " + outcome));
        assertEquals(List.of(), told, "inside of the call");
        world.settle();
        assertEquals(List.of("extend EXPIRED"), told);
    }

    /** Until it is told, the lease cannot be used again, so its callback cannot be about another use. */
    @Test
    void aLeaseIsInUseUntilItsCallbackIsTold() {
        client = world(3);
        final Lease lease = lease(client);
        release(lease);
        lease.release((released, outcome) -> told.add("release " + outcome));
        Refusal.ofState("lease of \"orders\" is in use, its state is RELEASED"
                + ": release it and wait for the outcome before it is used again",
                () -> client.redlock().acquire(client.redlock().key("orders"), options(), lease, outcome -> {
                }));
        world.settle();
        client.redlock().acquire(client.redlock().key("orders"), options(), lease, outcome -> {
        });
        world.settle();
        assertTrue(lease.isHeld());
    }
}
