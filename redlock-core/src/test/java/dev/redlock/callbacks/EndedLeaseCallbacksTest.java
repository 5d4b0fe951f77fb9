package dev.redlock.callbacks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Refusal;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** On the event loop, a call on an ended lease runs immediately; its callback runs after the call. */
class EndedLeaseCallbacksTest extends VirtualTest {

    private VirtualWorld.Client client;
    private final List<String> received = new ArrayList<>();

    private void assertCallbacksRunAfterTheCalls(Lease lease, String release, String extension) {
        lease.release((released, outcome) -> received.add("release " + outcome));
        lease.extend(10_000, (extended, outcome) -> received.add("extend " + outcome));
        assertEquals(List.of(), received, "inside the calls");
        world.settle();
        received.sort(null);
        assertEquals(List.of("extend " + extension, "release " + release), received);
        received.clear();
    }

    @Test
    void callbacksOfAReleasedLeaseRunOnceAfterTheCall() {
        client = world(3);
        Lease lease = lease(client);
        release(lease);
        assertCallbacksRunAfterTheCalls(lease, "RELEASED", "NOT_HELD");
        assertCallbacksRunAfterTheCalls(lease, "RELEASED", "NOT_HELD");
    }

    @Test
    void callbacksOfAnExpiredLeaseRunOnceAfterTheCall() {
        client = world(3);
        Lease lease = lease(client);
        world.runMs(11_000);
        assertCallbacksRunAfterTheCalls(lease, "EXPIRED", "EXPIRED");
    }

    @Test
    void callbacksOfALeaseThatWasNotAcquiredRunOnceAfterTheCall() {
        client = world(3);
        eachNode(node -> node.redis().set("orders", "foreign", 60_000));
        Lease lease = client.redlock().newLease();
        client.redlock().acquire(client.redlock().key("orders"), options(), lease, outcome -> {
        });
        world.runMs(10);
        assertEquals(LeaseState.NOT_ACQUIRED, lease.state());
        assertCallbacksRunAfterTheCalls(lease, "EXPIRED", "NOT_HELD");
    }

    @Test
    void callbacksOfALeaseOfAClosedClientRunOnceAfterTheCall() {
        client = world(3);
        Lease lease = lease(client);
        client.engine().close(Duration.ofSeconds(1));
        world.runMs(10);
        assertCallbacksRunAfterTheCalls(lease, "RELEASED", "NOT_HELD");
    }

    /** The validity has just ended, and the hold timer has not fired yet. */
    @Test
    void callbacksOfALeaseThatTheCallFindsExpiredRunOnceAfterTheCall() {
        client = world(3);
        Lease lease = lease(client);
        world.pass(TTL.toNanos());
        lease.extend(10_000, (extended, outcome) -> received.add("extend " + outcome));
        assertEquals(List.of(), received, "inside the call");
        world.settle();
        assertEquals(List.of("extend EXPIRED"), received);
    }

    /** The lease is not reusable before the callback, so a callback always belongs to the current use. */
    @Test
    void aLeaseIsInUseUntilItsCallbackRuns() {
        client = world(3);
        Lease lease = lease(client);
        release(lease);
        lease.release((released, outcome) -> received.add("release " + outcome));
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
