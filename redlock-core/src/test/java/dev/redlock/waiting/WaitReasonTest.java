package dev.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The reason, the votes and the text of an acquisition that ends behind others of its client. */
class WaitReasonTest extends VirtualTest {

    private static final Duration LONG = Duration.ofSeconds(60);
    private static final Duration SHORT = Duration.ofMillis(200);
    private static final String HELD = "another lease of this client has the lock: release it earlier, or wait longer";

    private VirtualWorld.Client client;

    /** Kinds of locks of which one client queues several acquisitions. */
    enum Kind {
        PLAIN(options -> options), FENCED(AcquireOptions::fenced), WRITER(AcquireOptions::forWriting), READER(
                AcquireOptions::forReading), PERMIT(options -> options.forPermitOf(2)), RETAINED(
                        options -> options.retain(TTL)), SET(options -> options);

        private final UnaryOperator<AcquireOptions> change;

        Kind(UnaryOperator<AcquireOptions> change) {
            this.change = change;
        }
    }

    private CompletableFuture<AcquireOutcome> start(VirtualWorld.Client by, Kind kind, AcquireOptions options) {
        AcquireOptions changed = kind.change.apply(options);
        return kind == Kind.SET
                ? by.redlock().acquireAllAsync(List.of("orders", "stock"), changed).toCompletableFuture()
                : acquireAsync(by, changed);
    }

    /** Another client has each key that could be granted. */
    private void holdByAnother(Kind kind) {
        VirtualWorld.Client other = client();
        Kind held = kind == Kind.READER ? Kind.WRITER : kind;
        for (int i = 0; i < (kind == Kind.PERMIT ? 2 : 1); i++) {
            acquired(get(start(other, held, AcquireOptions.ofTtl(LONG).tryOnce())));
        }
    }

    private List<CompletableFuture<AcquireOutcome>> waiters(Kind kind, Duration... budgets) {
        List<CompletableFuture<AcquireOutcome>> waiters = new ArrayList<>();
        for (Duration budget : budgets) {
            waiters.add(start(client, kind, options().waitUpTo(budget)));
            world.runMs(5);
        }
        return waiters;
    }

    private static void assertTimedOut(AcquireOutcome.Kind reason, String advice, AcquireOutcome outcome) {
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, outcome.kind(), outcome::toString);
        assertEquals(reason, outcome.lastReason(), outcome::toString);
        assertEquals(advice, outcome.advice(), outcome::toString);
    }

    // ---- timeouts ---------------------------------------------------------------------------------------------------

    /** The first two end after the others, so these end in the queue. */
    @ParameterizedTest
    @EnumSource
    void aWaiterBehindOthersHasTheReasonOfTheFirst(Kind kind) {
        client = world(3);
        holdByAnother(kind);
        AcquireOutcome last = get(waiters(kind, LONG, LONG, LONG, SHORT).get(3));
        String holder = "another holder has the lock: wait longer, or retry after shortestRemainingTtlMs()";
        assertTimedOut(AcquireOutcome.Kind.CONTENDED,
                "the wait budget ended behind 3 callers of this client: " + holder, last);
        assertTrue(last.refusedCount() > 0, last::toString);
        assertTrue(last.shortestRemainingTtlMs() > 50_000, last::toString);
        assertTrue(last.toString().contains(" behind 3 callers of this client, votes of a caller ahead 0 granted"),
                last::toString);
    }

    @ParameterizedTest
    @EnumSource
    void aWaiterBehindOthersReportsThatTheNodesAreDown(Kind kind) {
        client = world(3);
        holdByAnother(kind);
        List<CompletableFuture<AcquireOutcome>> waiters = waiters(kind, LONG, LONG, LONG);
        world.runMs(100);
        eachNode(FakeNode::crash);
        world.runMs(1_000);
        AcquireOutcome last = get(start(client, kind, options().waitUpTo(SHORT)));
        assertFalse(waiters.get(0).isDone());
        assertTimedOut(AcquireOutcome.Kind.NO_QUORUM, "the wait budget ended behind 3 callers of this client: "
                + AcquireOutcome.Kind.NO_QUORUM.advice(), last);
        assertEquals(3, last.failedCount(), last::toString);
        assertTrue(last.voteText(0).startsWith("failed: not connected: connection failed: "), last.voteText(0));
        assertEquals(-1, last.shortestRemainingTtlMs());
    }

    /** Each becomes the first when the one before it ends, and has no time for an attempt. */
    @ParameterizedTest
    @EnumSource
    void waitersWhoseBudgetsEndTogetherHaveOneReason(Kind kind) {
        client = world(3);
        holdByAnother(kind);
        eachNode(FakeNode::crash);
        world.runMs(5);
        List<CompletableFuture<AcquireOutcome>> waiters = new ArrayList<>();
        client.engine().execute(() -> {
            for (int i = 0; i < 20; i++) {
                waiters.add(start(client, kind, options().waitUpTo(SHORT)));
            }
        });
        world.settle();
        for (CompletableFuture<AcquireOutcome> waiter : waiters) {
            AcquireOutcome outcome = get(waiter);
            assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.lastReason(), outcome::toString);
            assertEquals(3, outcome.failedCount(), outcome::toString);
            assertTrue(outcome.advice().endsWith(": " + AcquireOutcome.Kind.NO_QUORUM.advice()), outcome::advice);
        }
    }

    @Test
    void aWaiterBehindAFirstAttemptHasNoReasonYet() {
        client = world(3);
        acquired(acquire(client, options().forReading()));
        eachNode(FakeNode::pause);
        List<CompletableFuture<AcquireOutcome>> waiters = waiters(Kind.WRITER, LONG, Duration.ofMillis(10));
        AcquireOutcome last = get(waiters.get(1));
        assertTimedOut(AcquireOutcome.Kind.CONTENDED,
                "the wait budget ended behind 1 caller of this client: no attempt has ended: wait longer", last);
        assertEquals("AcquireOutcome{orders, NOT_ACQUIRED, outcome TIMED_OUT after CONTENDED, attempts 0 behind 1"
                + " caller of this client, votes 0 granted 0 refused 0 failed 0 unknown}", last.toString());
        eachNode(FakeNode::resume);
    }

    @Test
    void theReasonOfALaterAttemptIsThatOfTheAcquisitionItself() {
        client = world(3);
        holdByAnother(Kind.PLAIN);
        List<CompletableFuture<AcquireOutcome>> waiters = waiters(Kind.PLAIN, SHORT, SHORT.multipliedBy(4));
        get(waiters.get(0));
        world.runMs(50);
        eachNode(FakeNode::crash);
        AcquireOutcome last = get(waiters.get(1));
        assertTimedOut(AcquireOutcome.Kind.NO_QUORUM,
                "the wait budget ended: " + AcquireOutcome.Kind.NO_QUORUM.advice(), last);
        assertTrue(last.attemptCount() > 1, last::toString);
        assertFalse(last.toString().contains("ahead"), last::toString);
    }

    /** The second one is behind a head that was too slow for its own options. */
    @Test
    void tooSlowIsTheReasonOfTheOneAhead() {
        client = world(3);
        eachNode(node -> node.delay(() -> 10_000_000));
        acquireAsync(client, options().forWriting().minValidity(TTL.minusMillis(130)).waitUpTo(LONG));
        world.runMs(25);
        AcquireOutcome last = get(acquireAsync(client, options().forWriting().waitUpTo(SHORT)));
        assertTimedOut(AcquireOutcome.Kind.TOO_SLOW, "the wait budget ended behind 1 caller of this client: the nodes"
                + " answer too slowly for the ttl of one that is ahead: use a longer ttl or a smaller minimum validity"
                + " there", last);
    }

    @Test
    void aForeignKeyIsNamedToAllWaiters() {
        client = world(3);
        eachNode(node -> node.redis().set("orders", "of another program", -1));
        AcquireOutcome last = get(waiters(Kind.PLAIN, LONG, SHORT).get(1));
        assertTimedOut(AcquireOutcome.Kind.CONTENDED, "the wait budget ended behind 1 caller of this client: a key"
                + " with the name of the lock never expires, so it is no lock of a client: delete it if no other"
                + " program uses it, or choose another name or RedlockContext.keyPrefix", last);
    }

    // ---- leases of the client ---------------------------------------------------------------------------------------

    /** The first waiter gets the lock by a handoff, and holds it longer than the others wait. */
    @ParameterizedTest
    @EnumSource(names = {"PLAIN", "FENCED", "WRITER", "SET"})
    void aWaiterIsToldThatALeaseOfItsClientHasTheLock(Kind kind) {
        client = world(3);
        Lease lease = acquired(get(start(client, kind, options())));
        List<CompletableFuture<AcquireOutcome>> waiters = waiters(kind, LONG, SHORT.multipliedBy(2), SHORT);
        lease.releaseAsync();
        acquired(get(waiters.get(0)));
        assertTimedOut(AcquireOutcome.Kind.CONTENDED, "the wait budget ended behind 2 callers of this client: " + HELD,
                get(waiters.get(2)));
        assertTimedOut(AcquireOutcome.Kind.CONTENDED, "the wait budget ended behind 1 caller of this client: " + HELD,
                get(waiters.get(1)));
    }

    @Test
    void aWaiterForARetainedLockIsToldThatALeaseOfItsClientHasIt() {
        client = world(3);
        release(acquired(get(start(client, Kind.RETAINED, options()))));
        acquired(get(start(client, Kind.RETAINED, options())));
        AcquireOutcome once = get(start(client, Kind.RETAINED, options()));
        assertEquals(AcquireOutcome.Kind.CONTENDED, once.kind());
        assertEquals(HELD, once.advice());
        List<CompletableFuture<AcquireOutcome>> waiters = waiters(Kind.RETAINED, SHORT.multipliedBy(2), SHORT);
        assertTimedOut(AcquireOutcome.Kind.CONTENDED, "the wait budget ended behind 1 caller of this client: " + HELD,
                get(waiters.get(1)));
        assertTimedOut(AcquireOutcome.Kind.CONTENDED, "the wait budget ended: " + HELD, get(waiters.get(0)));
    }

    private AcquireOutcome set(Duration budget, String... resources) {
        return get(client.redlock().acquireAllAsync(List.of(resources), options().waitUpTo(budget)));
    }

    @Test
    void aSetIsToldThatALeaseOfItsClientHasAResource() {
        client = world(3);
        acquired(get(client().redlock().acquireAsync("bills", AcquireOptions.ofTtl(LONG).tryOnce())));
        client.redlock().acquireAllAsync(List.of("stock", "bills"), options().waitUpTo(LONG));
        world.runMs(5);
        acquired(get(client.redlock().acquireAsync("stock", options())));
        AcquireOutcome outcome = set(Duration.ofMillis(100), "streets", "stock");
        assertEquals(0, outcome.attemptCount(), outcome::toString);
        assertTimedOut(AcquireOutcome.Kind.CONTENDED, "the wait budget ended: " + HELD, outcome);
    }

    @Test
    void aSetIsToldThatAnOlderOneOfItsClientWaits() {
        client = world(3);
        VirtualWorld.Client other = client();
        acquired(get(other.redlock().acquireAllAsync(List.of("stock"), AcquireOptions.ofTtl(LONG).tryOnce())));
        client.redlock().acquireAllAsync(List.of("stock", "bills"), options().waitUpTo(LONG));
        world.runMs(5);
        AcquireOutcome outcome = set(Duration.ofMillis(100), "streets", "stock");
        assertEquals(0, outcome.attemptCount(), outcome::toString);
        assertTimedOut(AcquireOutcome.Kind.CONTENDED, "the wait budget ended: another set of this client, which has one"
                + " of the resources too, has waited for longer: wait longer", outcome);
    }

    /** Nodes without pushes: after handoffs that have taken long, the client pauses for one retry delay. */
    @Test
    void aWaiterIsToldThatItsClientGivesWay() {
        world = new VirtualWorld(3);
        client = client(context().wakeUpKeysMax(0)
                .localHandoffsMax(1)
                .retryPolicy((attempts, reason, ttl, random) -> 50_000_000));
        Lease lease = lease(client);
        List<CompletableFuture<AcquireOutcome>> waiters = waiters(Kind.PLAIN, LONG, LONG, LONG);
        for (CompletableFuture<AcquireOutcome> waiter : waiters) {
            world.runMs(300);
            lease.releaseAsync();
            world.runMs(1);
            if (!waiter.isDone()) {
                break;
            }
            lease = acquired(get(waiter));
        }
        AcquireOutcome outcome = get(acquireAsync(client, options().waitUpTo(Duration.ofMillis(20))));
        assertTrue(outcome.advice().contains("this client gives way to other clients that want the lock"),
                () -> outcome + " " + outcome.advice());
    }

    // ---- other ends -------------------------------------------------------------------------------------------------

    @ParameterizedTest
    @EnumSource
    void aWaiterThatIsCancelledOrClosedHasTheVotesOfTheFirst(Kind kind) {
        client = world(3);
        holdByAnother(kind);
        waiters(kind, LONG);
        Lease reused = client.redlock().newLease();
        AcquireOutcome[] ended = new AcquireOutcome[1];
        if (kind == Kind.PLAIN) {
            client.redlock()
                    .acquire(client.redlock().key("orders"), options().waitUpTo(LONG), reused,
                            outcome -> ended[0] = outcome);
            world.runMs(5);
            reused.close();
            world.runMs(5);
            assertEquals(AcquireOutcome.Kind.CANCELLED, ended[0].kind());
            assertEquals(AcquireOutcome.Kind.CANCELLED, ended[0].lastReason());
            assertTrue(ended[0].toString().contains(" behind 1 caller of this client, "), ended[0]::toString);
        }
        CompletableFuture<AcquireOutcome> waiter = waiters(kind, LONG).get(0);
        client.engine().close(Duration.ofMillis(10));
        AcquireOutcome closed = get(waiter);
        assertEquals(AcquireOutcome.Kind.CLOSED, closed.kind());
        assertEquals(AcquireOutcome.Kind.CLOSED.advice(), closed.advice());
        assertTrue(closed.refusedCount() > 0, closed::toString);
        assertTrue(closed.toString().contains(" behind 1 caller of this client, votes of a caller ahead 0 granted"),
                closed::toString);
    }

    /** The first one waits for a place, because of a limit; so do those behind it. */
    @ParameterizedTest
    @CsvSource({"WRITER", "SET", "PERMIT"})
    void aWaiterBehindALimitReportsTheLimit(Kind kind) {
        world = new VirtualWorld(3);
        client = client(context().inFlightMax(1).nodeTimeout(Duration.ofSeconds(5)));
        eachNode(FakeNode::pause);
        client.redlock().acquireAsync("other", options());
        List<CompletableFuture<AcquireOutcome>> waiters = waiters(kind, Duration.ofSeconds(3), SHORT);
        assertTimedOut(AcquireOutcome.Kind.OVERLOADED, "the wait budget ended behind 1 caller of this client: "
                + AcquireOutcome.Kind.OVERLOADED.advice(), get(waiters.get(1)));
        eachNode(FakeNode::resume);
    }

    @Test
    void aWaiterBeyondTheLimitIsRejected() {
        world = new VirtualWorld(3);
        client = client(context().waitersMax(1));
        holdByAnother(Kind.PLAIN);
        List<CompletableFuture<AcquireOutcome>> waiters = waiters(Kind.PLAIN, LONG, LONG, LONG);
        AcquireOutcome rejected = get(waiters.get(2));
        assertEquals(AcquireOutcome.Kind.OVERLOADED, rejected.kind());
        assertEquals("AcquireOutcome{orders, NOT_ACQUIRED, outcome OVERLOADED, attempts 0, votes 0 granted 0 refused"
                + " 0 failed 0 unknown}", rejected.toString());
    }
}
