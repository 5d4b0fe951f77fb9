package dev.redlock.loadtest.driver;

import java.time.Duration;
import java.util.Map;

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
     * @param ttl      the time to live of the lock
     * @param listener gets every outcome, on a thread of the client
     * @return a handle that holds nothing
     */
    LockHandle handle(String resource, Duration ttl, LockListener listener);

    /**
     * A reusable handle with options.
     *
     * @param spec     the resource and the options, which {@link LockDriver#options()} names
     * @param listener gets every outcome, on a thread of the client
     * @return a handle that holds nothing
     */
    default LockHandle handle(LockSpec spec, LockListener listener) {
        return handle(spec.resource(), spec.ttl(), listener);
    }

    /**
     * The counters of the client since it was opened.
     *
     * @return counters by name; none unless overridden
     */
    default Map<String, Long> counters() {
        return Map.of();
    }

    /** Disconnects. Outcomes that are still pending may be lost. */
    @Override
    void close();
}
