package dev.redlock.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.DefaultEventLoop;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.unix.DomainSocketAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.util.concurrent.CompletableFuture;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class IoTransportsTest {

    private static final NodeAddress TCP = NodeAddress.parse("127.0.0.1:6379");
    private static final NodeAddress UNIX = NodeAddress.parse("unix:///run/redis.sock");

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void takesTheFirstThatIsNotRefusedAndSaysWhy(final boolean needsUnixSockets) {
        final StringBuilder refusals = new StringBuilder();
        for (final IoTransports transport : IoTransports.values()) {
            final String refusal = transport.refusal(needsUnixSockets);
            if (refusal == null) {
                final IoTransports.Choice choice = IoTransports.best(needsUnixSockets);
                assertSame(transport, choice.transport());
                assertEquals(transport + (refusals.isEmpty() ? "" : " (" + refusals + ")"), choice.description());
                return;
            }
            refusals.append(refusals.isEmpty() ? "" : "; ").append(transport).append(": ").append(refusal);
        }
        assertTrue(needsUnixSockets, "NIO is everywhere");
        final IllegalStateException e = assertThrows(IllegalStateException.class, () -> IoTransports.best(true));
        assertEquals("no transport can be used (" + refusals + ")", e.getMessage());
    }

    @Test
    void nioIsAlwaysThereButHasNoUnixSockets() {
        assertNull(IoTransports.NIO.refusal(false));
        assertEquals("it has no Unix domain sockets", IoTransports.NIO.refusal(true));
        assertEquals("NIO", IoTransports.NIO.description());
    }

    @ParameterizedTest
    @EnumSource(IoTransports.class)
    void aRefusalIsOneLine(final IoTransports transport) {
        final String refusal = transport.refusal(true);
        assertTrue(refusal == null || !refusal.isBlank() && refusal.indexOf('\n') < 0, refusal);
    }

    @ParameterizedTest
    @EnumSource(IoTransports.class)
    void knowsItsChannels(final IoTransports transport) {
        assertNotNull(transport.channelClass(TCP));
        if (transport == IoTransports.EPOLL || transport == IoTransports.KQUEUE) {
            assertTrue(transport.channelClass(UNIX).getSimpleName().contains("DomainSocket"));
        } else {
            assertEquals("transport " + transport + " has no Unix domain sockets, which unix:///run/redis.sock needs:"
                    + " use EPOLL or KQUEUE, or let the transport be chosen",
                    assertThrows(IllegalArgumentException.class, () -> transport.channelClass(UNIX)).getMessage());
        }
    }

    @Test
    void epollComesBeforeIoUringBecauseItIsAsQuickAndAllocatesNothing() {
        assertEquals(List.of(IoTransports.EPOLL, IoTransports.IO_URING, IoTransports.KQUEUE, IoTransports.NIO),
                List.of(IoTransports.values()));
    }

    @ParameterizedTest
    @EnumSource(IoTransports.class)
    void tellsWhatAGivenLoopRuns(final IoTransports transport) {
        Assumptions.assumeTrue(transport.refusal(false) == null, transport + " cannot run here");
        withLoop(new MultiThreadIoEventLoopGroup(1, transport.newIoHandlerFactory()),
                loop -> assertSame(transport, IoTransports.of(loop)));
    }

    @Test
    void refusesALoopThatRunsNoneOfThem() {
        final DefaultEventLoop loop = new DefaultEventLoop();
        try {
            assertEquals(
                    "event loop io.netty.channel.DefaultEventLoop runs no known transport: give one made with an"
                            + " io_uring, epoll, kqueue or NIO IoHandlerFactory",
                    assertThrows(IllegalArgumentException.class, () -> IoTransports.of(loop)).getMessage());
        } finally {
            loop.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private static void withLoop(final MultiThreadIoEventLoopGroup group, final LoopTest test) {
        try {
            test.run((EventLoop) group.next());
        } finally {
            group.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private static Object resolved(final NodeAddress address) {
        final CompletableFuture<Object> answer = new CompletableFuture<>();
        withLoop(new MultiThreadIoEventLoopGroup(1, IoTransports.NIO.newIoHandlerFactory()), loop -> {
            loop.execute(() -> IoTransports.NIO.resolve(address, loop, (found, failure) -> answer
                    .complete(loop.inEventLoop() ? found == null ? failure : found : "not on the loop")));
            answer.orTimeout(20, TimeUnit.SECONDS).join();
        });
        return answer.join();
    }

    @Test
    void looksAddressesUpAndAnswersOnTheLoop() {
        final SocketAddress tcp = (SocketAddress) resolved(TCP);
        assertEquals(new InetSocketAddress("127.0.0.1", 6379), tcp);
        assertEquals(new DomainSocketAddress("/run/redis.sock"), resolved(UNIX));
    }

    @Test
    void aNameThatCannotBeLookedUpIsAFailure() {
        // RFC 6761: names under .invalid never exist.
        assertTrue(resolved(NodeAddress.parse("no-such-host.invalid:1")) instanceof UnknownHostException);
    }

    /** A test that needs an event loop. */
    @FunctionalInterface
    private interface LoopTest {
        void run(EventLoop loop);
    }
}
