package dev.redlock.loadtest.driver;

import java.time.Duration;
import java.util.Map;

/**
 * A connected client.
 *
 * @threading any thread
 */
public interface LockSession extends AutoCloseable {
    /** A reusable handle for one resource. Many handles can be outstanding at once, each with one operation. */
    LockHandle handle(String resource, Duration ttl, LockListener listener);

    /**
     * A reusable handle with options.
     *
     * @param spec     the resource and the options, which {@link LockDriver#options()} names
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

    /**
     * Leases that the client renews until it is closed.
     *
     * @param isFenced  whether each lease has a fencing token
     * @param countedMs the time from now for which renewals are counted, milliseconds
     * @return the leases, not yet acquired
     * @throws UnsupportedOperationException unless the driver has {@link DriverOption#RENEWAL}
     */
    default HeldLeases hold(String keyPrefix, Duration ttl, boolean isFenced, int count, long countedMs) {
        throw new UnsupportedOperationException("this driver does not renew leases");
    }

    /** Disconnects. Outcomes that are still pending may be lost. */
    @Override
    void close();
}
