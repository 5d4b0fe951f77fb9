package dev.redlock.quorum;

import static dev.redlock.search.SearchAssert.assertClean;
import static dev.redlock.search.SearchAssert.assertFound;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof that a slot with a new owner allows no second holder: a search through all states of a small model. */
class SlotSilenceSearchTest {

    @Test
    void aNewOwnerThatIsSilentDoesNotAllowASecondHolder() {
        assertClean("two clients", new SlotSilenceSearch(SlotSilenceSearch.Rule.PRODUCT), 26_921);
    }

    @ParameterizedTest
    @EnumSource(value = SlotSilenceSearch.Rule.class, names = "PRODUCT", mode = EnumSource.Mode.EXCLUDE)
    void findsTheErrorOfEachSimplerRule(SlotSilenceSearch.Rule rule) {
        assertFound(rule, new SlotSilenceSearch(rule));
    }
}
