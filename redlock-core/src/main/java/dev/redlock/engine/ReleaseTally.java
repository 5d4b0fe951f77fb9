package dev.redlock.engine;

import dev.redlock.api.CloseReport;
import dev.redlock.api.ReleaseOutcome;
import java.util.ArrayList;
import java.util.List;

/**
 * Counts the releases while a client closes.
 *
 * @threading event-loop-confined
 */
final class ReleaseTally {

    private final List<String> unreleased = new ArrayList<>();
    private int releasedCount;

    void record(String resource, ReleaseOutcome outcome) {
        if (outcome == ReleaseOutcome.UNKNOWN) {
            unreleased.add(resource);
        } else {
            releasedCount++;
        }
    }

    CloseReport report() {
        return new CloseReport(releasedCount, unreleased);
    }
}
