package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.quorum.OwnSleepSearch.Rule;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof of the rule for a client with one node whose machine was suspended. */
class OwnSleepSearchTest {

    /** The number of states is part of the proof: a change of the model shows in it. */
    @Test
    void aSuspendThatTheSystemCountsAllowsNoSecondHolder() {
        OwnSleepSearch search = new OwnSleepSearch(Rule.PRODUCT);
        assertNull(search.run());
        assertEquals(37_194, search.stateCount(), "states");
    }

    @ParameterizedTest
    @EnumSource(names = {"PRODUCT", "EVERY_JUMP_IS_THE_NODES"}, mode = EnumSource.Mode.EXCLUDE)
    void findsTheErrorOfEachSimplerRule(Rule rule) {
        String violation = new OwnSleepSearch(rule).run();
        assertNotNull(violation);
        assertTrue(violation.contains("lease"), violation);
    }

    /** It has no error, but it costs the locks of a whole ttl. */
    @Test
    void findsTheQuarantineWithoutNeed() {
        String violation = new OwnSleepSearch(Rule.EVERY_JUMP_IS_THE_NODES).run();
        assertTrue(violation.contains("without need"), violation);
    }
}
