package dev.redlock.loadtest.compare;

import dev.redlock.loadtest.result.SeriesSpec;
import java.util.List;

/**
 * A task for a driver process: one line of JSON on its standard input, where no other user of
 * the machine sees the passwords in the addresses.
 *
 * @param spec      the series to measure; null for a warm-up
 * @param addresses nodes, with passwords
 * @param tlsAddresses the same nodes with TLS; empty if they have none
 * @param fresh     whether the nodes cannot have held locks before
 * @param keyPrefix the prefix of every resource's name
 * @param offsetMs  time since the start of the whole run
 * @param folder    the folder for interval logs
 * @param startedAt when the whole run started
 * @threading immutable
 */
record DriverTask(SeriesSpec spec, List<String> addresses, List<String> tlsAddresses, boolean fresh, String keyPrefix,
        long offsetMs, String folder, String startedAt) {
    /** Leaves the addresses out. */
    @Override
    public String toString() {
        return spec == null ? "warm-up" : spec.title();
    }
}
