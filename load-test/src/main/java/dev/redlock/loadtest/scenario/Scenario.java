package dev.redlock.loadtest.scenario;

import dev.redlock.trial.nodes.ClockLibrary;
import java.util.Optional;

/**
 * A scenario that can be played repeatedly.
 *
 * @param isClockMoved whether it needs a wall clock for each node
 * @threading caller-confined
 */
record Scenario(String name, String claim, boolean isClockMoved, Play play) {
    /** @threading caller-confined */
    @FunctionalInterface
    interface Play {
        /** Throws any failure, AssertionError for an unexpected state. */
        void on(Timeline timeline) throws Exception;
    }

    /** A requirement that this machine does not meet, and the fix. */
    Optional<String> missing() {
        return isClockMoved && ClockLibrary.find().isEmpty()
                ? Optional.of("libfaketime is missing (a Debian package of that name)")
                : Optional.empty();
    }
}
