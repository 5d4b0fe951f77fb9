package dev.redlock.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Await;
import dev.redlock.testing.BlockedCall;
import dev.redlock.testing.Refusal;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Calls on a {@link Lease} that is or was held; {@link LeaseBadInputTest} has the states that need no node. */
class LeaseWrongUseTest extends VirtualTest {

    private VirtualWorld.Client client;
    private Lease lease;

    @BeforeEach
    void hold() {
        client = world(3);
        lease = lease(client);
        eachNode(node -> node.delay(() -> 1_000_000));
    }

    private void refusedAsInUse(LeaseState state) {
        Refusal.ofState("lease of \"orders\" is in use, its state is " + state
                + ": release it and wait for the outcome before it is used again",
                () -> client.redlock()
                        .acquire(client.redlock().key("other"), options(), lease, outcome -> {
                        }));
    }

    @Test
    void aHeldLeaseIsInUse() {
        refusedAsInUse(LeaseState.HELD);
        assertTrue(lease.isHeld(), "it stays what it was");
        assertEquals("orders", lease.resource());
    }

    /** Its state is final by the clock, while the event loop still has to end it. */
    @Test
    void aLeaseThatHasExpiredCanBeUsedAgain() throws InterruptedException {
        client.pause();
        world.runMs(TTL.toMillis());
        assertEquals(LeaseState.EXPIRED, lease.state());
        CompletableFuture<AcquireOutcome> outcome = new CompletableFuture<>();
        Runnable acquisition = () -> client.redlock()
                .acquire(client.redlock().key("other"), options(), lease, outcome::complete);
        Refusal.ofState("lease of \"orders\" has expired, and the event loop is about to end it: use it again in a"
                + " later task of the loop", acquisition::run);
        BlockedCall<Void> acquiring = new BlockedCall<>(() -> {
            acquisition.run();
            return null;
        });
        acquiring.awaitBlocked(Thread.State.TIMED_WAITING);
        client.resume();
        Await.until("acquired", () -> {
            world.runMs(1);
            return acquiring.isDone() && outcome.isDone();
        });
        acquiring.result();
        assertTrue(outcome.join().isAcquired());
        assertEquals("other", lease.resource());
    }

    @Test
    void aLeaseOfAnotherClientIsRejected() {
        VirtualWorld.Client other = client();
        IllegalArgumentException thrown = assertThrows(IllegalArgumentException.class,
                () -> other.redlock()
                        .acquire(other.redlock().key("other"), options(), client.redlock().newLease(),
                                outcome -> {
                                }));
        assertTrue(thrown.getMessage().contains("newLease()"), thrown.getMessage());
    }

    @Test
    void aLeaseThatIsBeingReleasedIsInUse() {
        lease.close();
        refusedAsInUse(LeaseState.RELEASING);
        assertEquals(ExtendOutcome.NOT_HELD, extend(lease, TTL), "nothing to extend");
    }

    @Test
    void aSecondReleaseWithACallbackIsRejectedUntilTheFirstCompletes() {
        CompletableFuture<ReleaseOutcome> first = lease.releaseAsync().toCompletableFuture();
        String message = "a release of \"orders\" with a callback is in progress: wait for its outcome";
        Refusal.ofState(message, () -> lease.releaseAsync());
        Refusal.ofState(message, () -> lease.release((released, outcome) -> {
        }));
        assertEquals(ReleaseOutcome.RELEASED, get(first), "the first one is not affected");
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "and then a second release returns its outcome");
    }

    @Test
    void aSecondExtensionIsRejectedUntilTheFirstCompletes() {
        CompletableFuture<ExtendOutcome> first = lease.extendAsync(TTL).toCompletableFuture();
        String message = "an extension of \"orders\" is in progress: wait for its outcome";
        Refusal.ofState(message, () -> lease.extendAsync(TTL));
        Refusal.ofState(message, () -> lease.extend(10_000, (extended, outcome) -> {
        }));
        assertEquals(ExtendOutcome.EXTENDED, get(first), "the first one is not affected");
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "the next one");
    }

    @Test
    void aTtlOutOfRangeLeavesTheLeaseUnchanged() {
        Refusal.ofArgument("ttl 60001 ms is longer than maxTtl 60000 ms: ask for less, or raise RedlockContext.maxTtl",
                () -> lease.extendAsync(Duration.ofMillis(60_001)));
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, Duration.ofMillis(60_000)), "no extension is in progress");
    }

    @Test
    void blockingCallsOnTheEventLoopThrowAndStartNothing() {
        Refusal.ofState("blocking call release() on the client's event loop, which must not block: use"
                + " release(callback) or releaseAsync() there", () -> lease.release());
        Refusal.ofState("blocking call extend(ttl) on the client's event loop, which must not block: use"
                + " extend(ttlMs, callback) or extendAsync(ttl) there", () -> lease.extend(TTL));
        assertTrue(lease.isHeld(), "still held");
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "no extension is in progress");
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "and no release is in progress");
    }

    @Test
    void aPlainLeaseHasNoFencingToken() {
        String message = "the lease of \"orders\" is not fenced: acquire it with AcquireOptions.fenced() to get a"
                + " fencing token";
        Refusal.ofState(message, lease::fencingToken);
        release(lease);
        Refusal.ofState(message, lease::fencingToken);
    }

    @Test
    void aFencingTokenIsReadableAfterTheRelease() {
        release(lease);
        Lease fenced = acquired(acquire(client, options().fenced()));
        long token = fenced.fencingToken();
        assertTrue(token > 0);
        release(fenced);
        assertEquals(token, fenced.fencingToken(), "after the release");
    }

    @Test
    void callsAfterTheClientHasClosedReportClosed() {
        CompletableFuture<CloseReport> report = client.engine().close(Duration.ofSeconds(1));
        world.await("closed", 2_000, report::isDone);
        assertEquals(LeaseState.RELEASED, lease.state(), "close has released it");
        assertFalse(lease.isHeld());
        assertEquals(ExtendOutcome.NOT_HELD, extend(lease, TTL));
        lease.close();
        assertEquals(LeaseState.RELEASED, lease.state());
    }
}
