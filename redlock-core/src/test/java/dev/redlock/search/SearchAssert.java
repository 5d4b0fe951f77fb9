package dev.redlock.search;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.function.Supplier;

/** What searches are to find. {@code -Dsearch.counterexamples=true} prints how each wrong rule fails. */
public final class SearchAssert {

    private SearchAssert() {
    }

    /** Asserts that a rule has no error. The number of states is part of the proof: a change of the model shows. */
    public static void assertClean(String rule, StateSearch search, long stateCount) {
        assertClean(rule, search, search::run, stateCount);
    }

    /** Asserts that a rule has no error, and that no run of it is without an end. */
    public static void assertEnds(String rule, EndlessSearch search, long stateCount) {
        assertClean(rule, search, () -> search.runForever(Integer.MAX_VALUE), stateCount);
    }

    private static void assertClean(String rule, StateSearch search, Supplier<String> run, long stateCount) {
        long startNs = System.nanoTime();
        assertNull(run.get());
        System.out.println(name(search) + ", " + rule + ": " + search.stateCount() + " states, no violation, "
                + (System.nanoTime() - startNs) / 1_000_000 + " ms");
        assertEquals(stateCount, search.stateCount(), "states");
    }

    /** Asserts that a rule has an error. */
    public static void assertFound(Object rule, StateSearch search) {
        assertFound(rule, search, "");
    }

    /** Asserts that a rule has an error with a text in its description. */
    public static void assertFound(Object rule, StateSearch search, String text) {
        assertCounterexample(rule, search, search.run(), text);
    }

    /** Asserts that a run of a rule is without an end. */
    public static void assertEndless(Object rule, EndlessSearch search, int statesMax) {
        assertCounterexample(rule, search, search.runForever(statesMax), "it never ends");
    }

    private static void assertCounterexample(Object rule, StateSearch search, String found, String text) {
        assertNotNull(found, "nothing was found");
        String violation = found.lines().findFirst().orElseThrow();
        System.out.println(name(search) + ", " + rule + ", " + search.stateCount() + " states: "
                + (Boolean.getBoolean("search.counterexamples") ? found : violation));
        assertTrue(violation.contains(text), found);
    }

    private static String name(StateSearch search) {
        return search.getClass().getSimpleName();
    }
}
