package dev.redlock.loadtest;

import dev.redlock.loadtest.result.SeriesSpec;
import java.util.List;

/**
 * What {@code compare} asks a driver's process to do; one line of JSON on its standard input, where no other user of
 * the machine sees the passwords in the addresses.
 *
 * @param spec      the series to measure; null for load that nobody records
 * @param addresses nodes, with passwords
 * @param fresh     whether the nodes are known to have held no lock before
 * @param keyPrefix begins every resource's name
 * @param offsetMs  how long the whole run has been going
 * @param folder    where interval logs go
 * @param startedAt when the whole run started
 * @threading immutable
 */
record DriverTask(SeriesSpec spec, List<String> addresses, boolean fresh, String keyPrefix, long offsetMs,
        String folder, String startedAt) {
    /** Leaves the addresses out. */
    @Override
    public String toString() {
        return spec == null ? "warm-up" : spec.title();
    }
}
