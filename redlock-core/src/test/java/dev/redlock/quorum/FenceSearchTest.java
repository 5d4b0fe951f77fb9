package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** The proof of the fencing rule, by looking at everything that can happen in a small world. */
class FenceSearchTest {

    @Test
    void twoOverlappingGrantsGetUniqueAndIncreasingTokens() {
        final FenceSearch search = new FenceSearch(2, FenceSearch.Rule.EXACTLY);
        assertNull(search.run(2));
        assertTrue(search.stateCount() > 100_000, "the search looked at " + search.stateCount() + " states only");
        System.out.println("fence search, 2 grants: " + search.stateCount() + " states, no violation");
    }

    @Test
    void atLeastInsteadOfExactlyGivesDuplicates() {
        assertNotNull(new FenceSearch(2, FenceSearch.Rule.AT_LEAST).run(2));
    }

    @Test
    void theHighestWithoutRaisingGivesDuplicates() {
        assertNotNull(new FenceSearch(2, FenceSearch.Rule.MAX_WITHOUT_RAISE).run(2));
    }

    @Test
    @EnabledIfSystemProperty(named = "redlock.longFenceSearch", matches = "true")
    void threeOverlappingGrantsGetUniqueAndIncreasingTokens() {
        final FenceSearch search = new FenceSearch(3, FenceSearch.Rule.EXACTLY);
        assertNull(search.run(0));
        System.out.println("fence search, 3 grants: " + search.stateCount() + " states, no violation");
    }
}
