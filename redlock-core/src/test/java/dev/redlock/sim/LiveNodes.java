package dev.redlock.sim;

import dev.redlock.testing.NodeAccess;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.local.LocalAddress;
import io.netty.channel.local.LocalIoHandler;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Fake nodes in real time on their own loop thread, and a loop thread for clients. */
public final class LiveNodes implements AutoCloseable, Timeline {

    private static final AtomicInteger WORLDS = new AtomicInteger();

    private final String world = "live-" + WORLDS.incrementAndGet();
    private final EventLoopGroup group = new MultiThreadIoEventLoopGroup(2, LocalIoHandler.newFactory());
    private final EventLoop nodeLoop = group.next();
    private final EventLoop clientLoop = group.next();
    private final List<FakeNode> nodes = new ArrayList<>();
    private final Map<String, LocalAddress> places = new LinkedHashMap<>();
    private int clientCount;

    public LiveNodes(int count) {
        for (int i = 0; i < count; i++) {
            LocalAddress place = new LocalAddress(world + "/node-" + i);
            FakeNode node = new FakeNode(this, nodeLoop, place, "node-" + i);
            places.put("node-" + i + ":1", place);
            nodes.add(node);
            onLoop(() -> {
                node.start();
                return null;
            });
        }
        // Netty binds in a task behind the start; a client that connects before it is refused.
        onLoop(() -> null);
    }

    public String[] addresses() {
        return places.keySet().toArray(new String[0]);
    }

    public EventLoop clientLoop() {
        return clientLoop;
    }

    public FakeTransport newTransport() {
        return new FakeTransport(world + "/client-" + clientCount++, places);
    }

    /** Runs a task on the nodes' thread and waits for it. */
    public <T> T onLoop(Callable<T> task) {
        return nodeLoop.submit(task).syncUninterruptibly().getNow();
    }

    public FakeNode node(int index) {
        return nodes.get(index);
    }

    public NodeAccess access(int index) {
        FakeRedis redis = nodes.get(index).redis();
        return new NodeAccess() {
            @Override
            public String get(String key) {
                return onLoop(() -> redis.get(key));
            }

            @Override
            public boolean setIfAbsent(String key, String value, long ttlMs) {
                return onLoop(() -> {
                    boolean isFree = redis.get(key) == null;
                    if (isFree) {
                        redis.set(key, value, ttlMs);
                    }
                    return isFree;
                });
            }

            @Override
            public void setHash(String key, long ttlMs) {
                onLoop(() -> {
                    redis.set(key, FakeRedis.HASH, ttlMs);
                    return null;
                });
            }

            @Override
            public boolean delete(String key) {
                return onLoop(() -> redis.delete(key));
            }

            @Override
            public long pttl(String key) {
                return onLoop(() -> redis.pttl(key));
            }
        };
    }

    @Override
    public long nowNs() {
        return System.nanoTime();
    }

    @Override
    public void after(long delayNs, Runnable task) {
        nodeLoop.schedule(task, delayNs, TimeUnit.NANOSECONDS);
    }

    @Override
    public void close() {
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
}
