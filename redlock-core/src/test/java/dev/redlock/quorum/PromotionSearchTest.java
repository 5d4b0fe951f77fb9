package dev.redlock.quorum;

import static dev.redlock.search.SearchAssert.assertClean;
import static dev.redlock.search.SearchAssert.assertFound;

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
        assertClean("promotions are shown", new PromotionSearch(Rule.PRODUCT, Evidence.REMEMBERED), 751_813);
    }

    @Test
    void aCopiedMarkShowsAPromotionThatTheServerDoesNot() {
        assertClean("marks only", new PromotionSearch(Rule.PRODUCT, Evidence.MARKS_ONLY), 142_979);
        assertFound(Rule.OTHER_MARK_IGNORED, new PromotionSearch(Rule.OTHER_MARK_IGNORED, Evidence.MARKS_ONLY));
    }

    @Test
    void aPromotionThatIsForgottenTooEarlyAllowsASecondHolder() {
        assertFound(Evidence.FORGOTTEN_EARLY, new PromotionSearch(Rule.PRODUCT, Evidence.FORGOTTEN_EARLY));
    }

    @ParameterizedTest
    @EnumSource(value = Rule.class, names = {"PRODUCT", "OTHER_MARK_IGNORED"}, mode = EnumSource.Mode.EXCLUDE)
    void findsTheErrorOfEachSimplerRule(Rule rule) {
        assertFound(rule, new PromotionSearch(rule, Evidence.REMEMBERED));
    }
}
