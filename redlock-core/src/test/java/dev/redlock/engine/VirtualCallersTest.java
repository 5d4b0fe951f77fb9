package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.testing.Await;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Threads that wait are woken, virtual ones where the JDK has them. */
@Timeout(60)
class VirtualCallersTest {

    private final MultiThreadIoEventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final EventLoop loop = group.next();
    private final VirtualCallers callers = new VirtualCallers(loop);
    private final AtomicInteger woken = new AtomicInteger();

    @AfterEach
    void end() throws Exception {
        if (!loop.isShuttingDown()) {
            loop.submit(callers::close).get();
        }
        assertTrue(group.shutdownGracefully(0, 10, TimeUnit.SECONDS).await(60, TimeUnit.SECONDS));
    }

    /** A thread that waits until it is told, and woken. */
    private final class Sleeper implements Runnable {

        private final CountDownLatch isReady = new CountDownLatch(1);
        private volatile Thread thread;
        private volatile boolean isDone;

        @Override
        public void run() {
            thread = Thread.currentThread();
            isReady.countDown();
            while (!isDone) {
                LockSupport.park(this);
            }
            woken.getAndIncrement();
        }

        void wake() {
            isDone = true;
            callers.wake(thread);
        }
    }

    private List<Sleeper> sleepers(int count, boolean areVirtual) throws Exception {
        List<Sleeper> sleepers = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Sleeper sleeper = new Sleeper();
            if (areVirtual) {
                Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, sleeper);
            } else {
                Thread thread = new Thread(sleeper);
                thread.setDaemon(true);
                thread.start();
            }
            assertTrue(sleeper.isReady.await(60, TimeUnit.SECONDS));
            sleepers.add(sleeper);
        }
        return sleepers;
    }

    private void assertWoken(int count) throws InterruptedException {
        Await.until("woken", () -> woken.get() == count);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 300})
    void platformThreadsAreWokenAtOnce(int count) throws Exception {
        List<Sleeper> sleepers = sleepers(count, false);
        loop.submit(() -> sleepers.forEach(Sleeper::wake)).get();
        assertWoken(count);
    }

    /** JDK 17 has none. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3_000})
    void virtualThreadsOfATurnAreWokenAtItsEnd(int count) throws Exception {
        assertEquals(Runtime.version().feature() >= 21, VirtualCallers.ARE_PRESENT);
        if (VirtualCallers.ARE_PRESENT) {
            for (int turn = 1; turn <= 3; turn++) {
                List<Sleeper> sleepers = sleepers(count, true);
                loop.submit(() -> sleepers.forEach(Sleeper::wake)).get();
                assertWoken(turn * count);
            }
        }
    }

    @Test
    void threadsAreWokenAfterTheClose() throws Exception {
        loop.submit(callers::close).get();
        List<Sleeper> sleepers = sleepers(3, VirtualCallers.ARE_PRESENT);
        loop.submit(() -> sleepers.forEach(Sleeper::wake)).get();
        assertWoken(3);
    }

    /** Its last task wakes them. */
    @Test
    void threadsAreWokenWhileTheLoopEnds() throws Exception {
        List<Sleeper> sleepers = sleepers(3, VirtualCallers.ARE_PRESENT);
        loop.submit(() -> {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS);
            sleepers.forEach(Sleeper::wake);
        }).get();
        assertWoken(3);
    }
}
