package dev.redlock.loadtest.driver;

import dev.redlock.cli.ClientTls;
import dev.redlock.transport.NodeAddress;
import io.netty.handler.ssl.OpenSsl;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.SslProvider;

/**
 * One client for each node, with the threads that it starts by default. With one small event-loop group and executor
 * for all clients, some calls never ended after the death of a node: the library blocks threads that it needs.
 *
 * @threading any thread
 */
final class RedissonSession implements LockSession {
    private static final int NODE_TIMEOUT_MS = 2_000;

    private final List<RedissonClient> nodes = new ArrayList<>();
    private final RedissonDriver.Kind kind;
    /** Locks belong to threads; each handle is one by number. */
    private final AtomicLong threadIds = new AtomicLong(1);

    private RedissonSession(RedissonDriver.Kind kind) {
        this.kind = kind;
    }

    static RedissonSession open(SessionSpec spec, RedissonDriver.Kind kind) throws IOException {
        List<NodeAddress> addresses = kind == RedissonDriver.Kind.RED_LOCK
                ? spec.preferredNodes()
                : spec.preferredNodes().subList(0, 1);
        ClientTls.Managers files = spec.tls() == null ? null : spec.tls().files().read();
        RedissonSession session = new RedissonSession(kind);
        int ready = 0;
        String problem = null;
        for (NodeAddress address : addresses) {
            RedissonClient node = Redisson.create(config(address, files));
            session.nodes.add(node);
            try {
                node.getBucket("load-test:ready").isExists();
                ready++;
            } catch (RuntimeException e) {
                // The exceptions of the first command on a connection are not documented.
                problem = e.getMessage();
            }
        }
        if (ready < addresses.size() / 2 + 1) {
            session.close();
            throw new IOException("only " + ready + " of " + addresses.size() + " nodes are ready: " + problem);
        }
        return session;
    }

    private static Config config(NodeAddress address, ClientTls.Managers files) {
        Config config = new Config().setLazyInitialization(true);
        config.setUsername(address.user()).setPassword(address.password());
        if (files != null) {
            // The same implementation as that of this project's client.
            config.setSslProvider(OpenSsl.isAvailable() ? SslProvider.OPENSSL : SslProvider.JDK)
                    .setSslTrustManagerFactory(files.trust())
                    .setSslKeyManagerFactory(files.identity());
        }
        config.useSingleServer()
                .setAddress(address.isTls() ? address.toString() : "redis://" + address)
                .setTimeout(NODE_TIMEOUT_MS)
                .setConnectTimeout(NODE_TIMEOUT_MS)
                .setRetryAttempts(0);
        return config;
    }

    @Override
    public LockHandle handle(String resource, Duration ttl, LockListener listener) {
        return handle(LockSpec.of(resource, ttl), listener);
    }

    @Override
    public LockHandle handle(LockSpec spec, LockListener listener) {
        List<RLock> locks = nodes.stream().map(node -> lock(node, spec.resource())).toList();
        RLock lock = kind == RedissonDriver.Kind.RED_LOCK ? redLock(locks) : locks.get(0);
        return new RedissonHandle(locks, lock, threadIds.incrementAndGet(), spec, listener);
    }

    private RLock lock(RedissonClient node, String resource) {
        return kind == RedissonDriver.Kind.FENCED ? node.getFencedLock(resource) : node.getLock(resource);
    }

    /** Deprecated by the library, which has no other lock over independent masters. */
    @SuppressWarnings("deprecation")
    private static RLock redLock(List<RLock> locks) {
        return new org.redisson.RedissonRedLock(locks.toArray(RLock[]::new));
    }

    @Override
    public void close() {
        nodes.forEach(node -> node.shutdown(0, 2, TimeUnit.SECONDS));
    }
}
