package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof that thrifty quorums do not allow two holders: a search through all states of a small model. */
class ThriftySearchTest {

    /** The number of states is part of the proof: a change of the model shows in it. */
    @Test
    void thriftyQuorumsDoNotAllowASecondHolder() {
        ThriftySearch search = new ThriftySearch(ThriftySearch.Rule.PRODUCT);
        long startNs = System.nanoTime();
        assertNull(search.run());
        System.out.println("thrifty search: " + search.stateCount() + " states, no violation, "
                + (System.nanoTime() - startNs) / 1_000_000 + " ms");
        assertEquals(31_426, search.stateCount(), "states");
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "PRODUCT")
    void findsTheErrorOfEachWrongRule(ThriftySearch.Rule rule) {
        assertNotNull(new ThriftySearch(rule).run());
    }
}
