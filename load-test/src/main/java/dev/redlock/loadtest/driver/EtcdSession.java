package dev.redlock.loadtest.driver;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.Lease;
import io.etcd.jetcd.Lock;
import io.etcd.jetcd.common.exception.ErrorCode;
import io.etcd.jetcd.common.exception.EtcdException;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.lock.LockResponse;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The lock service of etcd over jetcd: one client with one lease, kept alive, and blocking calls. Its lease is what
 * owns locks there: two acquires of one name with the same lease both succeed. So handles of the same resource first
 * exclude each other here.
 *
 * @threading any thread
 */
final class EtcdSession implements LockSession {
    private static final Duration CALL_LIMIT = Duration.ofSeconds(2);
    private static final Duration DEFAULT_TTL = Duration.ofSeconds(30);
    /** Longer than an election, during which servers grant nothing for up to 7 s. */
    private static final Duration GRANT_LIMIT = Duration.ofSeconds(15);
    /**
     * The lock service has no attempt without waiting: a call joins the queue of the name. An attempt leaves it
     * after this time. Busy servers grant a free name sooner.
     */
    private static final Duration ATTEMPT_LIMIT = Duration.ofSeconds(2);

    private final Client client;
    private final Lock locks;
    private final CallerThreads threads = new CallerThreads("etcd");
    private final Map<Duration, EtcdLease> leases = new ConcurrentHashMap<>();
    private final Map<String, LocalGate> gates = new ConcurrentHashMap<>();

    private EtcdSession(Client client) {
        this.client = client;
        this.locks = client.getLockClient();
    }

    /** @threading immutable */
    static final class Opening implements Drivers.Opener {
        @Override
        public LockSession open(SessionSpec spec) throws IOException, InterruptedException {
            List<URI> servers = spec.nodes().stream().map(server -> URI.create("http://" + server)).toList();
            EtcdSession session = new EtcdSession(
                    Client.builder().endpoints(servers).connectTimeout(CALL_LIMIT).build());
            Majority.of(session, spec.nodes(),
                    server -> await(session.client.getMaintenanceClient().statusMember("ip:///" + server), CALL_LIMIT));
            try {
                session.lease(DEFAULT_TTL);
                return session;
            } catch (UncheckedIOException e) {
                session.close();
                throw e.getCause();
            }
        }
    }

    private static <T> T await(CompletableFuture<T> call, Duration limit) throws IOException, InterruptedException {
        try {
            return call.get(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            throw new IOException(String.valueOf(e.getCause().getMessage()), e);
        } catch (TimeoutException e) {
            throw new IOException("no reply within " + limit, e);
        }
    }

    @Override
    public LockHandle handle(LockSpec spec, LockListener listener) {
        return new Handle(spec, lease(spec.ttl()),
                gates.computeIfAbsent(spec.resource(), name -> new LocalGate()), listener);
    }

    private EtcdLease lease(Duration ttl) {
        return leases.computeIfAbsent(ttl, this::grant);
    }

    /** Leases last whole seconds. */
    private EtcdLease grant(Duration ttl) {
        Lease service = client.getLeaseClient();
        try {
            long id = await(service.grant(ttl.plusMillis(999).toSeconds()), GRANT_LIMIT).getID();
            EtcdLease lease = new EtcdLease(service, id);
            service.keepAlive(id, lease);
            return lease;
        } catch (IOException e) {
            throw new UncheckedIOException(new IOException("the servers do not grant a lease: " + e.getMessage(), e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UncheckedIOException(new IOException("interrupted while waiting for a lease", e));
        }
    }

    /** The leases that this client has been granted. */
    @Override
    public Map<String, Long> counters() {
        return Map.of("etcdLeases", (long) leases.size());
    }

    /** Revokes the leases, which deletes every lock that is still held. */
    @Override
    public void close() {
        threads.close();
        leases.values().forEach(EtcdLease::close);
        client.close();
    }

    /**
     * Lets one handle of this client at a time use a name.
     *
     * @threading any thread
     */
    private static final class LocalGate {
        private final Semaphore permit = new Semaphore(1, true);
        /** The end of an attempt that was given up. Until then the servers may still act on it. */
        private CompletableFuture<?> givenUp = CompletableFuture.completedFuture(null);
    }

    /** @threading caller-confined between a call and its outcome */
    private final class Handle extends BlockingHandle {
        private final ByteSequence name;
        private final LockSpec spec;
        private final EtcdLease lease;
        private final LocalGate gate;
        /** The servers derive it from the name and the lease. */
        private final ByteSequence key;

        Handle(LockSpec spec, EtcdLease lease, LocalGate gate, LockListener listener) {
            super(threads, listener);
            this.spec = spec;
            this.lease = lease;
            this.gate = gate;
            this.name = ByteSequence.from(spec.resource(), StandardCharsets.UTF_8);
            this.key = ByteSequence.from(spec.resource() + "/" + Long.toHexString(lease.id),
                    StandardCharsets.UTF_8);
        }

        @Override
        AcquireOutcome.Kind tryAcquire() throws InterruptedException {
            long startNs = System.nanoTime();
            if (!gate.permit.tryAcquire(spec.waitBudget().toNanos(), TimeUnit.NANOSECONDS)) {
                return refused();
            }
            AcquireOutcome.Kind verdict = AcquireOutcome.Kind.NO_QUORUM;
            try {
                verdict = lock(startNs);
            } finally {
                if (verdict != AcquireOutcome.Kind.ACQUIRED) {
                    gate.permit.release();
                }
            }
            return verdict;
        }

        private AcquireOutcome.Kind refused() {
            return spec.waitBudget().isZero() ? AcquireOutcome.Kind.CONTENDED : AcquireOutcome.Kind.TIMED_OUT;
        }

        private AcquireOutcome.Kind lock(long startNs) throws InterruptedException {
            long limitNs = spec.waitBudget().isZero() ? ATTEMPT_LIMIT.toNanos() : spec.waitBudget().toNanos();
            CompletableFuture<LockResponse> call = null;
            try {
                if (!gate.givenUp.isDone()) {
                    gate.givenUp.get(leftNs(startNs, limitNs), TimeUnit.NANOSECONDS);
                }
                call = locks.lock(name, lease.id);
                call.get(leftNs(startNs, limitNs), TimeUnit.NANOSECONDS);
                validUntil(startNs, spec.ttl());
                return lease.isAlive() ? AcquireOutcome.Kind.ACQUIRED : AcquireOutcome.Kind.NO_QUORUM;
            } catch (TimeoutException e) {
                return call == null || giveUp(call) ? refused() : AcquireOutcome.Kind.NO_QUORUM;
            } catch (ExecutionException e) {
                giveUp(call);
                return AcquireOutcome.Kind.NO_QUORUM;
            } catch (InterruptedException e) {
                gate.givenUp = afterwards(call);
                throw e;
            }
        }

        private static long leftNs(long startNs, long limitNs) {
            return Math.max(0, startNs + limitNs - System.nanoTime());
        }

        /** Leaves the queue of the name; whether the servers have confirmed it. */
        private boolean giveUp(CompletableFuture<LockResponse> call) throws InterruptedException {
            gate.givenUp = afterwards(call);
            return unlock();
        }

        /**
         * The call may still be executed after a first unlock, because they may go to different servers. So there
         * is another unlock after its end, before the next attempt.
         */
        private CompletableFuture<?> afterwards(CompletableFuture<LockResponse> call) {
            return call == null
                    ? gate.givenUp
                    : call.handle((response, failure) -> null)
                            .thenCompose(ended -> locks.unlock(key))
                            .handle((response, failure) -> null);
        }

        private boolean unlock() throws InterruptedException {
            try {
                await(locks.unlock(key), CALL_LIMIT);
                return true;
            } catch (IOException e) {
                return false;
            }
        }

        @Override
        ReleaseOutcome tryRelease() {
            try {
                boolean wasAlive = lease.isAlive();
                if (!unlock()) {
                    return ReleaseOutcome.UNKNOWN;
                }
                return wasAlive ? ReleaseOutcome.RELEASED : ReleaseOutcome.EXPIRED;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return ReleaseOutcome.UNKNOWN;
            } finally {
                gate.permit.release();
            }
        }
    }

    /**
     * A lease of etcd that its client keeps alive: it owns every lock of the client.
     *
     * @threading any thread
     */
    static final class EtcdLease implements StreamObserver<LeaseKeepAliveResponse>, AutoCloseable {
        private static final long REVOKE_LIMIT_SECONDS = 2;

        private final Lease leases;
        private final long id;
        private volatile boolean isAlive = true;

        EtcdLease(Lease leases, long id) {
            this.leases = leases;
            this.id = id;
        }

        /** False once the lease is known to have expired. */
        boolean isAlive() {
            return isAlive;
        }

        @Override
        public void onNext(LeaseKeepAliveResponse response) {
            // It has been extended.
        }

        /** Other errors break the stream, which the library opens again. */
        @Override
        public void onError(Throwable failure) {
            if (failure instanceof EtcdException etcd && etcd.getErrorCode() == ErrorCode.NOT_FOUND) {
                isAlive = false;
            }
        }

        /** The library gives it up: it has not been extended within its time. */
        @Override
        public void onCompleted() {
            isAlive = false;
        }

        @Override
        public void close() {
            try {
                leases.revoke(id).get(REVOKE_LIMIT_SECONDS, TimeUnit.SECONDS);
            } catch (ExecutionException | TimeoutException e) {
                // The server ends it after its time to live.
                isAlive = false;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
