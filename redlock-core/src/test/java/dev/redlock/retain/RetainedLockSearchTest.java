package dev.redlock.retain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

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
        assertClean(Rule.PRODUCT, 2, 1, 1, false, false, 616_222);
    }

    @ParameterizedTest
    @Tag("exhaustive")
    @CsvSource({"PRODUCT, 2, 1, 1, false, true, 915017", "PRODUCT, 2, 2, 0, false, true, 1221979",
        "PRODUCT, 2, 1, 2, false, true, 3475309", "PRODUCT, 3, 1, 1, false, false, 5805660",
        "PRODUCT, 2, 1, 1, true, false, 19543580", "ALL_VOTES_EXTEND, 2, 1, 1, false, true, 598382"})
    void aRetainedLockDoesNotHaveTwoHoldersIfMoreHappens(Rule rule, int ttlMax, int retainingCount, int plainCount,
            boolean areOverlapping, boolean arePaused, long stateCount) {
        assertClean(rule, ttlMax, retainingCount, plainCount, areOverlapping, arePaused, stateCount);
    }

    /** The number of states is part of the proof: a change of the model shows in it. */
    private static void assertClean(Rule rule, int ttlMax, int retainingCount, int plainCount, boolean areOverlapping,
            boolean arePaused, long stateCount) {
        RetainedLockSearch search = new RetainedLockSearch(rule, ttlMax, retainingCount, plainCount, areOverlapping,
                arePaused);
        long startNs = System.nanoTime();
        assertNull(search.run());
        System.out.println("retained lock search, " + rule + ", " + retainingCount + " + " + plainCount + " clients: "
                + search.stateCount() + " states, no violation, " + (System.nanoTime() - startNs) / 1_000_000 + " ms");
        assertEquals(stateCount, search.stateCount(), "states");
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = {"PRODUCT", "ALL_VOTES_EXTEND"})
    void findsTheErrorOfEachWrongRule(Rule rule) {
        boolean isGrantPaused = rule == Rule.GRANT_BY_DURATION || rule == Rule.GRANT_BY_OLD_DEADLINE;
        RetainedLockSearch search = new RetainedLockSearch(rule, 2, 1, 1, rule == Rule.NODES_SHORTEN, isGrantPaused);
        String story = search.run();
        assertNotNull(story);
        System.out.println(rule + ", " + story);
    }
}
