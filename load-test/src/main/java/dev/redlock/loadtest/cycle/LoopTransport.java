package dev.redlock.loadtest.cycle;

import dev.redlock.transport.IoTransport;
import dev.redlock.transport.NodeAddress;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.IoRegistration;
import io.netty.channel.local.LocalAddress;
import io.netty.channel.local.LocalChannel;
import io.netty.channel.local.LocalIoHandler;
import io.netty.channel.local.LocalServerChannel;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;

/**
 * The nodes of one event loop, inside the loop. They read the client's commands at once, and their replies arrive when
 * the loop polls its channels the next time, as from sockets. It shares nothing with another loop, and bypasses the
 * kernel.
 *
 * @threading event-loop-confined, except {@link #newIoHandlerFactory}; {@link #heldCount} when the loop has ended
 */
final class LoopTransport implements IoTransport {

    private static final AtomicInteger PLACES = new AtomicInteger();

    private final Map<String, LoopNode> nodes = new LinkedHashMap<>();
    private final Map<String, LocalAddress> places = new LinkedHashMap<>();
    private final List<LoopConnection> connections = new ArrayList<>();

    /** The number of held locks on the nodes. */
    int heldCount() {
        return nodes.values().stream().mapToInt(LoopNode::heldCount).sum();
    }

    @Override
    public String description() {
        return "inside the event loop";
    }

    @Override
    public IoHandlerFactory newIoHandlerFactory() {
        return executor -> new Turn(LocalIoHandler.newFactory().newHandler(executor));
    }

    @Override
    public Class<? extends Channel> channelClass(NodeAddress address) {
        return LocalChannel.class;
    }

    @Override
    public void tune(Bootstrap bootstrap, NodeAddress address, int userTimeoutMs) {
        // No socket options.
    }

    /** Creates the node of an address on first use. */
    @Override
    public void resolve(NodeAddress address, Executor threads, EventLoop loop,
            BiConsumer<List<SocketAddress>, Throwable> answer) {
        String name = address.toString();
        LocalAddress place = places.get(name);
        if (place != null) {
            answer.accept(List.of(place), null);
            return;
        }
        LocalAddress fresh = new LocalAddress(name + "#" + PLACES.getAndIncrement());
        LoopNode node = new LoopNode();
        nodes.put(name, node);
        places.put(name, fresh);
        new ServerBootstrap().group(loop)
                .channel(LocalServerChannel.class)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        connections.add(new LoopConnection(node, name, channel));
                    }
                })
                .bind(fresh)
                .addListener(bound -> answer.accept(bound.isSuccess() ? List.of(fresh) : null, bound.cause()));
    }

    /**
     * A turn of the loop starts with the replies of the nodes.
     *
     * @threading event-loop-confined, except {@link #wakeup}
     */
    private final class Turn implements IoHandler {
        private final IoHandler local;

        Turn(IoHandler local) {
            this.local = local;
        }

        @Override
        public int run(IoHandlerContext context) {
            int answered = 0;
            for (int i = 0; i < connections.size(); i++) {
                answered += connections.get(i).answer() ? 1 : 0;
            }
            return answered > 0 ? answered : local.run(context);
        }

        @Override
        public void initialize() {
            local.initialize();
        }

        @Override
        public void prepareToDestroy() {
            local.prepareToDestroy();
        }

        @Override
        public void destroy() {
            local.destroy();
        }

        @Override
        public IoRegistration register(IoHandle handle) throws Exception {
            return local.register(handle);
        }

        @Override
        public void wakeup() {
            local.wakeup();
        }

        @Override
        public boolean isCompatible(Class<? extends IoHandle> handleType) {
            return local.isCompatible(handleType);
        }
    }
}
