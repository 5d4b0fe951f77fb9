package dev.redlock.quorum;

import dev.redlock.quorum.SemaphoreSearch.Rule;
import dev.redlock.search.SearchAssert;
import java.util.Arrays;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The proof that permits never grant more permits than a semaphore has: a search through all states of a small model.
 */
class SemaphoreSearchTest {

    private static void assertClean(long stateCount, int nodes, boolean isRestarting, int... permits) {
        SearchAssert.assertClean(nodes + " nodes, permits of clients " + Arrays.toString(permits)
                + (isRestarting ? ", restarts" : ""), new SemaphoreSearch(Rule.PERMITS, nodes, isRestarting, permits),
                stateCount);
    }

    @Test
    void threeClientsNeverHoldThreeOfTwoPermitsWhileNodesRestart() {
        assertClean(23_631, 3, true, 2, 2, 2);
    }

    @Test
    @Tag("exhaustive")
    void fourClientsNeverHoldFourOfThreePermits() {
        assertClean(676_422, 3, false, 3, 3, 3, 3);
    }

    @Test
    @Tag("exhaustive")
    void fiveNodesGrantNoMoreThanThePermits() {
        assertClean(1_658_161, 5, false, 2, 2, 2);
    }

    /** While the number changes, there are never more permits than the greater number. */
    @Test
    void clientsWithDifferentNumbersOfPermitsShareThePermits() {
        assertClean(71_290, 3, true, 1, 2, 2);
    }

    private static void assertFound(Rule rule, int nodes, int... permits) {
        SearchAssert.assertFound(rule, new SemaphoreSearch(rule, nodes, false, permits).latestFirst(),
                "3 permits are held of 2");
    }

    /** Three nodes with two grants each make three majorities: client A on 0 and 1, B on 1 and 2, C on 0 and 2. */
    @Test
    void findsThatAMajorityOfCountsIsTooMany() {
        assertFound(Rule.MAJORITY_COUNT, 3, 2, 2, 2);
        assertFound(Rule.MAJORITY_COUNT, 5, 2, 2, 2);
    }

    @Test
    void findsThatAnotherNumberMustNotHaveOtherPermits() {
        assertFound(Rule.PERMITS_NAMED_BY_COUNT, 3, 1, 2, 2);
    }
}
