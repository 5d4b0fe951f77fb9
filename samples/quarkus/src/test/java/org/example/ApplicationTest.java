package org.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.TransportKind;
import dev.redlock.shedlock.RedlockLockProvider;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.Readiness;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;

/** The application of docs/start/quarkus.md and a client of another instance, on real nodes. */
@QuarkusTest
@QuarkusTestResource(value = RealNodes.class, restrictToAnnotatedClass = true)
@EnabledIf("org.example.RealNodes#areAvailable")
@Timeout(60)
class ApplicationTest {

    private static final Duration TTL = Duration.ofSeconds(30);

    private static final HttpClient HTTP = HttpClient.newHttpClient();

    @Inject
    Redlock redlock;

    @Inject
    RedlockContext options;

    @Inject
    Work work;

    @Inject
    @Readiness
    RedlockHealth health;

    @TestHTTPResource("/")
    URI address;

    private Redlock other;

    @BeforeEach
    void connect() {
        other = Redlock.connect(options);
    }

    @AfterEach
    void close() {
        other.close();
    }

    private CompletableFuture<Integer> ship(String id) {
        HttpRequest request = HttpRequest.newBuilder(address.resolve("orders/" + id + "/shipment"))
                .POST(HttpRequest.BodyPublishers.noBody())
                .build();
        return HTTP.sendAsync(request, HttpResponse.BodyHandlers.discarding()).thenApply(HttpResponse::statusCode);
    }

    private static void await(String what, BooleanSupplier condition) throws InterruptedException {
        long deadlineNs = System.nanoTime() + TTL.toNanos();
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() - deadlineNs < 0, what);
            new CountDownLatch(1).await(5, TimeUnit.MILLISECONDS);
        }
    }

    @Test
    void aRequestExcludesAnotherInstanceAndIsExcludedByIt() throws Exception {
        CompletableFuture<Integer> first = ship("42");
        assertEquals("42", work.started.poll(TTL.toSeconds(), TimeUnit.SECONDS));
        assertEquals(AcquireOutcome.Kind.CONTENDED, other.tryAcquire("orders/42", TTL).kind());
        work.ends.release();
        assertEquals(204, first.get(TTL.toSeconds(), TimeUnit.SECONDS));
        try (Lease lease = other.acquire("orders/42", TTL).lease()) {
            assertTrue(lease.isHeld());
            assertEquals(409, ship("42").get(TTL.toSeconds(), TimeUnit.SECONDS));
            assertNull(work.started.poll());
        }
    }

    @Test
    void aJobDoesNotRunWhileAnotherInstanceRunsIt() throws Exception {
        assertEquals("report", work.reports.poll(TTL.toSeconds(), TimeUnit.SECONDS));
        RedlockLockProvider provider = new RedlockLockProvider(other);
        LockConfiguration job = new LockConfiguration(Instant.now(), "jobs/report", TTL, Duration.ZERO);
        assertTrue(provider.lock(job).isEmpty(), "the application runs the job");
        work.endsOfReports.release(1_000_000);
        SimpleLock[] lock = new SimpleLock[1];
        await("the job ends", () -> {
            Optional<SimpleLock> found = provider.lock(job);
            found.ifPresent(held -> lock[0] = held);
            return found.isPresent();
        });
        work.reports.clear();
        long before = redlock.counters().contendedAttemptCount();
        await("the application tries", () -> redlock.counters().contendedAttemptCount() >= before + 2);
        assertNull(work.reports.poll());
        lock[0].unlock();
        assertEquals("report", work.reports.poll(TTL.toSeconds(), TimeUnit.SECONDS));
    }

    @Test
    void healthIsDownWithoutAQuorum() throws Exception {
        HttpRequest request = HttpRequest.newBuilder(address.resolve("q/health/ready")).build();
        HttpResponse<String> response = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
        assertEquals(200, response.statusCode());
        assertTrue(response.body().contains("\"redlock\""), response.body());
        assertEquals(HealthCheckResponse.Status.UP, health.call().getStatus());
        try (Redlock alone = Redlock.connect(
                new RedlockContext().nodes("127.0.0.1:1", "127.0.0.1:2").transport(TransportKind.NIO))) {
            assertEquals(HealthCheckResponse.Status.DOWN, new RedlockHealth(alone).call().getStatus());
        }
    }

    /** {@link ShutdownTest} finds this lock if the client does not release it when the application ends. */
    @Test
    void aLockIsHeldWhenTheApplicationEnds() throws Exception {
        assertTrue(redlock.acquire("held", TTL).lease().isHeld());
    }
}
