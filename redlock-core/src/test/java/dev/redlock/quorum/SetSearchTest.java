package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof that overlapping sets of resources exclude each other: a search through all states of a small model. */
class SetSearchTest {

    /** The number of states is part of the proof: a change of the model shows in it. */
    @Test
    void overlappingSetsDoNotHaveTwoHolders() {
        SetSearch search = new SetSearch(SetSearch.Rule.PRODUCT);
        long startNs = System.nanoTime();
        assertNull(search.run());
        System.out.println("set search: " + search.stateCount() + " states, no violation, "
                + (System.nanoTime() - startNs) / 1_000_000 + " ms");
        assertEquals(14_289, search.stateCount(), "states");
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "PRODUCT")
    void findsTheErrorOfEachWrongRule(SetSearch.Rule rule) {
        assertNotNull(new SetSearch(rule).run());
    }
}
