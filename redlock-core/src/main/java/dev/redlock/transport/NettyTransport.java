package dev.redlock.transport;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.kqueue.KQueue;
import io.netty.channel.kqueue.KQueueDomainSocketChannel;
import io.netty.channel.kqueue.KQueueIoHandler;
import io.netty.channel.kqueue.KQueueSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import io.netty.channel.uring.IoUring;
import io.netty.channel.uring.IoUringChannelOption;
import io.netty.channel.uring.IoUringIoHandler;
import io.netty.channel.uring.IoUringSocketChannel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.BiConsumer;
import java.util.function.Supplier;

/**
 * The transports of Netty, best first: epoll, io_uring, kqueue, NIO. Measured, epoll is as quick as io_uring and
 * allocates nothing; see docs/internals/versus-bare-sockets.md.
 *
 * @threading immutable
 */
public enum NettyTransport implements IoTransport {
    /** Linux epoll, with Unix sockets. */
    EPOLL(EpollIoHandler.class, () -> Epoll.unavailabilityCause()) {
        @Override
        public IoHandlerFactory newIoHandlerFactory() {
            return EpollIoHandler.newFactory();
        }

        @Override
        Class<? extends Channel> tcpChannelClass() {
            return EpollSocketChannel.class;
        }

        @Override
        Class<? extends Channel> unixChannelClass() {
            return EpollDomainSocketChannel.class;
        }

        @Override
        void setUserTimeout(final Bootstrap bootstrap, final int userTimeoutMs) {
            bootstrap.option(EpollChannelOption.TCP_USER_TIMEOUT, userTimeoutMs);
        }
    },
    /** Linux io_uring; no Unix sockets. */
    IO_URING(IoUringIoHandler.class, () -> IoUring.unavailabilityCause()) {
        @Override
        public IoHandlerFactory newIoHandlerFactory() {
            return IoUringIoHandler.newFactory();
        }

        @Override
        Class<? extends Channel> tcpChannelClass() {
            return IoUringSocketChannel.class;
        }

        @Override
        void setUserTimeout(final Bootstrap bootstrap, final int userTimeoutMs) {
            bootstrap.option(IoUringChannelOption.TCP_USER_TIMEOUT, userTimeoutMs);
        }
    },
    /** BSD and macOS kqueue, with Unix sockets. */
    KQUEUE(KQueueIoHandler.class, () -> KQueue.unavailabilityCause()) {
        @Override
        public IoHandlerFactory newIoHandlerFactory() {
            return KQueueIoHandler.newFactory();
        }

        @Override
        Class<? extends Channel> tcpChannelClass() {
            return KQueueSocketChannel.class;
        }

        @Override
        Class<? extends Channel> unixChannelClass() {
            return KQueueDomainSocketChannel.class;
        }
    },
    /** The JDK's selector: everywhere. */
    NIO(NioIoHandler.class, () -> null) {
        @Override
        public IoHandlerFactory newIoHandlerFactory() {
            return NioIoHandler.newFactory();
        }

        @Override
        Class<? extends Channel> tcpChannelClass() {
            return NioSocketChannel.class;
        }
    };

    private final Class<? extends IoHandler> ioHandlerClass;
    private final Supplier<Throwable> unavailability;

    NettyTransport(final Class<? extends IoHandler> ioHandlerClass, final Supplier<Throwable> unavailability) {
        this.ioHandlerClass = ioHandlerClass;
        this.unavailability = unavailability;
    }

    /**
     * The best transport of this machine that can reach the addresses.
     *
     * @param needsUnixSockets whether an address is a Unix socket
     * @return the choice; its description names the reason for each refusal
     */
    public static Choice best(final boolean needsUnixSockets) {
        final StringBuilder refusals = new StringBuilder();
        for (final NettyTransport transport : values()) {
            final String refusal = transport.refusal(needsUnixSockets);
            if (refusal == null) {
                return new Choice(transport, transport.toString() + refusals);
            }
            refusals.append(refusals.isEmpty() ? " (" : "; ").append(transport).append(": ").append(refusal);
        }
        throw new IllegalStateException("no transport can be used" + refusals + ")");
    }

    /**
     * The transport that an event loop of the user's belongs to.
     *
     * @param loop a Netty 4.2 event loop
     * @return the transport
     * @throws IllegalArgumentException if it runs none of ours
     */
    public static NettyTransport of(final EventLoop loop) {
        if (loop instanceof IoEventLoop ioLoop) {
            for (final NettyTransport transport : values()) {
                if (ioLoop.isIoType(transport.ioHandlerClass)) {
                    return transport;
                }
            }
        }
        throw new IllegalArgumentException("event loop " + loop.getClass().getName()
                + " runs no known transport: give one made with an io_uring, epoll, kqueue or NIO IoHandlerFactory");
    }

    /**
     * Why this transport cannot be used.
     *
     * @param needsUnixSockets whether an address is a Unix socket
     * @return the reason, or null if it can
     */
    public String refusal(final boolean needsUnixSockets) {
        try {
            final Throwable cause = unavailability.get();
            if (cause != null) {
                return reasonOf(cause);
            }
        } catch (final LinkageError e) {
            return "its classes are not on the class path";
        }
        return needsUnixSockets && unixChannelClass() == null ? "it has no Unix domain sockets" : null;
    }

    private static String reasonOf(final Throwable cause) {
        Throwable root = cause;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        final String message = String.valueOf(root.getMessage());
        final int end = message.indexOf('\n');
        return end < 0 ? message : message.substring(0, end);
    }

    abstract Class<? extends Channel> tcpChannelClass();

    Class<? extends Channel> unixChannelClass() {
        return null;
    }

    void setUserTimeout(final Bootstrap bootstrap, final int userTimeoutMs) {
        // Only Linux has the option; elsewhere the unanswered-request watch of the node does this work alone.
    }

    @Override
    public String description() {
        return toString();
    }

    @Override
    public Class<? extends Channel> channelClass(final NodeAddress address) {
        if (!address.isUnixSocket()) {
            return tcpChannelClass();
        }
        if (unixChannelClass() == null) {
            throw new IllegalArgumentException("transport " + this + " has no Unix domain sockets, which " + address
                    + " needs: use EPOLL or KQUEUE, or let the transport be chosen");
        }
        return unixChannelClass();
    }

    @Override
    public void tune(final Bootstrap bootstrap, final NodeAddress address, final int userTimeoutMs) {
        if (!address.isUnixSocket()) {
            bootstrap.option(ChannelOption.TCP_NODELAY, true).option(ChannelOption.SO_KEEPALIVE, true);
            setUserTimeout(bootstrap, userTimeoutMs);
        }
    }

    @Override
    public void resolve(final NodeAddress address, final EventLoop loop,
            final BiConsumer<SocketAddress, Throwable> answer) {
        if (address.isUnixSocket()) {
            answer.accept(new DomainSocketAddress(address.path()), null);
            return;
        }
        // A look-up can block for seconds, so it gets a thread of its own; there is at most one per node at a time.
        final Callable<SocketAddress> askedMask = () -> new InetSocketAddress(InetAddress.getByName(address.host()),
                address.port());
        final Thread lookup = new Thread(() -> lookUp(askedMask, loop, answer), "redlock-lookup-" + address);
        lookup.setDaemon(true);
        lookup.start();
    }

    /** Answers on the loop, whatever the look-up throws: a node waits for it. */
    static void lookUp(final Callable<SocketAddress> askedMask, final Executor loop,
            final BiConsumer<SocketAddress, Throwable> answer) {
        SocketAddress found = null;
        Throwable failure = null;
        try {
            found = askedMask.call();
        } catch (final Exception | Error e) {
            failure = e;
        }
        final SocketAddress socketAddress = found;
        final Throwable cause = failure;
        try {
            loop.execute(() -> answer.accept(socketAddress, cause));
        } catch (final RejectedExecutionException e) {
            // The loop has ended, or takes no tasks now. Then the node's deadline tries again.
        }
    }

    /**
     * A transport and why it was chosen.
     *
     * @param transport   the transport
     * @param description one line: its name and the refusals of the better ones
     * @threading immutable
     */
    public record Choice(NettyTransport transport, String description) {
        /** Closes the list of refusals. */
        public Choice {
            description = description.indexOf('(') < 0 ? description : description + ")";
        }
    }
}
