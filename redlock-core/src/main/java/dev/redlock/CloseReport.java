package dev.redlock;

import java.util.List;

/**
 * What closing a client left behind.
 *
 * @param releasedCount leases that were still held and have been given back
 * @param unreleased    resources whose release was not confirmed by a quorum in time; their keys end with their ttl
 * @threading immutable
 */
public record CloseReport(int releasedCount, List<String> unreleased) {

    /** @return true if nothing is left behind */
    public boolean isClean() {
        return unreleased.isEmpty();
    }
}
