package dev.redlock.quorum;

import static dev.redlock.search.SearchAssert.assertFound;

import dev.redlock.quorum.OwnClockSearch.Part;
import dev.redlock.quorum.OwnClockSearch.Rule;
import dev.redlock.search.SearchAssert;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The proof of the rule for a clock of the client that stood still: a search through all states of a small model. */
class OwnClockSearchTest {

    private static void assertClean(Part part, int nodes, int amountMax, long stateCount) {
        SearchAssert.assertClean(part + ", " + nodes + " nodes, amounts to " + amountMax,
                new OwnClockSearch(Rule.PRODUCT, part, nodes, amountMax), stateCount);
    }

    @ParameterizedTest
    @CsvSource({"HOLDER, 1, 2, 1519", "HOLDER, 2, 1, 2763", "HOLDER, 3, 1, 83827", "NEWCOMER, 2, 1, 7804",
        "NEWCOMER, 3, 1, 286739", "NEWCOMER_AND_HOLDER_CUT_OFF, 2, 1, 734",
        "NEWCOMER_AND_HOLDER_CUT_OFF, 3, 1, 28892"})
    void aClockThatStoodStillAllowsNoSecondHolder(Part part, int nodes, int amountMax, long stateCount) {
        assertClean(part, nodes, amountMax, stateCount);
    }

    @ParameterizedTest
    @Tag("exhaustive")
    @CsvSource({"HOLDER, 3, 2, 3977726", "HOLDER, 5, 1, 14398136"})
    void longerTimesAndMoreNodesAllowNoSecondHolder(Part part, int nodes, int amountMax, long stateCount) {
        assertClean(part, nodes, amountMax, stateCount);
    }

    @ParameterizedTest
    @CsvSource({"NO_WAIT, NEWCOMER", "SHORT_WAIT, NEWCOMER", "MAJORITY, NEWCOMER_AND_HOLDER_CUT_OFF",
        "FIRST_SAMPLE, NEWCOMER_AND_HOLDER_CUT_OFF", "UNSAMPLED_NODE_AGREES, NEWCOMER_AND_HOLDER_CUT_OFF",
        "STEADY_NODE_IGNORED, NEWCOMER_AND_HOLDER_CUT_OFF", "ANY_AMOUNT, NEWCOMER_AND_HOLDER_CUT_OFF",
        "NOT_CONFIRMED, NEWCOMER_AND_HOLDER_CUT_OFF", "NOT_SETTLED, NEWCOMER_AND_HOLDER_CUT_OFF",
        "EARLIER_QUARANTINE_FORGOTTEN, NEWCOMER_AND_HOLDER_CUT_OFF", "LEASES_KEPT, HOLDER", "SHORTENED_ONCE, HOLDER",
        "IN_FLIGHT_KEPT, HOLDER"})
    void findsTheErrorOfEachSimplerRule(Rule rule, Part part) {
        assertFound(rule, new OwnClockSearch(rule, part, 3, 1), "lease");
    }

    /** It has no error, but it costs the locks of a whole ttl. */
    @Test
    void findsTheQuarantineWithoutNeed() {
        Rule rule = Rule.EVERY_NODE_JUMPED;
        assertFound(rule, new OwnClockSearch(rule, Part.NEWCOMER, 3, 1), "without need");
        // A client with one node cannot tell.
        assertFound(Rule.PRODUCT, new OwnClockSearch(Rule.PRODUCT, Part.NEWCOMER, 1, 1), "without need");
    }
}
