package dev.redlock.loadtest.driver;

import java.time.Duration;
import java.util.Map;

/** @threading any thread */
public interface LockSession extends AutoCloseable {
    /**
     * A reusable handle for one resource, with options that {@link LockDriver#options()} names. Many handles can be
     * in use at once, each with one operation.
     */
    LockHandle handle(LockSpec spec, LockListener listener);

    /** The counters of the client since it was opened, by name. */
    default Map<String, Long> counters() {
        return Map.of();
    }

    /**
     * Leases, not yet acquired, that the client renews until it is closed.
     *
     * @param countedMs the time from now for which renewals are counted, milliseconds
     * @throws UnsupportedOperationException unless the driver has {@link DriverOption#RENEWAL}
     */
    default HeldLeases hold(String keyPrefix, Duration ttl, boolean isFenced, int count, long countedMs) {
        throw new UnsupportedOperationException("this driver does not renew leases");
    }

    /** Disconnects. Outcomes that are still pending may be lost. */
    @Override
    void close();
}
