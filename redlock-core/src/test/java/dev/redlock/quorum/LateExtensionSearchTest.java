package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The proof that a late extension does not allow two holders: a search through all states of a small model. */
class LateExtensionSearchTest {

    @ParameterizedTest
    @CsvSource({"0, 2, 1, 52734", "7, 2, 1, 32281", "1, 2, 1, 261661", "3, 2, 1, 217237"})
    void aLateExtensionDoesNotAllowASecondHolder(int nativeMask, int ttlMax,
            int unansweredMax, long stateCount) {
        assertClean(nativeMask, ttlMax, unansweredMax, stateCount);
    }

    @ParameterizedTest
    @Tag("exhaustive")
    @CsvSource({"0, 2, 2, 701803", "7, 2, 2, 587582", "0, 3, 1, 2481461", "7, 3, 1, 1019469"})
    void twoLateExtensionsOrALongerTtlDoNotAllowASecondHolder(int nativeMask, int ttlMax, int unansweredMax,
            long stateCount) {
        assertClean(nativeMask, ttlMax, unansweredMax, stateCount);
    }

    @ParameterizedTest
    @Tag("exhaustive")
    @CsvSource({"1, 2, 2, 4699801", "3, 2, 2, 4050137"})
    void oneOfTwoLateExtensionsDoesNotAllowASecondHolderIfNodesDiffer(int nativeMask,
            int ttlMax, int unansweredMax,
            long stateCount) {
        assertClean(nativeMask, ttlMax, unansweredMax, stateCount);
    }

    /** The number of states is part of the proof: a change of the model shows in it. */
    private static void assertClean(int nativeMask, int ttlMax, int unansweredMax,
            long stateCount) {
        LateExtensionSearch search = new LateExtensionSearch(LateExtensionSearch.Rule.PRODUCT, nativeMask,
                ttlMax, unansweredMax);
        long startNs = System.nanoTime();
        assertNull(search.run());
        System.out.println("late extension search, conditional sets on nodes " + nativeMask + ": "
                + search.stateCount() + " states, no violation, " + (System.nanoTime() - startNs) / 1_000_000 + " ms");
        assertEquals(stateCount, search.stateCount(), "states");
    }

    @ParameterizedTest
    @CsvSource({"SCRIPTS_SHORTEN, 0", "SCRIPTS_SHORTEN, 1", "SCRIPTS_SHORTEN, 3", "EVERY_ANSWER_COUNTS, 1",
        "EVERY_ANSWER_COUNTS, 3", "EVERY_ANSWER_COUNTS, 7", "LAST_TTL_ONLY, 7"})
    void findsTheErrorOfEachSimplerRule(LateExtensionSearch.Rule rule, int nativeMask) {
        assertNotNull(
                new LateExtensionSearch(rule, nativeMask, 2, rule == LateExtensionSearch.Rule.LAST_TTL_ONLY ? 2 : 1)
                        .run());
    }
}
