package dev.redlock.quorum;

import dev.redlock.search.SearchAssert;
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

    private static void assertClean(int nativeMask, int ttlMax, int unansweredMax, long stateCount) {
        SearchAssert.assertClean("conditional sets on nodes " + nativeMask,
                new LateExtensionSearch(LateExtensionSearch.Rule.PRODUCT, nativeMask, ttlMax, unansweredMax),
                stateCount);
    }

    @ParameterizedTest
    @CsvSource({"SCRIPTS_SHORTEN, 0", "SCRIPTS_SHORTEN, 1", "SCRIPTS_SHORTEN, 3", "EVERY_ANSWER_COUNTS, 1",
        "EVERY_ANSWER_COUNTS, 3", "EVERY_ANSWER_COUNTS, 7", "LAST_TTL_ONLY, 7"})
    void findsTheErrorOfEachSimplerRule(LateExtensionSearch.Rule rule, int nativeMask) {
        int unansweredMax = rule == LateExtensionSearch.Rule.LAST_TTL_ONLY ? 2 : 1;
        SearchAssert.assertFound(rule, new LateExtensionSearch(rule, nativeMask, 2, unansweredMax));
    }
}
