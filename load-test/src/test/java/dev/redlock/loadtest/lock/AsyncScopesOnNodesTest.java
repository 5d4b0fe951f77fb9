package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.RunOutcome;
import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Programs that drop the result of an asynchronous acquisition at random moments, on three servers. */
@Timeout(60)
class AsyncScopesOnNodesTest {
    private static final int RUNS = 300;
    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(50)).tryOnce();

    private static RedisNodes nodes;
    private final Random random = new Random(1);

    @BeforeAll
    static void start() {
        nodes = RequiredNodes.start(Source.PATH, 3);
    }

    @AfterAll
    static void stop() {
        nodes.close();
    }

    private static Redlock connect(String prefix) {
        return Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                .keyPrefix(prefix)
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(5)));
    }

    private static long held(String prefix) {
        return nodes.nodes()
                .stream()
                .flatMap(node -> ((List<?>) node.call("KEYS", prefix + "*")).stream())
                .map(Object::toString)
                .filter(key -> !key.contains(":redlock:"))
                .distinct()
                .count();
    }

    private void assertNoneHeld(Redlock redlock, String prefix) throws Exception {
        Await.until("no locks are held", () -> held(prefix) == 0);
        assertTrue(redlock.counters().acquiredCount() > 0, "every run was dropped before its lock");
    }

    /** Waits up to a quarter of a millisecond, in which some acquisitions end and some do not. */
    private void pause() {
        long endNs = System.nanoTime() + random.nextInt(250_000);
        while (System.nanoTime() - endNs < 0) {
            Thread.onSpinWait();
        }
    }

    @Test
    void aFutureThatTimesOut() throws Exception {
        try (Redlock redlock = connect("future/")) {
            for (int i = 0; i < RUNS; i++) {
                CompletableFuture<String> result = redlock
                        .runAsync("orders/" + i, OPTIONS, lease -> CompletableFuture.supplyAsync(lease::resource))
                        .thenApply(RunOutcome::value)
                        .toCompletableFuture()
                        .orTimeout(random.nextInt(500_000), TimeUnit.NANOSECONDS);
                result.exceptionally(thrown -> null).join();
            }
            assertNoneHeld(redlock, "future/");
        }
    }

    private void disposeMany(IntFunction<Mono<?>> mono) {
        for (int i = 0; i < RUNS; i++) {
            Disposable subscription = mono.apply(i).publishOn(Schedulers.parallel()).subscribe(value -> {
            }, thrown -> {
            });
            pause();
            subscription.dispose();
        }
    }

    @Test
    void aReactorMonoOfRunAsync() throws Exception {
        try (Redlock redlock = connect("mono/")) {
            disposeMany(i -> Mono.fromCompletionStage(() -> redlock.runAsync("orders/" + i, OPTIONS,
                    lease -> Mono.just(lease.resource()).publishOn(Schedulers.parallel()).toFuture())));
            assertNoneHeld(redlock, "mono/");
        }
    }

    @Test
    void reactorsUsingWhen() throws Exception {
        try (Redlock redlock = connect("using/")) {
            Function<Lease, Mono<String>> ship = lease -> Mono.just(lease.resource()).publishOn(Schedulers.parallel());
            IntFunction<Mono<?>> shipped = i -> Mono.usingWhen(
                    Mono.fromCompletionStage(() -> redlock.acquireAsync("orders/" + i, OPTIONS)),
                    outcome -> ship.apply(outcome.lease()),
                    outcome -> outcome.isAcquired()
                            ? Mono.fromCompletionStage(outcome.lease()::releaseAsync)
                            : Mono.empty());
            assertEquals("orders/0", shipped.apply(0).block());
            disposeMany(shipped);
            assertNoneHeld(redlock, "using/");
            AcquireOutcome other = redlock.acquireAsync("orders/0", OPTIONS).toCompletableFuture().join();
            assertTrue(other.isAcquired());
        }
    }
}
