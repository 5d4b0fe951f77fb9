package dev.redlock.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultEventLoop;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.unix.DomainSocketAddress;
import io.netty.channel.uring.IoUringChannelOption;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class NettyTransportTest {

    private static final NodeAddress TCP = NodeAddress.parse("127.0.0.1:6379");
    private static final NodeAddress UNIX = NodeAddress.parse("unix:///run/redis.sock");

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void takesTheFirstThatIsNotRefusedAndSaysWhy(boolean needsUnixSockets) {
        StringBuilder refusals = new StringBuilder();
        for (NettyTransport transport : NettyTransport.values()) {
            String refusal = transport.refusal(needsUnixSockets);
            if (refusal == null) {
                NettyTransport.Choice choice = NettyTransport.best(needsUnixSockets);
                assertSame(transport, choice.transport());
                assertEquals(transport + (refusals.isEmpty() ? "" : " (" + refusals + ")"), choice.description());
                return;
            }
            refusals.append(refusals.isEmpty() ? "" : "; ").append(transport).append(": ").append(refusal);
        }
        assertTrue(needsUnixSockets, "NIO is everywhere");
        IllegalStateException e = assertThrows(IllegalStateException.class, () -> NettyTransport.best(true));
        assertEquals("no transport can be used (" + refusals + ")", e.getMessage());
    }

    @ParameterizedTest
    @CsvSource({"Linux,EPOLL", "Mac OS X,KQUEUE", "Windows 11,NIO", "FreeBSD,NIO"})
    void theTransportOfTheOperatingSystemNeedsNoWarning(String osName, NettyTransport best) {
        assertSame(best, NettyTransport.bestOf(osName));
        NettyTransport.Choice choice = NettyTransport.best(best, other -> other == best ? null : "not here");
        assertSame(best, choice.transport());
        assertNull(choice.warning());
    }

    @Test
    void aLesserTransportIsAWarningWithTheReason() {
        NettyTransport.Choice choice = NettyTransport.best(NettyTransport.EPOLL,
                transport -> transport == NettyTransport.NIO ? null : "no " + transport + " library");
        assertSame(NettyTransport.NIO, choice.transport());
        assertEquals("TransportKind.AUTO chose NIO, not EPOLL: no EPOLL library; set transport(TransportKind.NIO) to"
                + " accept this", choice.warning());
        assertEquals("NIO (EPOLL: no EPOLL library; IO_URING: no IO_URING library; KQUEUE: no KQUEUE library)",
                choice.description());
    }

    @Test
    void nioIsAlwaysThereButHasNoUnixSockets() {
        assertNull(NettyTransport.NIO.refusal(false));
        assertEquals("it has no Unix domain sockets", NettyTransport.NIO.refusal(true));
        assertEquals("NIO", NettyTransport.NIO.description());
    }

    @ParameterizedTest
    @EnumSource(NettyTransport.class)
    void aRefusalIsOneLine(NettyTransport transport) {
        String refusal = transport.refusal(true);
        assertTrue(refusal == null || !refusal.isBlank() && refusal.indexOf('\n') < 0, refusal);
    }

    @ParameterizedTest
    @EnumSource(NettyTransport.class)
    void knowsItsChannels(NettyTransport transport) {
        assertNotNull(transport.channelClass(TCP));
        if (transport == NettyTransport.EPOLL || transport == NettyTransport.KQUEUE) {
            assertTrue(transport.channelClass(UNIX).getSimpleName().contains("DomainSocket"));
        } else {
            assertEquals("transport " + transport + " has no Unix domain sockets, which unix:///run/redis.sock needs:"
                    + " use EPOLL, KQUEUE or AUTO",
                    assertThrows(IllegalArgumentException.class, () -> transport.channelClass(UNIX)).getMessage());
        }
    }

    @Test
    void epollComesBeforeIoUringBecauseItIsAsQuickAndAllocatesNothing() {
        assertEquals(List.of(NettyTransport.EPOLL, NettyTransport.IO_URING, NettyTransport.KQUEUE, NettyTransport.NIO),
                List.of(NettyTransport.values()));
    }

    @ParameterizedTest
    @EnumSource(NettyTransport.class)
    void tellsWhatAGivenLoopRuns(NettyTransport transport) {
        Assumptions.assumeTrue(transport.refusal(false) == null, transport + " cannot run here");
        withLoop(new MultiThreadIoEventLoopGroup(1, transport.newIoHandlerFactory()),
                loop -> assertSame(transport, NettyTransport.of(loop)));
    }

    /** Asked of the socket itself: a dead peer is given up in bounded time where the transport can say so. */
    @ParameterizedTest
    @EnumSource(NettyTransport.class)
    void socketsAreKeptAliveAndGiveUpAnUnansweringPeer(NettyTransport transport) {
        Assumptions.assumeTrue(transport.refusal(false) == null, transport + " cannot run here");
        withLoop(new MultiThreadIoEventLoopGroup(1, transport.newIoHandlerFactory()), loop -> {
            Bootstrap bootstrap = new Bootstrap().group(loop)
                    .channel(transport.channelClass(TCP))
                    .handler(new ChannelInboundHandlerAdapter());
            transport.tune(bootstrap, TCP, 2_345);
            Channel channel = bootstrap.register().syncUninterruptibly().channel();
            assertEquals(true, channel.config().getOption(ChannelOption.SO_KEEPALIVE));
            assertEquals(true, channel.config().getOption(ChannelOption.TCP_NODELAY));
            if (transport == NettyTransport.EPOLL) {
                assertEquals(2_345, channel.config().getOption(EpollChannelOption.TCP_USER_TIMEOUT));
            } else if (transport == NettyTransport.IO_URING) {
                assertEquals(2_345, channel.config().getOption(IoUringChannelOption.TCP_USER_TIMEOUT));
            }
            channel.close().syncUninterruptibly();
        });
    }

    @Test
    void refusesALoopThatRunsNoneOfThem() {
        DefaultEventLoop loop = new DefaultEventLoop();
        try {
            assertEquals(
                    "event loop io.netty.channel.DefaultEventLoop runs no known transport: create it with"
                            + " an epoll, io_uring, kqueue or NIO IoHandlerFactory",
                    assertThrows(IllegalArgumentException.class, () -> NettyTransport.of(loop)).getMessage());
        } finally {
            loop.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private static void withLoop(MultiThreadIoEventLoopGroup group, LoopTest test) {
        try {
            test.run((EventLoop) group.next());
        } finally {
            group.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private static Object resolved(NodeAddress address) {
        return resolved(address, task -> new Thread(task, "lookup").start());
    }

    private static Object resolved(NodeAddress address, Executor threads) {
        CompletableFuture<Object> answer = new CompletableFuture<>();
        withLoop(new MultiThreadIoEventLoopGroup(1, NettyTransport.NIO.newIoHandlerFactory()), loop -> {
            loop.execute(() -> NettyTransport.NIO.resolve(address, threads, loop, (found, failure) -> answer
                    .complete(loop.inEventLoop() ? found == null ? failure : found.get(0) : "not on the loop")));
            answer.orTimeout(60, TimeUnit.SECONDS).join();
        });
        return answer.join();
    }

    @Test
    void looksAddressesUpAndAnswersOnTheLoop() {
        assertEquals(new InetSocketAddress("localhost", 6379), resolved(NodeAddress.parse("localhost:6379")));
    }

    @Test
    void anIpAddressAndASocketNeedNoThread() {
        Executor none = task -> {
            throw new AssertionError("a thread for an address without a name");
        };
        assertEquals(new InetSocketAddress("127.0.0.1", 6379), resolved(TCP, none));
        assertEquals(new InetSocketAddress("::1", 6379), resolved(NodeAddress.parse("[::1]:6379"), none));
        assertEquals(new DomainSocketAddress("/run/redis.sock"), resolved(UNIX, none));
    }

    @Test
    void aNameThatCannotBeLookedUpIsAFailure() {
        // RFC 6761: names under .invalid never exist.
        assertTrue(resolved(NodeAddress.parse("no-such-host.invalid:1")) instanceof UnknownHostException);
    }

    @Test
    void whateverALookUpThrowsIsItsAnswer() {
        for (Throwable thrown : List.of(new IllegalStateException("a bug, thrown by a test"),
                new OutOfMemoryError("no thread, thrown by a test"), new IOException("a file, thrown by a test"))) {
            List<Object> answers = new ArrayList<>();
            NettyTransport.lookUp(() -> {
                if (thrown instanceof Error error) {
                    throw error;
                }
                throw (Exception) thrown;
            }, Runnable::run, (found, failure) -> answers.add(failure));
            assertEquals(List.of(thrown), answers);
        }
    }

    /** The thread of the look-up is nobody's: an exception would end up on the process's standard error. */
    @Test
    void anAnswerThatTheLoopRejectsIsDropped() {
        List<Object> answers = new ArrayList<>();
        NettyTransport.lookUp(() -> List.of(new InetSocketAddress(1)), task -> {
            throw new RejectedExecutionException("a full queue, thrown by a test");
        }, (found, failure) -> answers.add(found));
        assertEquals(List.of(), answers);
    }

    /** A test that needs an event loop. */
    @FunctionalInterface
    private interface LoopTest {
        void run(EventLoop loop);
    }
}
