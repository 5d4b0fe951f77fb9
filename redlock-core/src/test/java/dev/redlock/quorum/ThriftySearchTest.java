package dev.redlock.quorum;

import static dev.redlock.search.SearchAssert.assertClean;
import static dev.redlock.search.SearchAssert.assertFound;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof that thrifty quorums do not allow two holders: a search through all states of a small model. */
class ThriftySearchTest {

    @Test
    void thriftyQuorumsDoNotAllowASecondHolder() {
        assertClean("two clients", new ThriftySearch(ThriftySearch.Rule.PRODUCT), 31_426);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "PRODUCT")
    void findsTheErrorOfEachWrongRule(ThriftySearch.Rule rule) {
        assertFound(rule, new ThriftySearch(rule));
    }
}
