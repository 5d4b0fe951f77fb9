package dev.redlock.retain;

import static dev.redlock.search.SearchAssert.assertClean;
import static dev.redlock.search.SearchAssert.assertFound;

import dev.redlock.retain.BlockSearch.Rule;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof that blocks of fencing tokens are disjoint and in order: a search through all states of a small model. */
class BlockSearchTest {

    @Test
    void blocksOfTwoLeasesAreInOrder() {
        assertClean("two leases", new BlockSearch(Rule.PRODUCT, 2, false, false), 35_980);
    }

    @Test
    void aRefillIsInTheOrderOfItsLease() {
        assertClean("a refill", new BlockSearch(Rule.PRODUCT, 3, true, false), 345_362);
    }

    @Test
    @Tag("exhaustive")
    void blocksAreInOrderIfCountersAreLost() {
        assertClean("lost counters", new BlockSearch(Rule.PRODUCT, 2, false, true), 6_018_704);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "PRODUCT")
    void findsTheErrorOfEachWrongRule(Rule rule) {
        boolean isRefill = rule == Rule.REFILL_WITHOUT_KEY || rule == Rule.REFILL_BY_ANY_GRANT;
        int requestCount = isRefill || rule == Rule.LEFTOVERS ? 3 : 2;
        assertFound(rule, new BlockSearch(rule, requestCount, isRefill, rule == Rule.SEED_WITHOUT_STEP));
    }
}
