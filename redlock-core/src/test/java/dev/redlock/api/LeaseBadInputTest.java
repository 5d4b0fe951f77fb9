package dev.redlock.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.TestClient;
import dev.redlock.testing.Refusal;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Calls on a {@link Lease} that is not held, in each state that needs no node. */
class LeaseBadInputTest {

    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(10)).tryOnce();

    private final Redlock redlock = TestClient.unreachable();
    private final Lease lease = redlock.newLease();

    @AfterEach
    void close() {
        redlock.close();
    }

    private AcquireOutcome.Kind acquire(AcquireOptions options) {
        CompletableFuture<AcquireOutcome.Kind> received = new CompletableFuture<>();
        redlock.acquire(redlock.key("r"), options, lease, outcome -> received.complete(outcome.kind()));
        return received.orTimeout(60, TimeUnit.SECONDS).join();
    }

    @Test
    void anIdleLeaseHoldsNothing() {
        assertEquals(LeaseState.IDLE, lease.state());
        assertFalse(lease.isHeld());
        assertEquals(0, lease.remainingValidityNs());
        assertEquals(Duration.ZERO, lease.remainingValidity());
        assertNull(lease.resource());
        assertEquals(List.of(), lease.resources());
        assertEquals("Lease{null, IDLE}", lease.toString());
        lease.close();
        lease.close();
        assertEquals(ReleaseOutcome.EXPIRED, lease.release());
    }

    @Test
    void anIdleLeaseCannotBeReleasedOrExtended() {
        String nothing = "this lease was never used for an acquisition: there is nothing to ";
        Refusal.ofState(nothing + "release", () -> lease.release((released, outcome) -> {
        }));
        Refusal.ofState(nothing + "release", () -> lease.releaseAsync());
        Refusal.ofState(nothing + "extend", () -> lease.extend(Duration.ofSeconds(1)));
        Refusal.ofState(nothing + "extend", () -> lease.extendAsync(Duration.ofSeconds(1)));
        Refusal.ofState(nothing + "extend", () -> lease.extend(1_000, (extended, outcome) -> {
        }));
        assertEquals(LeaseState.IDLE, lease.state());
    }

    @Test
    void anIdleLeaseHasNoFencingToken() {
        Refusal.ofState("\"null\" was not acquired, it has no fencing token: Lease{null, IDLE}", lease::fencingToken);
    }

    @Test
    void nullAndTtlsOutOfRangeAreRejected() {
        acquire(OPTIONS);
        Refusal.ofNull("release callback is null", () -> lease.release(null));
        Refusal.ofNull("extend callback is null", () -> lease.extend(1_000, null));
        Refusal.ofNull("ttl is null: give a duration", () -> lease.extend(null));
        Refusal.ofNull("ttl is null: give a duration", () -> lease.extendAsync(null));
        Refusal.ofArgument("ttl PT0S is too short: at least 1 ms is needed", () -> lease.extend(Duration.ZERO));
        Refusal.ofArgument("ttl 60001 ms is longer than maxTtl 60000 ms: ask for less, or raise RedlockContext.maxTtl",
                () -> lease.extend(Duration.ofMillis(60_001)));
        Refusal.ofArgument("ttl 2 ms is too short: it must be above its clock allowance of 24020 us plus the minimum"
                + " validity of 0 us; ask for more, or lower RedlockContext.clockSampleInterval, drift or the"
                + " minimum validity", () -> lease.extend(2, (extended, outcome) -> {
                }));
        Refusal.ofArgument("ttl -1 ms is too short: it must be above its clock allowance of 24000 us plus the minimum"
                + " validity of 0 us; ask for more, or lower RedlockContext.clockSampleInterval, drift or the"
                + " minimum validity", () -> lease.extend(-1, (extended, outcome) -> {
                }));
    }

    @Test
    void aLeaseThatWasNotAcquiredHasNoTokenAndNoValidity() throws Exception {
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(OPTIONS));
        assertEquals(LeaseState.NOT_ACQUIRED, lease.state());
        assertEquals(ReleaseOutcome.EXPIRED, lease.release());
        assertEquals(ReleaseOutcome.EXPIRED,
                lease.releaseAsync().toCompletableFuture().get(60, TimeUnit.SECONDS));
        assertEquals(ExtendOutcome.NOT_HELD, lease.extend(Duration.ofSeconds(1)));
        assertEquals(ExtendOutcome.NOT_HELD,
                lease.extendAsync(Duration.ofSeconds(1)).toCompletableFuture().get(60, TimeUnit.SECONDS));
        lease.close();
        assertEquals(LeaseState.NOT_ACQUIRED, lease.state(), "the calls have not changed it");
        assertTrue(lease.state().isFinal());
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(OPTIONS), "it is reusable");
    }

    /** The lease waits for an impossible quorum, so it stays in this state. */
    @Test
    void aLeaseThatIsBeingAcquiredIsInUse() throws Exception {
        CompletableFuture<AcquireOutcome.Kind> received = new CompletableFuture<>();
        redlock.acquire(redlock.key("r"), OPTIONS.waitUpTo(Duration.ofHours(1)), lease,
                outcome -> received.complete(outcome.kind()));
        assertEquals(LeaseState.ACQUIRING, lease.state());
        String first = "lease of \"r\" is being acquired: wait for the outcome first";
        Refusal.ofState(first, () -> lease.release());
        Refusal.ofState(first, () -> lease.releaseAsync());
        Refusal.ofState(first, () -> lease.extend(Duration.ofSeconds(1)));
        Refusal.ofState(first, () -> lease.extendAsync(Duration.ofSeconds(1)));
        Refusal.ofState(
                "lease of \"r\" is in use, its state is ACQUIRING: release it and wait for the outcome before it"
                        + " is used again",
                () -> redlock.acquire(redlock.key("other"), OPTIONS, lease, outcome -> {
                }));
        assertFalse(lease.isHeld());
        lease.close();
        assertEquals(AcquireOutcome.Kind.CANCELLED, received.get(60, TimeUnit.SECONDS));
        assertEquals(LeaseState.NOT_ACQUIRED, lease.state());
    }

    @Test
    void aWaitBudgetThatEndsIsTimedOutWithItsReason() {
        CompletableFuture<String> received = new CompletableFuture<>();
        redlock.acquire(redlock.key("r"), OPTIONS.waitUpTo(Duration.ofMillis(20)), lease,
                outcome -> received.complete(outcome.kind() + " after " + outcome.lastReason()));
        assertEquals("TIMED_OUT after NO_QUORUM", received.orTimeout(60, TimeUnit.SECONDS).join());
    }

    @Test
    void noCallHangsAfterTheClientHasClosed() throws Exception {
        CompletableFuture<AcquireOutcome> received = new CompletableFuture<>();
        redlock.acquire(redlock.key("r"), OPTIONS, lease, received::complete);
        AcquireOutcome outcome = received.get(60, TimeUnit.SECONDS);
        redlock.close();
        assertEquals(ExtendOutcome.NOT_HELD, lease.extend(Duration.ofSeconds(1)));
        assertEquals(ReleaseOutcome.EXPIRED, lease.release());
        ReleaseOutcome released = lease.releaseAsync().toCompletableFuture().get(60, TimeUnit.SECONDS);
        assertTrue(released == ReleaseOutcome.EXPIRED || released == ReleaseOutcome.UNKNOWN, released::name);
        assertEquals(ExtendOutcome.NOT_HELD, lease.extend(Duration.ofSeconds(1)));
        lease.close();
        assertEquals(LeaseState.NOT_ACQUIRED, lease.state(), "the calls have not changed it");
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), "nor the outcome of the acquisition");
        assertEquals(AcquireOutcome.Kind.CLOSED, acquire(OPTIONS), "it is still reusable");
        assertEquals(ReleaseOutcome.EXPIRED, lease.release(), "nothing was released before");
    }

    @Test
    void aCallbackThatThrowsStopsNothing() {
        redlock.acquire(redlock.key("r"), OPTIONS, redlock.newLease(), outcome -> {
            throw new IllegalStateException("thrown by a test, on purpose");
        });
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(OPTIONS));
    }
}
