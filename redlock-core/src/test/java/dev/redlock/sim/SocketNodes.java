package dev.redlock.sim;

import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** Model nodes behind real sockets on loopback, each on its own thread unless a group has fewer. */
public final class SocketNodes implements AutoCloseable {

    private final EventLoopGroup group;
    private final List<EventLoop> loops = new ArrayList<>();
    private final List<FakeNode> nodes = new ArrayList<>();

    public SocketNodes(int count) {
        this(count, new MultiThreadIoEventLoopGroup(count, NioIoHandler.newFactory()));
    }

    /**
     * Nodes on the loops of a group, by the clock of these loops. They have been up for a day: they vote at once.
     *
     * @param group ended with the nodes
     */
    public SocketNodes(int count, EventLoopGroup group) {
        this.group = group;
        for (int i = 0; i < count; i++) {
            EventLoop loop = group.next();
            FakeNode node = new FakeNode(new LoopTime(loop), loop, NioServerSocketChannel.class,
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), "node-" + i);
            loops.add(loop);
            nodes.add(node);
            onLoop(i, () -> {
                node.start();
                return null;
            });
        }
    }

    /** The clock of a loop, which is that of this machine unless the loop has its own. */
    private record LoopTime(EventLoop loop) implements Timeline {
        @Override
        public long nowNs() {
            return loop.ticker().nanoTime();
        }

        @Override
        public void after(long delayNs, Runnable task) {
            loop.schedule(task, delayNs, TimeUnit.NANOSECONDS);
        }
    }

    /** @return the addresses of the nodes, for the configuration of a client */
    public String[] addresses() {
        return IntStream.range(0, nodes.size())
                .mapToObj(i -> "127.0.0.1:" + onLoop(i, nodes.get(i)::port))
                .toArray(String[]::new);
    }

    public FakeNode node(int index) {
        return nodes.get(index);
    }

    /** Runs a task on a node's thread and waits for it. */
    public <T> T onLoop(int index, Callable<T> task) {
        return loops.get(index).submit(task).syncUninterruptibly().getNow();
    }

    @Override
    public void close() {
        for (int i = 0; i < nodes.size(); i++) {
            FakeNode node = nodes.get(i);
            onLoop(i, () -> {
                node.crash();
                return null;
            });
        }
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
    }
}
