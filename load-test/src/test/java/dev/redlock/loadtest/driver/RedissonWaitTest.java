package dev.redlock.loadtest.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The waiters of Redisson wait in the library, for the message of a release: a comparison must not retry for them. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RedissonWaitTest {

    private static final Duration TTL = Duration.ofSeconds(60);
    private static final Duration LIMIT = Duration.ofSeconds(30);

    private RedisNodes nodes;

    @BeforeAll
    void start() throws Exception {
        nodes = RequiredNodes.start(new RedisNodesContext().count(3));
    }

    @AfterAll
    void end() {
        nodes.close();
    }

    private static CompletableFuture<AcquireOutcome.Kind> acquire(BlockingLock lock) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return lock.acquire();
            } catch (Exception e) {
                throw new CompletionException(e);
            }
        });
    }

    private static BlockingLock waiting(LockDriver driver, LockSession session, String resource, Duration budget) {
        boolean isFenced = driver.options().contains(DriverOption.FENCED);
        return new BlockingLock(session, new LockSpec(resource, TTL, budget, isFenced, true), LIMIT);
    }

    private LockSession open(LockDriver driver) throws Exception {
        return driver.open(SessionSpec.of(nodes.nodes().stream().map(RedisNode::address).toList(), true));
    }

    private boolean hasSubscriber() {
        return nodes.node(0).call("PUBSUB", "CHANNELS") instanceof List<?> channels && !channels.isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"redisson", "redisson-single", "redisson-fenced"})
    void waiterSubscribesAndGetsTheLockAfterTheRelease(String name) throws Exception {
        LockDriver driver = Drivers.named(name);
        assertTrue(driver.options().contains(DriverOption.WAIT));
        try (LockSession one = open(driver); LockSession two = open(driver)) {
            String resource = "released/" + driver.name();
            BlockingLock ours = waiting(driver, one, resource, Duration.ZERO);
            BlockingLock theirs = waiting(driver, two, resource, LIMIT);
            assertEquals(AcquireOutcome.Kind.ACQUIRED, ours.acquire());
            CompletableFuture<AcquireOutcome.Kind> waiter = acquire(theirs);
            Await.until("a subscriber of " + driver.name(), this::hasSubscriber);
            assertEquals(ReleaseOutcome.RELEASED, ours.release());
            assertEquals(AcquireOutcome.Kind.ACQUIRED, waiter.get(LIMIT.toSeconds(), TimeUnit.SECONDS));
            assertEquals(ReleaseOutcome.RELEASED, theirs.release());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"redisson", "redisson-single", "redisson-fenced"})
    void budgetEndsTheWait(String name) throws Exception {
        LockDriver driver = Drivers.named(name);
        try (LockSession one = open(driver); LockSession two = open(driver)) {
            String resource = "held/" + driver.name();
            BlockingLock ours = waiting(driver, one, resource, Duration.ZERO);
            BlockingLock theirs = waiting(driver, two, resource, Duration.ofMillis(300));
            BlockingLock attempt = waiting(driver, two, resource, Duration.ZERO);
            assertEquals(AcquireOutcome.Kind.ACQUIRED, ours.acquire());
            assertEquals(AcquireOutcome.Kind.TIMED_OUT, theirs.acquire());
            assertEquals(AcquireOutcome.Kind.CONTENDED, attempt.acquire());
            assertEquals(ReleaseOutcome.RELEASED, ours.release());
        }
    }
}
