package dev.redlock.retain;

import static dev.redlock.search.SearchAssert.assertClean;
import static dev.redlock.search.SearchAssert.assertFound;

import dev.redlock.retain.RetainedLockSearch.Rule;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof that a retained lock does not have two holders: a search through all states of a small model. */
class RetainedLockSearchTest {

    @Test
    void aRetainedLockDoesNotHaveTwoHolders() {
        assertClean("1 + 1 clients", new RetainedLockSearch(Rule.PRODUCT, 2, 1, 1, false, false), 616_222);
    }

    @ParameterizedTest
    @Tag("exhaustive")
    @CsvSource({"PRODUCT, 2, 1, 1, false, true, 915017", "PRODUCT, 2, 2, 0, false, true, 1221979",
        "PRODUCT, 2, 1, 2, false, true, 3475309", "PRODUCT, 3, 1, 1, false, false, 5805660",
        "PRODUCT, 2, 1, 1, true, false, 19543580", "ALL_VOTES_EXTEND, 2, 1, 1, false, true, 598382"})
    void aRetainedLockDoesNotHaveTwoHoldersIfMoreHappens(Rule rule, int ttlMax, int retainingCount, int plainCount,
            boolean areOverlapping, boolean arePaused, long stateCount) {
        assertClean(rule + ", " + retainingCount + " + " + plainCount + " clients",
                new RetainedLockSearch(rule, ttlMax, retainingCount, plainCount, areOverlapping, arePaused),
                stateCount);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = {"PRODUCT", "ALL_VOTES_EXTEND"})
    void findsTheErrorOfEachWrongRule(Rule rule) {
        boolean isGrantPaused = rule == Rule.GRANT_BY_DURATION || rule == Rule.GRANT_BY_OLD_DEADLINE;
        assertFound(rule, new RetainedLockSearch(rule, 2, 1, 1, rule == Rule.NODES_SHORTEN, isGrantPaused));
    }
}
