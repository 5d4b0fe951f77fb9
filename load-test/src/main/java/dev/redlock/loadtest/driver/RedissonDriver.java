package dev.redlock.loadtest.driver;

import dev.redlock.cli.ClientTls;
import dev.redlock.transport.NodeAddress;
import io.netty.handler.ssl.OpenSsl;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.redisson.Redisson;
import org.redisson.RedissonFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.SslProvider;

/**
 * Redisson's own locks: its RedLock over one client for each node, or one of its locks on the first node.
 *
 * @threading any thread
 */
public final class RedissonDriver implements LockDriver {
    private final Kind kind;

    /**
     * Which of its locks.
     *
     * @threading immutable
     */
    public enum Kind {
        /** {@code RedissonRedLock} over all nodes. */
        RED_LOCK("redisson", "Redisson's RedLock (its multi-lock with a majority), asynchronous calls"),
        /** {@code RLock} on the first node. */
        SINGLE("redisson-single", "Redisson's RLock on the first node, asynchronous calls"),
        /** {@code RFencedLock} on the first node. */
        FENCED("redisson-fenced", "Redisson's RFencedLock on the first node, with a fencing token, asynchronous calls");

        private final String driverName;
        private final String summary;

        Kind(String driverName, String summary) {
            this.driverName = driverName;
            this.summary = summary;
        }
    }

    /** A driver of one of its locks. */
    public RedissonDriver(Kind kind) {
        this.kind = kind;
    }

    @Override
    public String name() {
        return kind.driverName;
    }

    @Override
    public String version() {
        return LibraryVersion.of("Redisson", "org.redisson", "redisson");
    }

    @Override
    public String summary() {
        return kind.summary;
    }

    @Override
    public boolean isQuorum() {
        return kind == Kind.RED_LOCK;
    }

    @Override
    public Set<DriverOption> options() {
        return kind == Kind.FENCED
                ? EnumSet.of(DriverOption.TLS, DriverOption.WAIT, DriverOption.FENCED)
                : EnumSet.of(DriverOption.TLS, DriverOption.WAIT);
    }

    @Override
    public LockSession open(SessionSpec spec) throws IOException {
        return RedissonSession.open(spec, kind);
    }

    /**
     * One client for each node, with the threads that it starts by default. With one small event-loop group and
     * executor for all clients, some calls never ended after the death of a node: the library blocks threads that it
     * needs.
     *
     * @threading any thread
     */
    private static final class RedissonSession implements LockSession {
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
                    listener.onAcquire(AcquireVerdict.NO_QUORUM, 0);
                } else if (isAcquired) {
                    // The library reports no validity: the ttl less the time spent is an upper bound.
                    long validityNs = ttl.toNanos() - (System.nanoTime() - startNs);
                    listener.onAcquire(AcquireVerdict.ACQUIRED, Math.max(0, validityNs));
                } else {
                    listener.onAcquire(isWaiting() ? AcquireVerdict.TIMED_OUT : AcquireVerdict.CONTENDED, 0);
                }
            }

            @Override
            public void release() {
                Release release = new Release();
                for (RLock node : nodes) {
                    node.unlockAsync(threadId).whenComplete((nothing, failure) -> release.onAnswer(failure));
                }
            }

            /**
             * Counts the replies of one release.
             *
             * @threading any thread; counted under its monitor
             */
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
}
