package dev.redlock.quorum;

import static dev.redlock.search.SearchAssert.assertClean;
import static dev.redlock.search.SearchAssert.assertFound;

import dev.redlock.quorum.OwnSleepSearch.Rule;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof of the rule for a client with one node whose machine was suspended. */
class OwnSleepSearchTest {

    @Test
    void aSuspendThatTheSystemCountsAllowsNoSecondHolder() {
        assertClean("one node", new OwnSleepSearch(Rule.PRODUCT), 37_194);
    }

    @ParameterizedTest
    @EnumSource(names = {"PRODUCT", "EVERY_JUMP_IS_THE_NODES"}, mode = EnumSource.Mode.EXCLUDE)
    void findsTheErrorOfEachSimplerRule(Rule rule) {
        assertFound(rule, new OwnSleepSearch(rule), "lease");
    }

    /** It has no error, but it costs the locks of a whole ttl. */
    @Test
    void findsTheQuarantineWithoutNeed() {
        Rule rule = Rule.EVERY_JUMP_IS_THE_NODES;
        assertFound(rule, new OwnSleepSearch(rule), "without need");
    }
}
