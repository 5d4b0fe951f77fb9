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
import java.io.FileNotFoundException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The transports of Netty, best first: epoll, io_uring, kqueue, NIO. In measurements epoll is as fast as io_uring and
 * allocates nothing; see docs/internals/versus-bare-sockets.md. The jar of each transport may be absent: its classes
 * are loaded only if it is considered.
 *
 * @threading immutable
 */
public enum NettyTransport implements IoTransport {
    /** Linux epoll, with Unix sockets. */
    EPOLL(() -> EpollIoHandler.class, () -> Epoll.unavailabilityCause(), () -> EpollIoHandler.newFactory(),
            () -> EpollSocketChannel.class, () -> EpollDomainSocketChannel.class,
            () -> EpollChannelOption.TCP_USER_TIMEOUT),
    /** Linux io_uring; no Unix sockets. Its native library is a dependency that the user adds. */
    IO_URING(() -> IoUringIoHandler.class, () -> IoUring.unavailabilityCause(), () -> IoUringIoHandler.newFactory(),
            () -> IoUringSocketChannel.class, () -> null, () -> IoUringChannelOption.TCP_USER_TIMEOUT),
    /** BSD and macOS kqueue, with Unix sockets. */
    KQUEUE(() -> KQueueIoHandler.class, () -> KQueue.unavailabilityCause(), () -> KQueueIoHandler.newFactory(),
            () -> KQueueSocketChannel.class, () -> KQueueDomainSocketChannel.class, () -> null),
    /** The JDK's selector, on every platform; no Unix sockets. */
    NIO(() -> NioIoHandler.class, () -> null, () -> NioIoHandler.newFactory(), () -> NioSocketChannel.class,
            () -> null, () -> null);

    private final Supplier<Class<? extends IoHandler>> ioHandlerClass;
    private final Supplier<Throwable> unavailability;
    private final Supplier<IoHandlerFactory> ioHandlerFactory;
    private final Supplier<Class<? extends Channel>> tcpChannelClass;
    /** Supplies null if the transport has no Unix sockets. */
    private final Supplier<Class<? extends Channel>> unixChannelClass;
    /** Supplies null except on Linux. There the node's limit for unanswered requests detects a dead peer. */
    private final Supplier<ChannelOption<Integer>> userTimeout;

    /** The suppliers are lambdas: a reference to a method would load its class here. */
    NettyTransport(Supplier<Class<? extends IoHandler>> ioHandlerClass, Supplier<Throwable> unavailability,
            Supplier<IoHandlerFactory> ioHandlerFactory, Supplier<Class<? extends Channel>> tcpChannelClass,
            Supplier<Class<? extends Channel>> unixChannelClass, Supplier<ChannelOption<Integer>> userTimeout) {
        this.ioHandlerClass = ioHandlerClass;
        this.unavailability = unavailability;
        this.ioHandlerFactory = ioHandlerFactory;
        this.tcpChannelClass = tcpChannelClass;
        this.unixChannelClass = unixChannelClass;
        this.userTimeout = userTimeout;
    }

    /**
     * Chooses the best transport of this machine that can reach the addresses.
     *
     * @return the choice; its description contains the reason for each transport that was rejected
     * @throws IllegalStateException if no transport has Unix sockets here; the message contains the same reasons
     */
    public static Choice best(boolean needsUnixSockets) {
        return best(bestOf(System.getProperty("os.name", "")), transport -> transport.refusal(needsUnixSockets));
    }

    static Choice best(NettyTransport expected, Function<NettyTransport, String> refusals) {
        StringBuilder rejected = new StringBuilder();
        String warning = null;
        for (NettyTransport transport : values()) {
            String reason = refusals.apply(transport);
            if (reason == null) {
                String description = rejected.isEmpty()
                        ? transport.toString()
                        : transport + rejected.toString() + ")";
                return new Choice(transport, description, warning == null
                        ? null
                        : "TransportKind.AUTO chose " + transport + ", not " + expected + ": " + warning
                                + "; set transport(TransportKind." + transport + ") to accept this");
            }
            if (transport == expected) {
                warning = reason;
            }
            rejected.append(rejected.isEmpty() ? " (" : "; ").append(transport).append(": ").append(reason);
        }
        throw new IllegalStateException("no transport can be used" + rejected + ")");
    }

    /** @return the transport that an operating system has if no jar is missing */
    static NettyTransport bestOf(String osName) {
        return osName.startsWith("Linux") ? EPOLL : osName.startsWith("Mac") ? KQUEUE : NIO;
    }

    /**
     * Finds the transport of a given event loop.
     *
     * @param loop a Netty 4.2 event loop
     * @throws IllegalArgumentException if the loop runs none of these transports
     */
    public static NettyTransport of(EventLoop loop) {
        if (loop instanceof IoEventLoop ioLoop) {
            for (NettyTransport transport : values()) {
                if (transport.isOf(ioLoop)) {
                    return transport;
                }
            }
        }
        throw new IllegalArgumentException("event loop " + loop.getClass().getName()
                + " runs no known transport: create it with an epoll, io_uring, kqueue or NIO IoHandlerFactory");
    }

    private boolean isOf(IoEventLoop loop) {
        try {
            return loop.isIoType(ioHandlerClass.get());
        } catch (LinkageError e) {
            // Its jar is absent, so no loop can run it.
            return false;
        }
    }

    /**
     * Returns the reason why this transport cannot be used.
     *
     * @return the reason, one line; null if it can be used
     */
    public String refusal(boolean needsUnixSockets) {
        try {
            Throwable cause = unavailability.get();
            if (cause != null) {
                return reasonOf(cause);
            }
        } catch (LinkageError e) {
            return "its classes are on neither the class path nor the module path";
        }
        return needsUnixSockets && unixChannelClass.get() == null ? "it has no Unix domain sockets" : null;
    }

    private static String reasonOf(Throwable cause) {
        Throwable root = cause;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        String message = String.valueOf(root.getMessage());
        if (root instanceof FileNotFoundException) {
            return "its native library " + message + " is on neither the class path nor the module path";
        }
        int end = message.indexOf('\n');
        return end < 0 ? message : message.substring(0, end);
    }

    @Override
    public IoHandlerFactory newIoHandlerFactory() {
        return ioHandlerFactory.get();
    }

    @Override
    public String description() {
        return toString();
    }

    @Override
    public Class<? extends Channel> channelClass(NodeAddress address) {
        if (!address.isUnixSocket()) {
            return tcpChannelClass.get();
        }
        if (unixChannelClass.get() == null) {
            throw new IllegalArgumentException("transport " + this + " has no Unix domain sockets, which " + address
                    + " needs: use EPOLL, KQUEUE or AUTO");
        }
        return unixChannelClass.get();
    }

    @Override
    public void tune(Bootstrap bootstrap, NodeAddress address, int userTimeoutMs) {
        if (!address.isUnixSocket()) {
            bootstrap.option(ChannelOption.TCP_NODELAY, true).option(ChannelOption.SO_KEEPALIVE, true);
            if (userTimeout.get() != null) {
                bootstrap.option(userTimeout.get(), userTimeoutMs);
            }
        }
    }

    @Override
    public void resolve(NodeAddress address, Executor threads, EventLoop loop,
            BiConsumer<List<SocketAddress>, Throwable> answer) {
        if (address.isUnixSocket()) {
            answer.accept(List.of(new DomainSocketAddress(address.path())), null);
            return;
        }
        Callable<List<SocketAddress>> lookup = () -> Arrays.stream(InetAddress.getAllByName(address.host()))
                .<SocketAddress>map(found -> new InetSocketAddress(found, address.port()))
                .toList();
        if (address.isIpAddress()) {
            lookUp(lookup, Runnable::run, answer);
        } else {
            threads.execute(() -> lookUp(lookup, loop, answer));
        }
    }

    /** Calls back on the loop whatever the lookup throws, because a node waits for the answer. */
    static void lookUp(Callable<List<SocketAddress>> lookup, Executor loop,
            BiConsumer<List<SocketAddress>, Throwable> answer) {
        List<SocketAddress> found = null;
        Throwable failure = null;
        try {
            found = lookup.call();
        } catch (Exception | Error e) {
            failure = e;
        }
        List<SocketAddress> addresses = found;
        Throwable cause = failure;
        try {
            loop.execute(() -> answer.accept(addresses, cause));
        } catch (RejectedExecutionException e) {
            // The loop has ended or is overloaded. The node's deadline then starts the next lookup.
        }
    }

    /**
     * A transport and the reasons for it.
     *
     * @param description one line: its name, and the reason for each better one that was rejected
     * @param warning     a log line if the operating system has a better transport; null if it has none
     * @threading immutable
     */
    public record Choice(NettyTransport transport, String description, String warning) {
    }
}
