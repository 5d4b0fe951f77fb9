package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.redlock.quorum.PromotionSearch.Evidence;
import dev.redlock.quorum.PromotionSearch.Rule;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof that one voter that fails over allows no second holder: a search through all states of a small model. */
class PromotionSearchTest {

    /** Also if leases outlive the promotion. */
    @Test
    void aPromotedServerThatIsSilentDoesNotAllowASecondHolder() {
        PromotionSearch search = new PromotionSearch(Rule.PRODUCT, Evidence.REMEMBERED);
        assertNull(search.run());
        // The number of states is part of the proof: a change of the model shows in it.
        assertEquals(517_023, search.stateCount(), "states");
    }

    @Test
    void aCopiedMarkShowsAPromotionThatTheServerDoesNot() {
        PromotionSearch search = new PromotionSearch(Rule.PRODUCT, Evidence.MARKS_ONLY);
        assertNull(search.run());
        assertEquals(142_979, search.stateCount(), "states");
        assertNotNull(new PromotionSearch(Rule.OTHER_MARK_IGNORED, Evidence.MARKS_ONLY).run());
    }

    @Test
    void aPromotionThatIsForgottenTooEarlyAllowsASecondHolder() {
        assertNotNull(new PromotionSearch(Rule.PRODUCT, Evidence.FORGOTTEN_EARLY).run());
    }

    @ParameterizedTest
    @EnumSource(value = Rule.class, names = {"PRODUCT", "OTHER_MARK_IGNORED"}, mode = EnumSource.Mode.EXCLUDE)
    void findsTheErrorOfEachSimplerRule(Rule rule) {
        assertNotNull(new PromotionSearch(rule, Evidence.REMEMBERED).run());
    }
}
