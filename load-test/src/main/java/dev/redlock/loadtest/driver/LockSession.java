package dev.redlock.loadtest.driver;

import java.time.Duration;

/**
 * A connected client.
 *
 * @threading any thread
 */
public interface LockSession extends AutoCloseable {
    /**
     * A reusable handle for one resource. Many handles can be outstanding at once, each with one operation.
     *
     * @param resource the resource to lock
     * @param ttl      what is written to Redis
     * @param listener told of every outcome, on a thread of the client's
     * @return a handle that holds nothing
     */
    LockHandle handle(String resource, Duration ttl, LockListener listener);

    /** Disconnects. Outcomes that are still pending may be lost. */
    @Override
    void close();
}
