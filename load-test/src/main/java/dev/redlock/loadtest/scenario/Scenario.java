package dev.redlock.loadtest.scenario;

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
     * Plays it on nodes of its own.
     *
     * @param timeline where it tells what happens, and checks it
     * @throws Exception whatever goes wrong
     */
    void play(Timeline timeline) throws Exception;
}
