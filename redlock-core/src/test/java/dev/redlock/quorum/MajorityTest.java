package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MajorityTest {

    private static boolean isMajority(long list, long nodes) {
        return Long.bitCount(nodes & list) > Long.bitCount(list & ~nodes);
    }

    /** Any two clients that may run at the same time decide on sets that share a node. */
    @ParameterizedTest
    @CsvSource({"7, 11", "7, 31", "31, 7", "7, 25", "7, 56", "3, 12", "1, 2", "1, 7", "15, 51"})
    void eachMajorityOfBothSharesANodeWithThoseOfEither(long first, long second) {
        Majority both = Majority.ofBoth(first, second);
        assertEquals(Long.bitCount(first | second), both.nodeCount());
        assertTrue(both.isJoint());
        long end = 1L << both.nodeCount();
        boolean areListsDisjointSomewhere = false;
        for (long one = 0; one < end; one++) {
            assertEquals(isMajority(first, one) && isMajority(second, one), both.isReachedBy(one));
            assertEquals(!both.isReachedBy(end - 1 & ~one), both.isPreventedBy(one));
            for (long other = 0; other < end; other++) {
                boolean isOtherEnough = isMajority(first, other) || isMajority(second, other);
                assertFalse(both.isReachedBy(one) && isOtherEnough && (one & other) == 0, one + " and " + other);
                areListsDisjointSomewhere |= isMajority(first, one) && isMajority(second, other) && (one & other) == 0;
            }
        }
        assertTrue(areListsDisjointSomewhere, "the change needs both lists");
    }

    @ParameterizedTest
    @CsvSource({"1", "2", "3", "4", "5", "6", "7"})
    void oneListNeedsMoreThanHalf(int nodeCount) {
        Majority majority = Majority.of(nodeCount);
        assertFalse(majority.isJoint());
        for (long nodes = 0; nodes < 1L << nodeCount; nodes++) {
            assertEquals(isMajority(Quorum.allOf(nodeCount), nodes), majority.isReachedBy(nodes));
            assertEquals(!isMajority(Quorum.allOf(nodeCount), ~nodes), majority.isPreventedBy(nodes));
        }
    }

    /** A minority of each list may be wrong. Each value is given to some nodes, and only some of the nodes count. */
    @ParameterizedTest
    @CsvSource({"7, 0", "15, 0", "31, 0", "7, 25", "7, 31", "31, 7", "3, 12"})
    void aNumberIsSupportedByMoreNodesThanMayBeWrongInOneOfTheLists(long first, long second) {
        Majority majority = second == 0 ? Majority.of(Long.bitCount(first)) : Majority.ofBoth(first, second);
        int nodeCount = majority.nodeCount();
        for (long mask = 0; mask < 1L << nodeCount; mask++) {
            for (long reaching = 0; reaching < 1L << nodeCount; reaching++) {
                long[] values = new long[nodeCount];
                for (int i = 0; i < nodeCount; i++) {
                    values[i] = (reaching & 1L << i) != 0 ? 9 : 1;
                }
                long lowest = isSupported(first, second, mask) ? 1 : 0;
                long expected = isSupported(first, second, mask & reaching) ? 9 : lowest;
                assertEquals(expected, majority.supported(values, mask), mask + " and " + reaching);
            }
        }
    }

    private static boolean isSupported(long first, long second, long nodes) {
        return isSupported(first, nodes) || second != 0 && isSupported(second, nodes);
    }

    /** The other nodes of the list are too few for a majority. */
    private static boolean isSupported(long list, long nodes) {
        return !isMajority(list, list & ~nodes);
    }

    @Test
    void rejectsListsWithoutNumbers() {
        assertThrows(IllegalArgumentException.class, () -> Majority.ofBoth(0, 3));
        assertThrows(IllegalArgumentException.class, () -> Majority.ofBoth(3, 0));
        assertThrows(IllegalArgumentException.class, () -> Majority.ofBoth(3, 8));
        assertThrows(IllegalArgumentException.class, () -> Majority.of(0));
        assertThrows(IllegalArgumentException.class, () -> Majority.of(64));
        assertEquals("2 of 3 and 3 of 5", Majority.ofBoth(7, 31).toString());
        assertEquals("2 of 3", Majority.of(3).toString());
    }
}
