package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.redlock.quorum.JointListsSearch.Change;
import dev.redlock.quorum.JointListsSearch.Rule;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof that a change of the list allows no second holder: a search through all states of a small model. */
class JointListsSearchTest {

    /** The number of states is part of the proof: a change of the model shows in it. */
    @ParameterizedTest
    @CsvSource({"REPLACE_ONE, 37626", "GROW, 180502", "SHRINK, 200638", "REPLACE_TWO, 171802"})
    void aChangeInThreeStepsDoesNotAllowASecondHolder(Change change, int stateCount) {
        JointListsSearch search = new JointListsSearch(change, Rule.PRODUCT);
        assertNull(search.run());
        assertEquals(stateCount, search.stateCount(), "states");
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "PRODUCT")
    void findsTheErrorOfEachWrongRule(Rule rule) {
        assertNotNull(new JointListsSearch(Change.GROW, rule).run());
        assertNotNull(new JointListsSearch(Change.REPLACE_TWO, rule).run());
    }
}
