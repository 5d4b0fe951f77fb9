package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.IdlePolicy;
import dev.redlock.api.Lease;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The client on event loops of its own, one or several, idle in each way, and on loops that somebody else runs. */
@Timeout(60)
class EventLoopsTest {

    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(30)).tryOnce();
    private static RedisNodes nodes;

    @BeforeAll
    static void startNodes() {
        nodes = RequiredNodes.start(Source.PATH, 3);
    }

    @AfterAll
    static void stopNodes() {
        if (nodes != null) {
            nodes.close();
        }
    }

    private static RedlockContext context() {
        return new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(5));
    }

    /** Takes a lock and gives it back; returns the thread on which the callback ran. */
    private static Thread cycle(Redlock redlock, String resource) {
        CompletableFuture<Thread> thread = new CompletableFuture<>();
        redlock.acquire(redlock.key(resource), OPTIONS, redlock.newLease(), outcome -> {
            if (outcome.isAcquired()) {
                outcome.lease().release((lease, released) -> thread.complete(Thread.currentThread()));
            } else {
                thread.completeExceptionally(new AssertionError(outcome.toString()));
            }
        });
        return thread.join();
    }

    @ParameterizedTest
    @EnumSource(IdlePolicy.class)
    void everyIdlePolicyServes(IdlePolicy policy) {
        try (Redlock redlock = Redlock.connect(context().idlePolicy(policy))) {
            Thread loop = cycle(redlock, "idle");
            for (int i = 0; i < 20; i++) {
                assertEquals(loop, cycle(redlock, "idle"), "one loop");
            }
        }
    }

    @Test
    void blockingCallsOnAnyClientLoopAreRejected() throws Exception {
        try (Redlock redlock = Redlock.connect(context().eventLoops(2))) {
            String here = "resource-0";
            Thread loop = cycle(redlock, here);
            int number = 1;
            while (cycle(redlock, "resource-" + number) == loop) {
                number++;
            }
            String there = "resource-" + number;
            Lease held = redlock.acquire(there, Duration.ofSeconds(30)).lease();
            CompletableFuture<String> refusals = new CompletableFuture<>();
            redlock.acquire(redlock.key(here), OPTIONS, redlock.newLease(), outcome -> {
                refusals.complete(refusalOf(() -> redlock.tryAcquire(there, Duration.ofSeconds(30)))
                        + refusalOf(held::release) + refusalOf(() -> held.extend(Duration.ofSeconds(30))));
                held.close();
                outcome.lease().close();
            });
            String texts = refusals.get(30, TimeUnit.SECONDS);
            assertEquals(3, texts.split("on the client's event loop", -1).length - 1, texts);
            assertTrue(redlock.acquire(redlock.key(there), OPTIONS.waitUpTo(Duration.ofSeconds(10))).isAcquired(),
                    "close released");
        }
    }

    private static String refusalOf(Callable<?> call) {
        try {
            return "not refused: " + call.call();
        } catch (IllegalStateException e) {
            return e.getMessage() + "; ";
        } catch (Exception e) {
            return e.toString();
        }
    }

    @Test
    void aResourceStaysOnItsLoopAndResourcesSpreadOverAll() {
        try (Redlock redlock = Redlock.connect(context().eventLoops(3))) {
            Set<Thread> loops = new HashSet<>();
            for (int i = 0; i < 60; i++) {
                Thread loop = cycle(redlock, "resource " + i);
                loops.add(loop);
                assertEquals(loop, cycle(redlock, "resource " + i), "the same loop again");
            }
            assertEquals(3, loops.size(), "all loops are used");
        }
    }

    @Test
    void givenLoopsAreUsedAndLeftRunning() throws Exception {
        MultiThreadIoEventLoopGroup group = new MultiThreadIoEventLoopGroup(2, NioIoHandler.newFactory());
        try {
            EventLoop first = group.next();
            EventLoop second = group.next();
            Set<Boolean> isFirst = new HashSet<>();
            try (Redlock redlock = Redlock.connect(context().eventLoops(first, second))) {
                for (int i = 0; i < 40; i++) {
                    Thread thread = cycle(redlock, "given " + i);
                    assertTrue(first.inEventLoop(thread) || second.inEventLoop(thread), thread::getName);
                    isFirst.add(first.inEventLoop(thread));
                }
            }
            assertEquals(Set.of(true, false), isFirst, "both are used");
            assertFalse(first.isShuttingDown() || second.isShuttingDown(), "closing the client leaves them alone");
            assertEquals(7, first.submit(() -> 7).get());
        } finally {
            group.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
        }
    }
}
