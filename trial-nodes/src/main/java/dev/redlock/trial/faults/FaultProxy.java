package dev.redlock.trial.faults;

import dev.redlock.transport.NodeAddress;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.ReferenceCountUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A proxy on loopback before one node. It forwards bytes until a fault is set. The node's own address stays reachable
 * for direct checks.
 *
 * @threading any thread; each call returns when its fault is in force. Links are confined to its event loop.
 */
public final class FaultProxy implements AutoCloseable {
    private static final int BACKLOG = 256;

    /** @threading immutable */
    private enum Traffic {
        /** Everything passes at once. */
        PASS,
        /** Everything passes after a delay, in order, both ways. */
        SLOW,
        /**
         * Nothing passes and nothing is closed: half-open connections. Data sent meanwhile arrives afterwards, even if
         * its sender has given up.
         */
        STALL,
        /** Requests pass, replies are dropped; the connections are closed afterwards. */
        MUTE,
        /** Connections are closed, and new ones as soon as they are opened. */
        CUT
    }

    private NodeAddress target;
    private final MultiThreadIoEventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final List<ProxyLink> links = new ArrayList<>();
    private final Channel server;
    private Traffic traffic = Traffic.PASS;
    private long delayNs;

    private FaultProxy(NodeAddress target) {
        this.target = target;
        this.server = new ServerBootstrap().group(group)
                .channel(NioServerSocketChannel.class)
                .option(ChannelOption.SO_BACKLOG, BACKLOG)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childOption(ChannelOption.AUTO_READ, false)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel client) {
                        onAccepted(client);
                    }
                })
                .bind(InetAddress.getLoopbackAddress(), 0)
                .syncUninterruptibly()
                .channel();
    }

    public static FaultProxy open(NodeAddress target) {
        return new FaultProxy(target);
    }

    public NodeAddress address() {
        return NodeAddress.parse("127.0.0.1:" + ((InetSocketAddress) server.localAddress()).getPort());
    }

    /** Ends every fault. Delayed bytes are forwarded; links that have dropped replies are closed. */
    public void pass() {
        become(Traffic.PASS, 0);
    }

    /** New connections lead to another node, as when the name of an endpoint moves. Those that are open live on. */
    public void moveTo(NodeAddress other) {
        group.submit(() -> target = other).syncUninterruptibly();
    }

    public void slow(Duration delay) {
        become(Traffic.SLOW, delay.toNanos());
    }

    /** Delays everything until the fault ends, without closing connections. */
    public void stall() {
        become(Traffic.STALL, 0);
    }

    public void mute() {
        become(Traffic.MUTE, 0);
    }

    public void cut() {
        become(Traffic.CUT, 0);
    }

    private void become(Traffic next, long nextDelayNs) {
        group.submit(() -> {
            boolean isDesynchronised = traffic == Traffic.MUTE && next != Traffic.MUTE;
            traffic = next;
            delayNs = nextDelayNs;
            List<ProxyLink> current = List.copyOf(links);
            if (isDesynchronised || next == Traffic.CUT) {
                current.forEach(ProxyLink::close);
            } else {
                current.forEach(ProxyLink::onTrafficChanged);
            }
        }).syncUninterruptibly();
    }

    /** Event loop. */
    private void onAccepted(SocketChannel client) {
        if (traffic == Traffic.CUT) {
            client.close();
            return;
        }
        ProxyLink link = new ProxyLink(client);
        links.add(link);
        ChannelFuture connecting = new Bootstrap().group(client.eventLoop())
                .channel(NioSocketChannel.class)
                .option(ChannelOption.TCP_NODELAY, true)
                .option(ChannelOption.AUTO_READ, false)
                .handler(new ChannelInboundHandlerAdapter())
                .connect(target.host(), target.port());
        connecting.addListener(done -> link.onConnected(connecting));
    }

    /** Closes the port and every connection through it. */
    @Override
    public void close() {
        if (group.isShuttingDown()) {
            return;
        }
        cut();
        server.close().syncUninterruptibly();
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
    }

    @Override
    public String toString() {
        return "proxy " + address() + " of " + target;
    }

    /**
     * A client's connection and the connection to the node behind it.
     *
     * @threading event-loop-confined
     */
    private final class ProxyLink {
        private final Channel client;
        private Channel node;
        private ProxyPipe requests;
        private ProxyPipe replies;
        private boolean isClosed;

        ProxyLink(Channel client) {
            this.client = client;
            client.closeFuture().addListener(done -> close());
        }

        void onConnected(ChannelFuture connecting) {
            if (!connecting.isSuccess() || isClosed) {
                connecting.channel().close();
                close();
                return;
            }
            node = connecting.channel();
            node.closeFuture().addListener(done -> close());
            requests = new ProxyPipe(node, false);
            replies = new ProxyPipe(client, true);
            client.pipeline().addLast(requests);
            node.pipeline().addLast(replies);
            onTrafficChanged();
        }

        /** A stall stops the reads, so that the sender's buffers fill as on a silent network. */
        void onTrafficChanged() {
            if (requests == null || isClosed) {
                return;
            }
            boolean isReading = traffic != Traffic.STALL;
            client.config().setAutoRead(isReading);
            node.config().setAutoRead(isReading);
            requests.drain();
            replies.drain();
        }

        void close() {
            if (isClosed) {
                return;
            }
            isClosed = true;
            client.close();
            if (requests != null) {
                requests.discard();
                replies.discard();
                node.close();
            }
            links.remove(this);
        }
    }

    /**
     * One direction of a link: it forwards bytes from one side to the other, in order, when they are due.
     *
     * @threading event-loop-confined
     */
    private final class ProxyPipe extends ChannelInboundHandlerAdapter {
        private final Channel sink;
        private final boolean isReplies;
        private final ArrayDeque<Held> held = new ArrayDeque<>();

        ProxyPipe(Channel sink, boolean isReplies) {
            this.sink = sink;
            this.isReplies = isReplies;
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            if (isReplies && traffic == Traffic.MUTE) {
                ReferenceCountUtil.release(message);
                return;
            }
            held.add(new Held(System.nanoTime() + delayNs, (ByteBuf) message));
            drain();
        }

        /** Writes the bytes that are due, and schedules the rest. */
        void drain() {
            if (traffic == Traffic.STALL) {
                return;
            }
            boolean isPassing = traffic != Traffic.SLOW;
            long nowNs = System.nanoTime();
            while (!held.isEmpty() && (isPassing || held.peek().dueNs() - nowNs <= 0)) {
                sink.write(held.poll().bytes());
            }
            sink.flush();
            if (!held.isEmpty()) {
                sink.eventLoop().schedule(this::drain, held.peek().dueNs() - nowNs, TimeUnit.NANOSECONDS);
            }
        }

        void discard() {
            while (!held.isEmpty()) {
                held.poll().bytes().release();
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close();
        }
    }

    /**
     * Bytes on their way, owned by a pipe until written, and when to forward them, on the monotonic clock.
     *
     * @threading event-loop-confined
     */
    private record Held(long dueNs, ByteBuf bytes) {
    }
}
