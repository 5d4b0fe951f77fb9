package dev.redlock.loadtest.scenario;

import java.util.Optional;

/**
 * One story that can be played again and again.
 *
 * @threading caller-confined
 */
public interface Scenario {
    /**
     * What it is called on the command line.
     *
     * @return words with dashes
     */
    String name();

    /**
     * What it shows.
     *
     * @return one sentence
     */
    String claim();

    /**
     * What it needs and this machine lacks.
     *
     * @return what is missing and what to do about it; empty where nothing is
     */
    default Optional<String> missing() {
        return Optional.empty();
    }

    /**
     * Plays it on nodes of its own.
     *
     * @param timeline where it tells what happens, and checks it
     * @throws Exception whatever goes wrong; {@link IllegalStateException} if something is {@link #missing}
     */
    void play(Timeline timeline) throws Exception;
}
