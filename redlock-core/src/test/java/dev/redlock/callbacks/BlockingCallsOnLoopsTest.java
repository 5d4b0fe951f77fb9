package dev.redlock.callbacks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.RedlockLock;
import dev.redlock.api.CloseReport;
import dev.redlock.api.Lease;
import dev.redlock.testing.Await;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/** No call blocks an event loop of the client, for any lease on any loop and in any state. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class BlockingCallsOnLoopsTest {

    private static final Duration TTL = Duration.ofSeconds(10);
    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(TTL).tryOnce();

    private final EventLoopGroup group = new MultiThreadIoEventLoopGroup(2, NioIoHandler.newFactory());
    private final EventLoop one = group.next();
    private final EventLoop other = group.next();
    private final Redlock redlock = Redlock.connect(new RedlockContext().nodes("127.0.0.1:1").eventLoops(one, other));

    @AfterEach
    void end() {
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }

    /** Returns a lease that was not acquired, because no node listens, and whose callbacks run on the given loop. */
    private Lease endedOn(EventLoop loop) throws InterruptedException {
        for (int i = 0; i < 1_000; i++) {
            Lease lease = redlock.newLease();
            CompletableFuture<Boolean> isThere = new CompletableFuture<>();
            redlock.acquire(redlock.key("r" + i), OPTIONS, lease, outcome -> isThere.complete(loop.inEventLoop()));
            if (isThere.join()) {
                return lease;
            }
        }
        throw new AssertionError("no resource maps to the loop");
    }

    /** Each loop extends a lease of the other loop: blocking calls would deadlock both. */
    @Test
    void extendOnAnotherLoopOfTheClientThrowsInsteadOfADeadlock() throws Exception {
        Lease ofOne = endedOn(one);
        Lease ofOther = endedOn(other);
        CyclicBarrier bothAreOnTheirLoops = new CyclicBarrier(2);
        CompletableFuture<Throwable> first = new CompletableFuture<>();
        CompletableFuture<Throwable> second = new CompletableFuture<>();
        one.execute(() -> first.complete(thrownBy(bothAreOnTheirLoops, () -> ofOther.extend(TTL))));
        other.execute(() -> second.complete(thrownBy(bothAreOnTheirLoops, () -> ofOne.extend(TTL))));
        String message = "blocking call extend(ttl) on the client's event loop, which must not block: use"
                + " extend(ttlMs, callback) or extendAsync(ttl) there";
        assertEquals(message, first.orTimeout(60, TimeUnit.SECONDS).join().getMessage());
        assertEquals(message, second.orTimeout(60, TimeUnit.SECONDS).join().getMessage());
        CloseReport report = CompletableFuture.supplyAsync(() -> redlock.closeWithin(Duration.ofSeconds(1)))
                .orTimeout(60, TimeUnit.SECONDS)
                .join();
        assertTrue(report.isClean(), report::toString);
    }

    private static Throwable thrownBy(CyclicBarrier barrier, Callable<?> call) {
        try {
            barrier.await(60, TimeUnit.SECONDS);
            return new AssertionError("not rejected: " + call.call());
        } catch (Exception e) {
            return e;
        }
    }

    @Test
    void everyBlockingCallThrowsOnEveryLoopInEveryState() throws Exception {
        RedlockLock view = redlock.asLock("orders", OPTIONS);
        List<Executable> calls = new ArrayList<>(List.of(
                () -> redlock.acquire("orders", TTL),
                () -> redlock.tryAcquire("orders", TTL),
                () -> redlock.tryAcquire("orders", TTL, TTL),
                () -> redlock.acquire(redlock.key("orders"), OPTIONS),
                () -> redlock.closeWithin(TTL),
                view::lock,
                view::lockInterruptibly,
                view::tryLock,
                () -> view.tryLock(1, TimeUnit.SECONDS)));
        for (Lease lease : List.of(redlock.newLease(), endedOn(one), endedOn(other))) {
            calls.add(lease::release);
            calls.add(() -> lease.extend(TTL));
        }
        for (EventLoop loop : List.of(one, other)) {
            loop.submit(() -> calls.forEach(call -> assertThrows(IllegalStateException.class, call))).get();
        }
        redlock.close();
    }

    /** A thread that uses the view waits for replies, which a loop that waits for the thread would never read. */
    @Test
    void aLockViewOnALoopDoesNotWaitForAnotherThread() throws Exception {
        RedlockLock view = redlock.asLock("orders", OPTIONS);
        CountDownLatch isOver = new CountDownLatch(1);
        Thread holder = new Thread(() -> {
            try {
                view.lockInterruptibly();
            } catch (InterruptedException e) {
                isOver.countDown();
            }
        });
        holder.start();
        Await.until("the thread waits for the nodes", () -> holder.getState() == Thread.State.WAITING);
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        one.execute(() -> {
            try {
                thrown.complete(new AssertionError("not rejected: " + view.tryLock(1, TimeUnit.HOURS)));
            } catch (IllegalStateException | InterruptedException e) {
                thrown.complete(e);
            }
        });
        assertEquals(IllegalStateException.class, thrown.orTimeout(60, TimeUnit.SECONDS).join().getClass());
        holder.interrupt();
        assertTrue(isOver.await(60, TimeUnit.SECONDS));
        redlock.close();
    }

    @Test
    void closeOfALeaseOnALoopNeitherBlocksNorThrows() throws Exception {
        for (Lease lease : List.of(redlock.newLease(), endedOn(one), endedOn(other))) {
            for (EventLoop loop : List.of(one, other)) {
                loop.submit(lease::close).get(60, TimeUnit.SECONDS);
            }
        }
        redlock.close();
    }
}
