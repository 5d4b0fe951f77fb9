package dev.redlock.loadtest.driver;

import dev.redlock.loadtest.nodes.NodeAddress;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * One client for each node. They share one event-loop group and one executor: by default each client would start
 * threads of its own, dozens for each node.
 *
 * @threading any thread
 */
final class RedissonSession implements LockSession {
    private static final int NODE_TIMEOUT_MS = 2_000;

    private final EventLoopGroup loops;
    private final ExecutorService executor;
    private final List<RedissonClient> nodes = new ArrayList<>();
    private final boolean isSingle;
    /** Locks belong to threads; each handle is one by number. */
    private final AtomicLong threadIds = new AtomicLong(1);

    private RedissonSession(boolean isSingle) {
        int processors = Runtime.getRuntime().availableProcessors();
        this.isSingle = isSingle;
        this.loops = new MultiThreadIoEventLoopGroup(processors, NioIoHandler.newFactory());
        this.executor = Executors.newFixedThreadPool(2 * processors, task -> {
            Thread thread = new Thread(task, "redisson-executor");
            thread.setDaemon(true);
            return thread;
        });
    }

    static RedissonSession open(List<NodeAddress> addresses, boolean isSingle) throws IOException {
        RedissonSession session = new RedissonSession(isSingle);
        int ready = 0;
        String problem = null;
        for (NodeAddress address : addresses) {
            RedissonClient node = Redisson.create(session.config(address));
            session.nodes.add(node);
            try {
                node.getBucket("load-test:ready").isExists();
                ready++;
            } catch (RuntimeException e) {
                // Of many types: what the first command on a connection can end with is not documented.
                problem = e.getMessage();
            }
        }
        if (ready < addresses.size() / 2 + 1) {
            session.close();
            throw new IOException("only " + ready + " of " + addresses.size() + " nodes are ready: " + problem);
        }
        return session;
    }

    private Config config(NodeAddress address) {
        Config config = new Config().setLazyInitialization(true).setEventLoopGroup(loops).setExecutor(executor);
        address.user().ifPresent(config::setUsername);
        address.password().ifPresent(config::setPassword);
        config.useSingleServer()
                .setAddress("redis://" + address)
                .setTimeout(NODE_TIMEOUT_MS)
                .setConnectTimeout(NODE_TIMEOUT_MS)
                .setRetryAttempts(0);
        return config;
    }

    @Override
    public LockHandle handle(String resource, Duration ttl, LockListener listener) {
        List<RLock> locks = nodes.stream().map(node -> node.getLock(resource)).toList();
        return new RedissonHandle(locks, isSingle ? locks.get(0) : redLock(locks), threadIds.incrementAndGet(), ttl,
                listener);
    }

    /** The library advises against it, and offers nothing else over independent masters. */
    @SuppressWarnings("deprecation")
    private static RLock redLock(List<RLock> locks) {
        return new org.redisson.RedissonRedLock(locks.toArray(RLock[]::new));
    }

    @Override
    public void close() {
        nodes.forEach(node -> node.shutdown(0, 2, TimeUnit.SECONDS));
        executor.shutdownNow();
        loops.shutdownGracefully(0, 2, TimeUnit.SECONDS);
    }
}
