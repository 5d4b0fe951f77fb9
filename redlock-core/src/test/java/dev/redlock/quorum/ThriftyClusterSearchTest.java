package dev.redlock.quorum;

import static dev.redlock.search.SearchAssert.assertClean;
import static dev.redlock.search.SearchAssert.assertFound;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof that thrifty quorums over a cluster do not allow two holders: a search through all states of a model. */
class ThriftyClusterSearchTest {

    @Test
    void thriftyQuorumsOverAClusterDoNotAllowASecondHolder() {
        assertClean("two clients", new ThriftyClusterSearch(ThriftyClusterSearch.Rule.PRODUCT), 783_451);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "PRODUCT")
    void findsTheErrorOfEachWrongRule(ThriftyClusterSearch.Rule rule) {
        assertFound(rule, new ThriftyClusterSearch(rule));
    }
}
