package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The rule against its specification: every assignment of few values to few nodes. */
class FenceRuleTest {

    private static final int VALUES = 4;

    /** The k-th largest value, if a quorum has exactly this value. */
    private static long expected(int nodeCount, List<Long> granted) {
        int quorum = nodeCount / 2 + 1;
        int rank = quorum - (nodeCount - granted.size());
        if (rank < 1) {
            return FenceRule.NONE;
        }
        List<Long> sorted = new ArrayList<>(granted);
        sorted.sort(Comparator.reverseOrder());
        long candidate = sorted.get(rank - 1);
        return sorted.stream().filter(value -> value == candidate).count() >= quorum ? candidate : FenceRule.NONE;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6})
    void agreesIfAQuorumHasTheRankedValue(int nodeCount) {
        FenceRule rule = new FenceRule(Majority.of(nodeCount));
        int assignments = (int) Math.pow(VALUES, nodeCount);
        for (int assignment = 0; assignment < assignments; assignment++) {
            rule.reset();
            List<Long> granted = new ArrayList<>();
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
    void aRaisedNodeHasTheRaisedValue() {
        FenceRule rule = new FenceRule(Majority.of(3));
        rule.onGrant(0, 5);
        rule.onGrant(1, 9);
        rule.onGrant(2, 7);
        assertEquals(0b101, rule.lagging());
        assertEquals(FenceRule.NONE, rule.agreed());
        rule.onRaised(0, 9);
        assertEquals(0b011, rule.nodesAt(9));
        assertEquals(0b100, rule.nodesAt(7));
        assertEquals(0, rule.nodesAt(5));
        assertEquals(9, rule.agreed());
    }

    @Test
    void aSeenValueCountsForTheHighestOnly() {
        FenceRule rule = new FenceRule(Majority.of(3));
        rule.onGrant(0, 5);
        rule.recordSeen(8);
        rule.recordSeen(6);
        assertEquals(8, rule.highest());
        assertEquals(0b001, rule.lagging());
        rule.reset();
        assertEquals(0, rule.highest());
        assertEquals(0, rule.lagging());
    }

    @ParameterizedTest
    @CsvSource({"1,1", "2,1", "3,2", "4,2", "5,3", "6,3", "7,4", "63,32"})
    void supportIsOneNodeMoreThanMayBeFaulty(int nodeCount, int support) {
        long[] values = new long[nodeCount];
        Arrays.fill(values, 1);
        Arrays.fill(values, 0, support - 1, 9);
        assertEquals(1, Majority.of(nodeCount).supported(values, Quorum.allOf(nodeCount)));
        values[support - 1] = 9;
        assertEquals(9, Majority.of(nodeCount).supported(values, Quorum.allOf(nodeCount)));
    }

    /** Nodes 0 to 2, and then nodes 2 to 4: a token needs two of each. */
    @Test
    void aTokenNeedsAMajorityOfEachList() {
        FenceRule rule = new FenceRule(Majority.ofBoth(0b00111, 0b11100));
        for (int i = 0; i < 3; i++) {
            rule.onGrant(i, 7);
        }
        assertEquals(FenceRule.NONE, rule.agreed());
        rule.onGrant(3, 5);
        assertEquals(FenceRule.NONE, rule.agreed());
        assertEquals(0b01000, rule.lagging());
        rule.onRaised(3, 7);
        assertEquals(7, rule.agreed());
    }

    @ParameterizedTest
    @CsvSource({"0b111, 1, 9", "0b111, 2, 7", "0b111, 3, 5", "0b111, 4, 0", "0b101, 2, 5", "0b000, 1, 0"})
    void aNumberIsReachedByValuesNotBelowIt(String mask, int count, long reached) {
        long[] values = {5, 7, 9};
        assertEquals(reached,
                Majority.of(values.length).reachedBy(values, Long.parseLong(mask.substring(2), 2), count));
    }

    /** The seed of an hour later, to the microsecond; 0 without a clock, and never above the maximum. */
    @ParameterizedTest
    @CsvSource({"0, 0", "-1, 0", "1, 3774873601", "500000, 3775397888", "1000000, 3775922176",
        "1800000000000000, 1887440574873600", "8589930991000000, 9007199253692416",
        "8589930992000000, 9007199254740991", "9223372036854775807, 9007199254740991"})
    void theClockLimitIsTheSeedOfAnHourLater(long wallUs, long limit) {
        assertEquals(limit, FenceRule.clockLimit(wallUs));
    }

    @Test
    void aValueIsInRangeUpToTheClockLimitOrTheLeadOverAMajority() {
        FenceRule rule = new FenceRule(Majority.of(3));
        assertEquals(50, rule.limit(50), "no grant");
        rule.onGrant(2, 900_000);
        assertEquals(50, rule.limit(50), "one node has no say");
        rule.onGrant(0, 7);
        assertEquals(50_000, rule.limit(50_000), "the clock");
        assertEquals(7 + 1_024, rule.limit(50), "the majority");
        rule.onGrant(1, 7 + 1_024);
        assertEquals(7 + 2_048, rule.limit(50), "two reach it");
        assertEquals(0, rule.dropOutOfRange(900_000), "at the limit");
        assertEquals(0b100, rule.dropOutOfRange(899_999), "beyond");
        assertEquals(7 + 1_024, rule.highest(), "of those that are left");
        assertEquals(0b001, rule.lagging(), "of those that are left");
        assertEquals(900_000, rule.valueOf(2), "what it was");
    }

    @Test
    void aValueAtTheLeadOverAMajorityStays() {
        FenceRule rule = new FenceRule(Majority.of(3));
        rule.onGrant(0, 7);
        rule.onGrant(1, 7);
        rule.onGrant(2, 7 + 1_024);
        assertEquals(0, rule.dropOutOfRange(50));
        assertEquals(7 + 1_024, rule.highest());
        rule.onGrant(2, 7 + 1_025);
        assertEquals(0b100, rule.dropOutOfRange(50));
        assertEquals(7, rule.highest());
    }

    /** Two of three clocks have reached it: at least one of them is right. */
    @Test
    void theClockLimitIsThatOfTheClockThatEnoughNodesHaveReached() {
        long[] wallUs = {500_000, 1_800_000_000_000_000L, 1_000_000};
        assertEquals(FenceRule.clockLimit(1_000_000), FenceRule.clockLimit(Majority.of(3), wallUs));
    }

    @Test
    void theSeedIsTheSecondOfThatClock() {
        assertEquals(1L << 20, FenceRule.seed(Majority.of(3), new long[]{500_000, 1_800_000_000_000_000L, 1_999_999}));
        assertEquals(0, FenceRule.seed(Majority.of(3), new long[]{0, 1_800_000_000_000_000L, 0}));
        assertEquals(1_800_000_000L << 20, FenceRule.seed(Majority.of(1), new long[]{1_800_000_000_000_001L}));
        assertEquals((1L << 33) - 1 << 20, FenceRule.seed(Majority.of(1), new long[]{((1L << 33) - 1) * 1_000_000}));
        assertEquals(0, FenceRule.seed(Majority.of(1), new long[]{(1L << 33) * 1_000_000}));
    }

    @Test
    void aLateValueRemainsTheHighest() {
        FenceRule rule = new FenceRule(Majority.of(3));
        rule.onGrant(0, 5);
        rule.onGrant(1, 90_000);
        rule.recordSeen(40);
        assertEquals(0b010, rule.dropOutOfRange(50));
        assertEquals(40, rule.highest());
        rule.reset();
        rule.onGrant(1, 90_000);
        assertEquals(0b010, rule.dropOutOfRange(50));
        assertEquals(0, rule.highest(), "nothing is left");
    }
}
