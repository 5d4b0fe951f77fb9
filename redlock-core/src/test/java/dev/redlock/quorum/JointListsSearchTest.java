package dev.redlock.quorum;

import static dev.redlock.search.SearchAssert.assertClean;
import static dev.redlock.search.SearchAssert.assertFound;

import dev.redlock.quorum.JointListsSearch.Change;
import dev.redlock.quorum.JointListsSearch.Rule;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof that a change of the list allows no second holder: a search through all states of a small model. */
class JointListsSearchTest {

    @ParameterizedTest
    @CsvSource({"REPLACE_ONE, 37626", "GROW, 180502", "SHRINK, 200638", "REPLACE_TWO, 171802"})
    void aChangeInThreeStepsDoesNotAllowASecondHolder(Change change, int stateCount) {
        assertClean(change.name(), new JointListsSearch(change, Rule.PRODUCT), stateCount);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "PRODUCT")
    void findsTheErrorOfEachWrongRule(Rule rule) {
        assertFound(rule, new JointListsSearch(Change.GROW, rule));
        assertFound(rule, new JointListsSearch(Change.REPLACE_TWO, rule));
    }
}
