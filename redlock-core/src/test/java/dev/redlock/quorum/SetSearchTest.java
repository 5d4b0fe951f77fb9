package dev.redlock.quorum;

import static dev.redlock.search.SearchAssert.assertClean;
import static dev.redlock.search.SearchAssert.assertFound;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof that overlapping sets of resources exclude each other: a search through all states of a small model. */
class SetSearchTest {

    @Test
    void overlappingSetsDoNotHaveTwoHolders() {
        assertClean("two sets", new SetSearch(SetSearch.Rule.PRODUCT), 14_289);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "PRODUCT")
    void findsTheErrorOfEachWrongRule(SetSearch.Rule rule) {
        assertFound(rule, new SetSearch(rule));
    }
}
