package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof that a slot with a new owner allows no second holder: a search through all states of a small model. */
class SlotSilenceSearchTest {

    @Test
    void aNewOwnerThatIsSilentDoesNotAllowASecondHolder() {
        SlotSilenceSearch search = new SlotSilenceSearch(SlotSilenceSearch.Rule.PRODUCT);
        assertNull(search.run());
        // The number of states is part of the proof: a change of the model shows in it.
        assertEquals(26_921, search.stateCount(), "states");
    }

    @ParameterizedTest
    @EnumSource(value = SlotSilenceSearch.Rule.class, names = "PRODUCT", mode = EnumSource.Mode.EXCLUDE)
    void findsTheErrorOfEachSimplerRule(SlotSilenceSearch.Rule rule) {
        assertNotNull(new SlotSilenceSearch(rule).run());
    }
}
