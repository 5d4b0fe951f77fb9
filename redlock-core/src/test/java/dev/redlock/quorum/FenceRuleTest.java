package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The rule against its words: every assignment of few values to few nodes. */
class FenceRuleTest {

    private static final int VALUES = 4;

    /** The k-th largest, if a quorum stands at exactly that. */
    private static long expected(final int nodeCount, final List<Long> granted) {
        final int quorum = nodeCount / 2 + 1;
        final int rank = quorum - (nodeCount - granted.size());
        if (rank < 1) {
            return FenceRule.NONE;
        }
        final List<Long> sorted = new ArrayList<>(granted);
        sorted.sort(Comparator.reverseOrder());
        final long candidate = sorted.get(rank - 1);
        return sorted.stream().filter(value -> value == candidate).count() >= quorum ? candidate : FenceRule.NONE;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6})
    void agreesWhenAQuorumStandsAtTheRankedValue(final int nodeCount) {
        final FenceRule rule = new FenceRule(nodeCount);
        final int assignments = (int) Math.pow(VALUES, nodeCount);
        for (int assignment = 0; assignment < assignments; assignment++) {
            rule.reset();
            final List<Long> granted = new ArrayList<>();
            long lagging = 0;
            long highest = 0;
            for (int node = 0, rest = assignment; node < nodeCount; node++, rest /= VALUES) {
                if (rest % VALUES > 0) {
                    rule.onGrant(node, rest % VALUES);
                    granted.add((long) rest % VALUES);
                    highest = Math.max(highest, rest % VALUES);
                }
            }
            for (int node = 0, rest = assignment; node < nodeCount; node++, rest /= VALUES) {
                lagging |= rest % VALUES > 0 && rest % VALUES < highest ? 1L << node : 0;
            }
            assertEquals(expected(nodeCount, granted), rule.agreed(), () -> "values " + granted);
            assertEquals(highest, rule.highest());
            assertEquals(lagging, rule.lagging());
        }
    }

    @Test
    void raisedNodesStandWhereTheyWereRaised() {
        final FenceRule rule = new FenceRule(3);
        rule.onGrant(0, 5);
        rule.onGrant(1, 9);
        rule.onGrant(2, 7);
        assertEquals(0b101, rule.lagging());
        assertEquals(FenceRule.NONE, rule.agreed());
        rule.onRaised(0, 9);
        assertEquals(0b011, rule.standingAt(9));
        assertEquals(0b100, rule.standingAt(7));
        assertEquals(0, rule.standingAt(5));
        assertEquals(9, rule.agreed());
    }

    @Test
    void aValueThatWasOnlySeenRaisesTheHighest() {
        final FenceRule rule = new FenceRule(3);
        rule.onGrant(0, 5);
        rule.noteSeen(8);
        rule.noteSeen(6);
        assertEquals(8, rule.highest());
        assertEquals(0b001, rule.lagging());
        rule.reset();
        assertEquals(0, rule.highest());
        assertEquals(0, rule.lagging());
    }
}
