package dev.redlock.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.testing.Await;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
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
    private final VirtualCallers callers = new VirtualCallers(new Forgetful().loop);
    /** The loop has no memory for the next tasks. */
    private volatile int tasksToLose;
    private final AtomicInteger woken = new AtomicInteger();

    @AfterEach
    void end() throws Exception {
        if (!loop.isShuttingDown()) {
            loop.submit(callers::close).get();
        }
        assertTrue(group.shutdownGracefully(0, 10, TimeUnit.SECONDS).await(60, TimeUnit.SECONDS));
    }

    /** The loop, which may throw instead of taking a task. */
    private final class Forgetful implements InvocationHandler {

        private final EventLoop loop = (EventLoop) Proxy.newProxyInstance(VirtualCallersTest.class.getClassLoader(),
                new Class<?>[]{EventLoop.class}, this);

        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            boolean isTask = method.getName().equals("execute") || method.getName().equals("schedule");
            if (isTask && tasksToLose > 0) {
                tasksToLose--;
                throw new OutOfMemoryError("thrown by a test");
            }
            return method.invoke(VirtualCallersTest.this.loop, arguments);
        }
    }

    /** A process of one carrier, to which a thread is pinned that waits for its wake-up. */
    static final class Pinned {

        private static final CountDownLatch PINNED = new CountDownLatch(1);
        private static volatile Thread pinned;
        private static volatile boolean isDone;

        private Pinned() {
        }

        /** Parks in its initializer, which no thread leaves for another one. */
        static final class Initializer {

            private Initializer() {
            }

            static {
                pinned = Thread.currentThread();
                PINNED.countDown();
                while (!isDone) {
                    LockSupport.park();
                }
            }
        }

        private static Thread start(Runnable task) throws ReflectiveOperationException {
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
        }

        /** Prints "woken" when both have ended. */
        public static void main(String[] args) throws Exception {
            MultiThreadIoEventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
            EventLoop loop = group.next();
            VirtualCallers callers = new VirtualCallers(loop);
            CountDownLatch isParked = new CountDownLatch(1);
            Thread free = start(() -> {
                isParked.countDown();
                while (!isDone) {
                    LockSupport.park();
                }
            });
            isParked.await();
            Thread held = start(() -> {
                try {
                    Class.forName(Initializer.class.getName());
                } catch (ClassNotFoundException e) {
                    throw new IllegalStateException(e);
                }
            });
            PINNED.await();
            isDone = true;
            loop.submit(() -> {
                callers.wake(pinned);
                callers.wake(free);
            }).get();
            held.join();
            free.join();
            System.out.println("woken");
            System.exit(0);
        }
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

    /** No carrier is free for the waker, and none will be until the loop has woken a thread itself. */
    @Test
    void aThreadThatIsPinnedToTheOnlyCarrierIsWoken() throws Exception {
        if (VirtualCallers.ARE_PRESENT) {
            Process process = new ProcessBuilder(ProcessHandle.current().info().command().orElse("java"),
                    "-Djdk.virtualThreadScheduler.parallelism=1", "-Djdk.virtualThreadScheduler.maxPoolSize=1",
                    "-classpath", System.getProperty("java.class.path"), Pinned.class.getName())
                    .redirectErrorStream(true)
                    .start();
            try {
                assertTrue(process.waitFor(50, TimeUnit.SECONDS), "both are woken");
                assertEquals("woken", new String(process.getInputStream().readAllBytes(), UTF_8).strip());
            } finally {
                process.destroyForcibly();
            }
        }
    }

    /** Without memory for the task at the end of the turn or for the check, the loop wakes them itself. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void threadsAreWokenWithoutMemoryForATask(int lostTasks) throws Exception {
        List<Sleeper> sleepers = sleepers(3, VirtualCallers.ARE_PRESENT);
        loop.submit(() -> {
            tasksToLose = lostTasks;
            sleepers.forEach(Sleeper::wake);
        }).get();
        assertWoken(3);
        tasksToLose = 0;
        List<Sleeper> others = sleepers(3, VirtualCallers.ARE_PRESENT);
        loop.submit(() -> others.forEach(Sleeper::wake)).get();
        assertWoken(6);
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
