package dev.redlock.loadtest.compare;

import dev.redlock.loadtest.result.SeriesSpec;
import java.io.Serializable;
import java.time.Instant;
import java.util.List;

/**
 * A task for a driver process, as an object on its standard input, where no other user of the machine sees the
 * passwords in the addresses.
 *
 * @param spec      the series to measure; for other kinds only its driver and number of nodes count
 * @param addresses nodes, with passwords
 * @param tlsAddresses the same nodes with TLS; empty if they have none
 * @param voters    the addresses of the Sentinels of these nodes; empty for single masters
 * @param offsetMs  time since the start of the whole run
 * @threading immutable
 */
record DriverTask(Kind kind, SeriesSpec spec, List<String> addresses, List<String> tlsAddresses,
        List<String> voters, boolean fresh, String keyPrefix, long offsetMs, String folder, Instant startedAt)
        implements
            Serializable {
    /** @threading immutable */
    enum Kind {
        /** Load that is not recorded. */
        WARM_UP, SERIES,
        /** Two clients contend for few resources. */
        EXCLUSION_CHECK
    }

    /** Leaves the addresses out. */
    @Override
    public String toString() {
        return switch (kind) {
            case WARM_UP -> "warm-up";
            case SERIES -> spec.title();
            case EXCLUSION_CHECK -> "exclusion check";
        };
    }
}
