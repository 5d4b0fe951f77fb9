package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The proof of the fencing rule, by looking at everything that can happen in a small world. */
class FenceSearchTest {

    /** The number of states is part of the proof: a change of the model shows in it. */
    private static void assertClean(final int grantCount, final int counterMax, final long stateCount) {
        final FenceSearch search = new FenceSearch(grantCount, FenceSearch.Rule.EXACTLY);
        final long startNs = System.nanoTime();
        assertNull(search.run(counterMax));
        System.out.println("fence search, " + grantCount + " grants, counters from 0 to " + counterMax + ": "
                + search.stateCount() + " states, no violation, " + (System.nanoTime() - startNs) / 1_000_000 + " ms");
        assertEquals(stateCount, search.stateCount(), "states");
    }

    @Test
    void twoOverlappingGrantsGetUniqueAndIncreasingTokens() {
        assertClean(2, 2, 26_347);
    }

    @Test
    void threeOverlappingGrantsFromEqualCountersGetUniqueAndIncreasingTokens() {
        assertClean(3, 0, 885_873);
    }

    @Test
    @EnabledIfSystemProperty(named = "redlock.longFenceSearch", matches = "true")
    void threeOverlappingGrantsGetUniqueAndIncreasingTokens() {
        assertClean(3, 2, 7_692_467);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void atLeastInsteadOfExactlyIsWrong(final int grantCount) {
        assertNotNull(new FenceSearch(grantCount, FenceSearch.Rule.AT_LEAST).run(2));
        assertTrue(new FenceSearch(grantCount, FenceSearch.Rule.AT_LEAST).run(0).startsWith("two grants got "));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void theHighestWithoutRaisingIsWrong(final int grantCount) {
        assertNotNull(new FenceSearch(grantCount, FenceSearch.Rule.MAX_WITHOUT_RAISE).run(2));
        assertNotNull(new FenceSearch(grantCount, FenceSearch.Rule.MAX_WITHOUT_RAISE).run(0));
    }
}
