package dev.redlock.loadtest.driver;

import dev.redlock.api.AcquireOutcome;
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
import org.redisson.RedissonFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;
import org.redisson.config.SslProvider;
import org.redisson.config.SubscriptionMode;

/**
 * Redisson's own locks: its RedLock, or one of its locks on the first node. It has a client for each node, with the
 * threads that it starts by default. With one small event-loop group and executor for all clients, some calls never
 * ended after the death of a node: the library blocks threads that it needs.
 *
 * @threading any thread
 */
final class RedissonSession implements LockSession {
    /** @threading immutable */
    enum Kind {
        /** {@code RedissonRedLock} over all nodes. */
        RED_LOCK,
        /** {@code RLock} on the first node. */
        SINGLE,
        /**
         * The same in the configuration for a primary with replicas, in which the library sends {@code WAIT} for the
         * number of replicas that the primary reports, after each acquire and each release. The lock is refused if no
         * replica has confirmed it.
         */
        SINGLE_WAIT,
        /** {@code RFencedLock} on the first node. */
        FENCED
    }

    private static final int NODE_TIMEOUT_MS = 2_000;
    /** Connecting is not measured. The first client of a JVM that has little processor time takes seconds. */
    private static final int CONNECT_TIMEOUT_MS = 20_000;

    private final List<RedissonClient> nodes = new ArrayList<>();
    private final Kind kind;
    /** Locks belong to threads; each handle is one by number. */
    private final AtomicLong threadIds = new AtomicLong(1);

    private RedissonSession(Kind kind) {
        this.kind = kind;
    }

    static LockSession open(SessionSpec spec, Kind kind) throws IOException, InterruptedException {
        List<NodeAddress> addresses = kind == Kind.RED_LOCK
                ? spec.preferredNodes()
                : spec.preferredNodes().subList(0, 1);
        ClientTls.Managers files = spec.tls() == null ? null : spec.tls().files().read();
        RedissonSession session = new RedissonSession(kind);
        addresses.forEach(address -> session.nodes.add(Redisson.create(config(address, files, kind))));
        return Majority.of(session, session.nodes, node -> node.getBucket("load-test:ready").isExists());
    }

    private static Config config(NodeAddress address, ClientTls.Managers files, Kind kind) {
        Config config = new Config().setLazyInitialization(true);
        config.setUsername(address.user()).setPassword(address.password());
        if (files != null) {
            // The same implementation as that of this project's client.
            config.setSslProvider(OpenSsl.isAvailable() ? SslProvider.OPENSSL : SslProvider.JDK)
                    .setSslTrustManagerFactory(files.trust())
                    .setSslKeyManagerFactory(files.identity());
        }
        String place = address.isTls() ? address.toString() : "redis://" + address;
        if (kind == Kind.SINGLE_WAIT) {
            config.setCheckLockSyncedSlaves(true);
            config.useMasterSlaveServers()
                    .setMasterAddress(place)
                    // Locks are never read from replicas, so the client does not connect to them.
                    .setReadMode(ReadMode.MASTER)
                    .setSubscriptionMode(SubscriptionMode.MASTER)
                    .setTimeout(NODE_TIMEOUT_MS)
                    .setConnectTimeout(CONNECT_TIMEOUT_MS)
                    .setRetryAttempts(0);
            return config;
        }
        config.useSingleServer()
                .setAddress(place)
                .setTimeout(NODE_TIMEOUT_MS)
                .setConnectTimeout(CONNECT_TIMEOUT_MS)
                .setRetryAttempts(0);
        return config;
    }

    @Override
    public LockHandle handle(LockSpec spec, LockListener listener) {
        List<RLock> locks = nodes.stream().map(node -> lock(node, spec.resource())).toList();
        RLock lock = kind == Kind.RED_LOCK ? redLock(locks) : locks.get(0);
        return new RedissonHandle(locks, lock, threadIds.incrementAndGet(), spec, listener);
    }

    private RLock lock(RedissonClient node, String resource) {
        return kind == Kind.FENCED ? node.getFencedLock(resource) : node.getLock(resource);
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

    /**
     * One of Redisson's locks. It releases on every node regardless of the others, like the blocking {@code
     * unlock()} of its RedLock, but on all nodes at once: {@code unlockAsync} fails when one node of the minority
     * did not hold the lock. It waits for every reply: the next acquire has the same owner and may use another
     * connection, where a late release could arrive after it and delete the new lock.
     *
     * @threading caller-confined between a call and its outcome
     */
    private static final class RedissonHandle implements LockHandle {
        /** One attempt: any wait, even of zero, waits for unlock messages. */
        private static final long NO_WAIT_MS = -1;
        /** One attempt of the fenced lock, which waits for ever if this is negative. */
        private static final long NO_FENCED_WAIT_MS = 0;

        private final List<RLock> nodes;
        private final RLock lock;
        private final long threadId;
        private final Duration ttl;
        private final long waitMs;
        private final LockListener listener;

        /** A handle that waits for a message of the holder's release, if the spec has a wait budget. */
        RedissonHandle(List<RLock> nodes, RLock lock, long threadId, LockSpec spec, LockListener listener) {
            this.nodes = nodes;
            this.lock = lock;
            this.threadId = threadId;
            this.ttl = spec.ttl();
            this.waitMs = spec.waitBudget().toMillis();
            this.listener = listener;
        }

        private boolean isWaiting() {
            return waitMs > 0;
        }

        @Override
        public void acquire() {
            long startNs = System.nanoTime();
            if (lock instanceof RedissonFencedLock fenced) {
                fenced.tryLockAndGetTokenAsync(isWaiting() ? waitMs : NO_FENCED_WAIT_MS, ttl.toMillis(),
                        TimeUnit.MILLISECONDS, threadId)
                        .whenComplete((token, failure) -> onOutcome(startNs, token != null, failure));
            } else {
                lock.tryLockAsync(isWaiting() ? waitMs : NO_WAIT_MS, ttl.toMillis(), TimeUnit.MILLISECONDS,
                        threadId)
                        .whenComplete((isAcquired, failure) -> onOutcome(startNs, isAcquired, failure));
            }
        }

        private void onOutcome(long startNs, Boolean isAcquired, Throwable failure) {
            if (failure != null) {
                listener.onAcquire(AcquireOutcome.Kind.NO_QUORUM, 0);
            } else if (isAcquired) {
                // The library reports no validity: the ttl less the time spent is an upper bound.
                long validityNs = ttl.toNanos() - (System.nanoTime() - startNs);
                listener.onAcquire(AcquireOutcome.Kind.ACQUIRED, Math.max(0, validityNs));
            } else {
                listener.onAcquire(isWaiting() ? AcquireOutcome.Kind.TIMED_OUT : AcquireOutcome.Kind.CONTENDED, 0);
            }
        }

        @Override
        public void release() {
            Release release = new Release();
            for (RLock node : nodes) {
                node.unlockAsync(threadId).whenComplete((nothing, failure) -> release.onAnswer(failure));
            }
        }

        /** @threading any thread; counted under its monitor */
        private final class Release {
            private final VoteCount votes = new VoteCount(nodes.size());
            private int answered;

            void onAnswer(Throwable failure) {
                if (count(failure)) {
                    listener.onRelease(votes.released());
                }
            }

            private synchronized boolean count(Throwable failure) {
                if (failure == null) {
                    votes.onReply(1);
                } else if (isNotOurs(failure) || isNotOurs(failure.getCause())) {
                    votes.onReply(0);
                } else {
                    votes.onFailure();
                }
                answered++;
                return answered == nodes.size();
            }

            private static boolean isNotOurs(Throwable failure) {
                return failure instanceof IllegalMonitorStateException;
            }
        }
    }
}
