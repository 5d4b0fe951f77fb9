package dev.redlock.retain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.redlock.retain.BlockSearch.Rule;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof that blocks of fencing tokens are disjoint and in order: a search through all states of a small model. */
class BlockSearchTest {

    @Test
    void blocksOfTwoLeasesAreInOrder() {
        assertClean(new BlockSearch(Rule.PRODUCT, 2, false, false), 35_980);
    }

    @Test
    void aRefillIsInTheOrderOfItsLease() {
        assertClean(new BlockSearch(Rule.PRODUCT, 3, true, false), 345_362);
    }

    @Test
    @Tag("exhaustive")
    void blocksAreInOrderIfCountersAreLost() {
        assertClean(new BlockSearch(Rule.PRODUCT, 2, false, true), 6_018_704);
    }

    /** The number of states is part of the proof: a change of the model shows in it. */
    private static void assertClean(BlockSearch search, long stateCount) {
        long startNs = System.nanoTime();
        assertNull(search.run());
        System.out.println("block search: " + search.stateCount() + " states, no violation, "
                + (System.nanoTime() - startNs) / 1_000_000 + " ms");
        assertEquals(stateCount, search.stateCount(), "states");
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "PRODUCT")
    void findsTheErrorOfEachWrongRule(Rule rule) {
        boolean isRefill = rule == Rule.REFILL_WITHOUT_KEY || rule == Rule.REFILL_BY_ANY_GRANT;
        int requestCount = isRefill || rule == Rule.LEFTOVERS ? 3 : 2;
        BlockSearch search = new BlockSearch(rule, requestCount, isRefill, rule == Rule.SEED_WITHOUT_STEP);
        String story = search.run();
        assertNotNull(story);
        System.out.println(rule + ", " + story);
    }
}
