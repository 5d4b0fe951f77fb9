package dev.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.RetryPolicy;
import dev.redlock.api.TransportKind;
import dev.redlock.sim.LiveNodes;
import dev.redlock.testing.Refusal;
import dev.redlock.time.NanoClock;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Each acquire waits up to the budget of the options or the client's default; each tryAcquire makes one attempt. */
class WaitBudgetTest {

    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(10));
    private static final Duration SHORT = Duration.ofMillis(20);

    private final LiveNodes nodes = new LiveNodes(1);
    private Redlock redlock;

    @BeforeEach
    void open() {
        TestClient client = new TestClient(new RedlockContext().nodes(nodes.addresses())
                .nodeTimeout(Duration.ofSeconds(2))
                .defaultWait(SHORT)
                .retryPolicy(RetryPolicy.jittered(Duration.ofMillis(1), Duration.ofMillis(2))), nodes.clientLoop(),
                nodes.newTransport(),
                NanoClock.system(), 1);
        client.open().join();
        redlock = client.redlock();
        nodes.access(0).setIfAbsent("orders", "foreign", 3_600_000);
    }

    @AfterEach
    void close() {
        redlock.close();
        nodes.close();
    }

    /** Without a wait the outcome is CONTENDED. A busy machine may leave time for one attempt only. */
    private static void assertWaited(AcquireOutcome outcome) {
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, outcome.kind(), outcome::toString);
        assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.lastReason(), outcome::toString);
    }

    private static void assertOneAttempt(AcquireOutcome outcome) {
        assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind(), outcome::toString);
        assertEquals(1, outcome.attemptCount(), outcome::toString);
    }

    private AcquireOutcome viaCallback(AcquireOptions options) throws Exception {
        CompletableFuture<AcquireOutcome> outcome = new CompletableFuture<>();
        redlock.acquire(redlock.key("orders"), options, redlock.newLease(), outcome::complete);
        return outcome.get(60, TimeUnit.SECONDS);
    }

    private static AcquireOutcome get(java.util.concurrent.CompletionStage<AcquireOutcome> stage)
            throws Exception {
        return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    }

    @Test
    void acquireWithoutABudgetWaitsUpToTheDefault() throws Exception {
        assertWaited(redlock.acquire("orders", Duration.ofSeconds(10)));
        assertWaited(redlock.acquire("orders", OPTIONS));
        assertWaited(redlock.acquire(redlock.key("orders"), OPTIONS));
        assertWaited(get(redlock.acquireAsync("orders", OPTIONS)));
        assertWaited(get(redlock.acquireAsync(redlock.key("orders"), OPTIONS)));
        assertWaited(viaCallback(OPTIONS));
    }

    @Test
    void tryAcquireWithoutABudgetMakesOneAttempt() throws Exception {
        assertOneAttempt(redlock.tryAcquire("orders", Duration.ofSeconds(10)));
        assertOneAttempt(redlock.tryAcquire("orders", OPTIONS));
        assertOneAttempt(redlock.tryAcquire(redlock.key("orders"), OPTIONS));
    }

    @Test
    void theBudgetOfTheOptionsCountsForBoth() throws Exception {
        assertWaited(redlock.tryAcquire("orders", OPTIONS.waitUpTo(SHORT)));
        assertWaited(redlock.tryAcquire("orders", Duration.ofSeconds(10), SHORT));
        assertOneAttempt(redlock.acquire("orders", OPTIONS.tryOnce()));
        assertOneAttempt(redlock.acquire(redlock.key("orders"), OPTIONS.waitUpTo(Duration.ZERO)));
        assertOneAttempt(get(redlock.acquireAsync("orders", OPTIONS.tryOnce())));
        assertOneAttempt(viaCallback(OPTIONS.tryOnce()));
    }

    @Test
    void adviceAfterATimeoutIsThatOfTheLastReason() throws Exception {
        // The first refusal of a plain command has no ttl, and a busy machine has no time for a second one.
        AcquireOutcome outcome = redlock.acquire("orders", OPTIONS);
        for (int i = 0; i < 1_000 && outcome.shortestRemainingTtlMs() < 0; i++) {
            outcome = redlock.acquire("orders", OPTIONS);
        }
        assertEquals("the wait budget ended: " + AcquireOutcome.Kind.CONTENDED.advice(), outcome.advice());
        assertEquals(AcquireOutcome.Kind.CONTENDED.advice(), redlock.tryAcquire("orders", OPTIONS).advice());
    }

    @Test
    void aKeyOfAClientWithAnotherPrefixIsRejected() {
        try (Redlock other = Redlock.connect(new RedlockContext().nodes("127.0.0.1:1")
                .transport(TransportKind.NIO)
                .keyPrefix("app:"))) {
            Refusal.ofArgument(
                    "resource key \"orders\" was encoded with key prefix \"\", but this client has key prefix"
                            + " \"app:\": encode it with key() of this client",
                    () -> other.acquire(redlock.key("orders"), OPTIONS));
            Refusal.ofArgument(
                    "resource key \"orders\" was encoded with key prefix \"app:\", but this client has key prefix"
                            + " \"\": encode it with key() of this client",
                    () -> redlock.acquireAsync(other.key("orders"), OPTIONS));
        }
    }
}
