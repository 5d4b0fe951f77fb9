package dev.redlock.loadtest.driver;

import io.etcd.jetcd.Lease;
import io.etcd.jetcd.common.exception.ErrorCode;
import io.etcd.jetcd.common.exception.EtcdException;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A lease of etcd that its client keeps alive: it owns every lock of the client.
 *
 * @threading any thread
 */
final class EtcdLease implements StreamObserver<LeaseKeepAliveResponse>, AutoCloseable {
    private static final long REVOKE_LIMIT_SECONDS = 2;

    private final Lease leases;
    private final long id;
    private volatile boolean isAlive = true;

    EtcdLease(Lease leases, long id) {
        this.leases = leases;
        this.id = id;
    }

    /** Leases last whole seconds. */
    static EtcdLease grant(Lease leases, Duration ttl, Duration limit) throws IOException {
        try {
            long seconds = ttl.plusMillis(999).toSeconds();
            EtcdLease lease = new EtcdLease(leases,
                    leases.grant(seconds).get(limit.toNanos(), TimeUnit.NANOSECONDS).getID());
            leases.keepAlive(lease.id, lease);
            return lease;
        } catch (ExecutionException | TimeoutException e) {
            throw new IOException("the servers do not grant a lease within " + limit + ": " + e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while waiting for a lease", e);
        }
    }

    long id() {
        return id;
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
