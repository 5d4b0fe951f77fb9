package dev.redlock;

import dev.redlock.api.Lease;
import dev.redlock.engine.LeaseHandle;

/**
 * Acquires with a given lease and without a callback, which the public API has not. It is in this package because that
 * needs the engine of a client.
 *
 * @threading any thread
 */
public final class CallerClient {

    private static final long WAIT_NS = 30_000_000_000L;

    private CallerClient() {
    }

    /** Starts an acquisition; if the client retains the lock and it is free, the lease is held when this returns. */
    public static void acquire(Redlock redlock, ResourceKey key, AcquireOptions options, Lease lease) {
        redlock.engine.acquire((LeaseHandle) lease, key.lockKey(), options.spec, WAIT_NS, null);
    }
}
