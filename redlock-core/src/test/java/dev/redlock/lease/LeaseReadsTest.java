package dev.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.TestEngine;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** A thread reads a lease while it changes: during a send, and between the reads of two fields. */
class LeaseReadsTest extends VirtualTest {

    private static final long MS = 1_000_000;

    /** Each release is written immediately here, so another client could acquire before the call returns. */
    @Test
    void aLeaseIsNotHeldWhileItsReleaseIsBeingSent() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().releaseBatchMax(1));
        Lease lease = lease(client);
        world.runMs(1);
        List<LeaseState> seen = new ArrayList<>();
        client.transport().sendListener(() -> {
            seen.add(lease.state());
            assertFalse(lease.isHeld(), "its release is in flight");
        });
        CompletableFuture<ReleaseOutcome> released = lease.releaseAsync().toCompletableFuture();
        assertEquals(LeaseState.RELEASING, seen.get(0), "during the send to the first node");
        assertEquals(ReleaseOutcome.RELEASED, get(released), "outcome");
    }

    /** The same for a lost lease, whose remaining keys are released. */
    @Test
    void aLostLeaseIsNotHeldWhileItsReleaseIsBeingSent() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().releaseBatchMax(1));
        Lease lease = lease(client);
        world.runMs(1);
        eachNode(node -> node.redis().delete("orders"));
        CompletableFuture<ExtendOutcome> extended = lease.extendAsync(TTL).toCompletableFuture();
        // The flush of the extension has to be complete.
        boolean[] isAnswered = {false};
        node(1).redis().listener((name, command, reply) -> isAnswered[0] = true);
        List<Boolean> seen = new ArrayList<>();
        client.transport().sendListener(() -> {
            if (isAnswered[0]) {
                seen.add(lease.isHeld());
            }
        });
        assertEquals(ExtendOutcome.LOST, get(extended), "lost");
        assertEquals(List.of(false), seen.stream().distinct().toList(), "isHeld() during the send of the release");
    }

    /** Runs a task once while a thread that reads the validity reads the clock. */
    private <T> T inTheMiddleOf(VirtualWorld.Client client, Supplier<T> question, Runnable task) {
        boolean[] isOver = {false};
        client.clockListener(() -> {
            if (!isOver[0]) {
                isOver[0] = true;
                task.run();
            }
        });
        T answer = question.get();
        assertTrue(isOver[0], "the clock was read");
        return answer;
    }

    private Lease reusable(VirtualWorld.Client client, Lease lease, long ttlMs) {
        client.redlock()
                .acquire(client.redlock().key("orders"), AcquireOptions.ofTtl(Duration.ofMillis(ttlMs)).tryOnce(),
                        lease,
                        outcome -> assertTrue(outcome.isAcquired(), outcome::toString));
        world.settle();
        return lease;
    }

    @Test
    void aLeaseThatIsReleasedDuringIsHeldIsNotHeld() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        assertFalse(inTheMiddleOf(client, lease::isHeld, lease::releaseAsync), "the state is written last");
        world.settle();
    }

    @Test
    void aLeaseThatIsLostDuringIsHeldIsNotHeld() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        eachNode(node -> node.redis().delete("orders"));
        assertFalse(inTheMiddleOf(client, lease::isHeld, () -> get(lease.extendAsync(TTL))),
                "the state is written last");
        assertEquals(LeaseState.LOST, lease.state(), "lost");
    }

    /** Between the two reads, the handle may be released and reused for a lock with a shorter validity. */
    @Test
    void aReusedLeaseNeverReportsThePreviousValidity() {
        VirtualWorld.Client client = world(3);
        Lease lease = reusable(client, client.redlock().newLease(), 10_000);
        long remainingNs = inTheMiddleOf(client, lease::remainingValidityNs, () -> {
            assertEquals(ReleaseOutcome.RELEASED, release(lease), "the long validity");
            reusable(client, lease, 500);
        });
        assertTrue(lease.isHeld(), "the short validity");
        assertTrue(remainingNs <= 500 * MS, "half a second, but it was " + remainingNs);
    }

    /** The end of the validity is read before the state, so it must be cleared before the state is HELD again. */
    @Test
    void aReusedLeaseHasNoValidityWhileItIsBeingAcquired() {
        VirtualWorld.Client client = world(3);
        Lease lease = reusable(client, client.redlock().newLease(), 10_000);
        assertTrue(TestEngine.validUntilNs(lease) - world.nowNs() > 9_000 * MS, "the first one's");
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "the first one");
        eachNode(node -> node.delay(() -> MS));
        client.redlock().acquire(client.redlock().key("orders"), options(), lease, outcome -> {
        });
        assertEquals(LeaseState.ACQUIRING, lease.state(), "the second one");
        assertTrue(TestEngine.validUntilNs(lease) - world.nowNs() <= 0, "it is not valid for any time yet");
    }
}
