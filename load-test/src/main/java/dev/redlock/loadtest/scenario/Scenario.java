package dev.redlock.loadtest.scenario;

import java.util.Optional;

/**
 * A scenario that can be played repeatedly.
 *
 * @threading caller-confined
 */
public interface Scenario {
    /**
     * Its name on the command line.
     *
     * @return words with dashes
     */
    String name();

    /** A summary. */
    String claim();

    /**
     * A requirement that this machine does not meet.
     *
     * @return the missing part and the fix; empty if nothing is missing
     */
    default Optional<String> missing() {
        return Optional.empty();
    }

    /**
     * Plays it on nodes of its own.
     *
     * @throws Exception any failure; {@link IllegalStateException} if a part is {@link #missing}
     */
    void play(Timeline timeline) throws Exception;
}
