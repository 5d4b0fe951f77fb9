package dev.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The transition table of {@link LeaseState}, row by row. */
class LeaseStateTest extends VirtualTest {

    private VirtualWorld.Client client;
    private Lease lease;
    private final List<AcquireOutcome.Kind> outcomes = new ArrayList<>();

    @BeforeEach
    void newLease() {
        client = world(3);
        eachNode(node -> node.delay(() -> 1_000_000));
        lease = client.redlock().newLease();
    }

    private void acquireAsync() {
        client.redlock()
                .acquire(client.redlock().key("orders"), options(), lease,
                        outcome -> outcomes.add(outcome.kind()));
    }

    private void acquired() {
        acquireAsync();
        world.runMs(3);
        assertEquals(LeaseState.HELD, lease.state(), "held");
    }

    @Test
    void idleAcquireAcquiring() {
        assertEquals(LeaseState.IDLE, lease.state(), "before");
        acquireAsync();
        assertEquals(LeaseState.ACQUIRING, lease.state(), "after");
        assertThrows(IllegalStateException.class, this::acquireAsync, "a lease makes one acquisition at a time");
        assertThrows(IllegalStateException.class, () -> lease.releaseAsync(), "nothing to release yet");
        assertThrows(IllegalStateException.class, () -> lease.extendAsync(TTL), "nothing to extend yet");
    }

    @Test
    void acquiringQuorumHeld() {
        acquired();
        assertTrue(lease.isHeld(), "held");
        assertEquals(List.of(AcquireOutcome.Kind.ACQUIRED), outcomes, "one outcome");
    }

    @Test
    void acquiringOtherOutcomeNotAcquired() {
        eachNode(node -> node.redis().set("orders", "foreign", -1));
        acquireAsync();
        world.runMs(6);
        assertEquals(LeaseState.NOT_ACQUIRED, lease.state(), "contended");
        assertEquals(List.of(AcquireOutcome.Kind.CONTENDED), outcomes, "one outcome");
    }

    @Test
    void acquiringCloseNotAcquired() {
        acquireAsync();
        lease.close();
        world.runMs(3);
        assertEquals(LeaseState.NOT_ACQUIRED, lease.state(), "cancelled");
        assertEquals(List.of(AcquireOutcome.Kind.CANCELLED), outcomes, "one outcome");
    }

    @Test
    void heldExtensionSucceededHeld() {
        acquired();
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "extended");
        assertEquals(LeaseState.HELD, lease.state(), "after");
    }

    @Test
    void heldExtensionFailedWithoutLossHeld() {
        acquired();
        node(0).pause();
        node(1).pause();
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL), "not extended");
        assertEquals(LeaseState.HELD, lease.state(), "after");
    }

    @Test
    void heldReleaseReleasingReleased() {
        acquired();
        CompletableFuture<ReleaseOutcome> released = lease.releaseAsync().toCompletableFuture();
        assertEquals(LeaseState.RELEASING, lease.state(), "in progress");
        assertFalse(lease.isHeld(), "not held");
        assertEquals(ReleaseOutcome.RELEASED, get(released), "outcome");
        assertEquals(LeaseState.RELEASED, lease.state(), "after");
    }

    @Test
    void heldCloseReleased() {
        acquired();
        lease.close();
        assertEquals(LeaseState.RELEASING, lease.state(), "on the loop it does not wait");
        lease.close();
        world.runMs(3);
        assertEquals(LeaseState.RELEASED, lease.state(), "after");
    }

    @Test
    void heldClientClosesReleased() {
        acquired();
        CompletableFuture<CloseReport> report = client.engine().close(Duration.ofSeconds(1));
        world.runMs(10);
        assertEquals(new CloseReport(1, List.of()), report.join(), "report");
        assertEquals(LeaseState.RELEASED, lease.state(), "after");
    }

    @Test
    void heldValidityEndedExpired() {
        acquired();
        world.runMs(10_000);
        assertEquals(LeaseState.EXPIRED, lease.state(), "after");
    }

    @Test
    void heldQuorumGoneLost() {
        acquired();
        eachNode(node -> node.redis().delete("orders"));
        assertEquals(ExtendOutcome.LOST, extend(lease, TTL), "lost");
        assertEquals(LeaseState.LOST, lease.state(), "after");
    }

    @Test
    void releasingUndecidedReleased() {
        acquired();
        eachNode(node -> node.pause());
        assertEquals(ReleaseOutcome.UNKNOWN, release(lease), "no node replies");
        assertEquals(LeaseState.RELEASED, lease.state(), "released, whatever its outcome");
    }

    /** A reused lease keeps no state of its previous acquisition. */
    @Test
    void aReusedLeaseStartsWithoutOldState() {
        world.end();
        world = new VirtualWorld(3);
        client = client(context().autoExtendedLeasesMax(0));
        lease = client.redlock().newLease();
        acquired();
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "the first time");
        eachNode(node -> node.redis().set("orders", "foreign", 60_000));
        acquireAsync();
        world.runMs(3);
        assertEquals(ReleaseOutcome.EXPIRED, release(lease), "there is nothing to release the second time");
        AcquireOutcome[] received = new AcquireOutcome[1];
        client.redlock()
                .acquire(client.redlock().key("orders"), options().autoExtend(), lease,
                        outcome -> received[0] = outcome);
        world.runMs(3);
        assertEquals(
                "AcquireOutcome{orders, NOT_ACQUIRED, outcome OVERLOADED, attempts 0, votes 0 granted 0 refused 0"
                        + " failed"
                        + " 0 unknown}",
                received[0].toString(), "the third acquisition sent nothing, so no node has voted");
    }

    /** Replies and timers of an ended lease do not change its state. */
    @Test
    void releasedLongAgoReleased() {
        acquired();
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "released");
        world.runMs(30_000);
        assertEquals(LeaseState.RELEASED, lease.state(), "after what would have been the end of its validity");
        assertEquals(0, client.redlock().counters().expiredCount(), "it did not expire");
    }

    @Test
    void finalStatesStay() {
        for (LeaseState expected : List.of(LeaseState.NOT_ACQUIRED, LeaseState.RELEASED, LeaseState.EXPIRED,
                LeaseState.LOST)) {
            end(expected);
            assertEquals(expected, lease.state(), "reached");
            release(lease);
            lease.close();
            boolean wasTaken = expected == LeaseState.EXPIRED || expected == LeaseState.LOST;
            assertEquals(wasTaken ? ExtendOutcome.EXPIRED : ExtendOutcome.NOT_HELD, extend(lease, TTL),
                    "extend of one that is " + expected);
            assertEquals(expected, lease.state(), "no change");
        }
    }

    /** Acquires the same lease again, from any final state. */
    private void end(LeaseState state) {
        eachNode(node -> node.redis().delete("orders"));
        if (state == LeaseState.NOT_ACQUIRED) {
            eachNode(node -> node.redis().set("orders", "foreign", -1));
            acquireAsync();
            world.runMs(6);
            return;
        }
        acquired();
        switch (state) {
            case RELEASED -> release(lease);
            case EXPIRED -> world.runMs(10_000);
            default -> {
                eachNode(node -> node.redis().delete("orders"));
                extend(lease, TTL);
            }
        }
    }

    /** The event loop of a process that was stopped ends the lease later than its validity. */
    @Test
    void theStateShowsTheEndOfTheValidityBeforeTheEventLoopDoes() {
        acquired();
        client.pause();
        world.runMs(validityMs(TTL.toMillis()) - 10);
        assertEquals(LeaseState.HELD, lease.state());
        assertTrue(lease.isHeld());
        world.runMs(10);
        assertEquals(LeaseState.EXPIRED, lease.state());
        assertFalse(lease.isHeld());
        assertTrue(lease.toString().contains("EXPIRED"), lease::toString);
        client.resume();
        world.runMs(1);
        assertEquals(LeaseState.EXPIRED, lease.state());
        assertEquals(1, client.redlock().counters().expiredCount());
    }
}
