package dev.redlock.close;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.api.CloseReport;
import dev.redlock.engine.ClientConfig;
import dev.redlock.engine.ClientLoops;
import dev.redlock.sim.SocketNodes;
import dev.redlock.testing.Await;
import dev.redlock.testing.BlockedCall;
import dev.redlock.transport.IoTransport;
import dev.redlock.transport.NettyTransport;
import dev.redlock.transport.NodeAddress;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SingleThreadIoEventLoop;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.IntSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A client that runs event loops of its own: their transport, and their end when the client closes. */
@Timeout(60)
class OwnLoopsTest {

    @Test
    void theTransportIsDescribed() {
        try (Redlock redlock = TestClient.unreachable()) {
            assertEquals("NIO as configured", redlock.transportDescription());
        }
        try (Redlock redlock = Redlock.connect(new RedlockContext().nodes("127.0.0.1:1"))) {
            assertEquals(NettyTransport.best(false).description(), redlock.transportDescription());
        }
    }

    @Test
    void aCloseOnTheLoopEndsItsThread() throws InterruptedException {
        Redlock redlock = TestClient.unreachable();
        Thread loop = TestClient.onLoop(redlock, () -> {
            redlock.close();
            return Thread.currentThread();
        });
        loop.join(20_000);
        assertFalse(loop.isAlive(), "the thread has ended");
    }

    @Test
    void aCloseReturnsAfterTheThreadOfTheLoopHasEnded() throws InterruptedException {
        Redlock redlock = TestClient.unreachable();
        CountDownLatch blocking = new CountDownLatch(1);
        CompletableFuture<CloseReport> report = new CompletableFuture<>();
        Thread loop = TestClient.onLoop(redlock, () -> {
            TestClient.engineOf(redlock).loops.close(0).thenAccept(closed -> {
                report.complete(closed);
                awaitUninterruptibly(blocking);
            });
            return Thread.currentThread();
        });
        CloseReport closed = report.orTimeout(60, TimeUnit.SECONDS).join();
        BlockedCall<CloseReport> closing = new BlockedCall<>(() -> {
            CloseReport second = redlock.closeWithin(Duration.ZERO);
            assertFalse(loop.isAlive(), "the thread has ended");
            return second;
        });
        closing.awaitBlocked();
        assertTrue(loop.isAlive(), "the test blocks it");
        blocking.countDown();
        assertEquals(closed, closing.result(), "the report of the first close");
    }

    /**
     * A transport whose loops are recorded.
     *
     * @param failure thrown for lack of what the loop needs; null for none
     */
    private record RecordedLoops(List<IoEventLoop> loops, RuntimeException failure, boolean isLate)
            implements
                IoTransport {

        @Override
        public String description() {
            return NettyTransport.NIO.description();
        }

        @Override
        public IoHandlerFactory newIoHandlerFactory() {
            if (failure != null && !isLate) {
                throw failure;
            }
            return executor -> {
                loops.add((IoEventLoop) executor);
                return NettyTransport.NIO.newIoHandlerFactory().newHandler(executor);
            };
        }

        /** Called after the thread of the loop has started. */
        @Override
        public ByteBufAllocator allocator() {
            if (failure != null) {
                throw failure;
            }
            return NettyTransport.NIO.allocator();
        }

        @Override
        public Class<? extends Channel> channelClass(NodeAddress address) {
            return NettyTransport.NIO.channelClass(address);
        }

        @Override
        public void tune(Bootstrap bootstrap, NodeAddress address, int userTimeoutMs) {
            NettyTransport.NIO.tune(bootstrap, address, userTimeoutMs);
        }

        @Override
        public void resolve(NodeAddress address, Executor threads, EventLoop loop,
                BiConsumer<List<SocketAddress>, Throwable> answer) {
            NettyTransport.NIO.resolve(address, threads, loop, answer);
        }

        /** Whether a thread runs one of the loops. */
        boolean isAnyRun() {
            return Thread.getAllStackTraces()
                    .keySet()
                    .stream()
                    .anyMatch(thread -> loops.stream().anyMatch(loop -> loop.inEventLoop(thread)));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aLoopThatCannotBeCreatedEndsThoseBeforeIt(boolean isLate) {
        ClientConfig config = TestClient.conclude(new RedlockContext().nodes("127.0.0.1:1"));
        IllegalStateException failure = new IllegalStateException("too many open files, thrown by a test");
        RecordedLoops good = new RecordedLoops(new CopyOnWriteArrayList<>(), null, false);
        RecordedLoops bad = new RecordedLoops(good.loops, failure, isLate);
        assertSame(failure, assertThrows(IllegalStateException.class,
                () -> ClientLoops.onOwnLoops(config, List.of(good, good, bad, good), "given")));
        assertEquals(isLate ? 3 : 2, good.loops.size());
        Await.until("no thread runs a loop", () -> !good.isAnyRun());
        good.loops.forEach(loop -> assertTrue(loop.isTerminated()));
    }

    /** Executes nothing for clients. */
    private static final class RejectingLoop extends SingleThreadIoEventLoop {

        private final Runnable beforeRejection;
        private final AtomicBoolean hasRejected = new AtomicBoolean();

        RejectingLoop(Runnable beforeRejection) {
            super(null, (ThreadFactory) Thread::new, NettyTransport.NIO.newIoHandlerFactory());
            this.beforeRejection = beforeRejection;
        }

        @Override
        public void execute(Runnable task) {
            if (inEventLoop()) {
                super.execute(task);
                return;
            }
            if (!hasRejected.getAndSet(true)) {
                beforeRejection.run();
            }
            throw new IllegalStateException("the loop executes nothing");
        }
    }

    @Test
    void aConnectThatThrowsClosesItsConnections() throws Exception {
        EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NettyTransport.NIO.newIoHandlerFactory());
        SocketNodes nodes = new SocketNodes(1);
        IntSupplier connections = () -> nodes.onLoop(0, () -> nodes.node(0).connectionCount());
        EventLoop second = new RejectingLoop(() -> Await.until("connected", () -> connections.getAsInt() > 0));
        try {
            RedlockContext context = new RedlockContext().nodes(nodes.addresses()).eventLoops(group.next(), second);
            IllegalStateException thrown = assertThrows(IllegalStateException.class, () -> Redlock.connect(context));
            assertEquals("the loop executes nothing", thrown.getMessage());
            Await.until("closed", () -> connections.getAsInt() == 0);
        } finally {
            nodes.close();
            group.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
            second.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
        }
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
