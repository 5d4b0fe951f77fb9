package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof that thrifty quorums over a cluster do not allow two holders: a search through all states of a model. */
class ThriftyClusterSearchTest {

    /** The number of states is part of the proof: a change of the model shows in it. */
    @Test
    void thriftyQuorumsOverAClusterDoNotAllowASecondHolder() {
        ThriftyClusterSearch search = new ThriftyClusterSearch(ThriftyClusterSearch.Rule.PRODUCT);
        long startNs = System.nanoTime();
        assertNull(search.run());
        System.out.println("thrifty cluster search: " + search.stateCount() + " states, no violation, "
                + (System.nanoTime() - startNs) / 1_000_000 + " ms");
        assertEquals(783_451, search.stateCount(), "states");
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "PRODUCT")
    void findsTheErrorOfEachWrongRule(ThriftyClusterSearch.Rule rule) {
        assertNotNull(new ThriftyClusterSearch(rule).run());
    }
}
