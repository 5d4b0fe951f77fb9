package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class QuorumTest {

    @ParameterizedTest
    @CsvSource({"1, 1", "2, 2", "3, 2", "4, 3", "5, 3", "6, 4", "7, 4", "62, 32", "63, 32"})
    void theSizeIsAMajority(int nodeCount, int size) {
        assertEquals(size, Quorum.sizeOf(nodeCount));
    }

    @Test
    void anyTwoQuorumsShareANode() {
        for (int nodeCount = 1; nodeCount <= Quorum.NODES_MAX; nodeCount++) {
            int size = Quorum.sizeOf(nodeCount);
            assertTrue(2 * size > nodeCount, "two quorums of " + nodeCount);
            assertTrue(2 * (size - 1) <= nodeCount, "no larger than needed for " + nodeCount);
        }
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "2, 3", "3, 7", "5, 31", "63, 9223372036854775807"})
    void allOfIsAMaskOfEveryNode(int nodeCount, long mask) {
        assertEquals(mask, Quorum.allOf(nodeCount));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1, 64, Integer.MAX_VALUE, Integer.MIN_VALUE})
    void rejectsNodeCountsOutOfRange(int nodeCount) {
        String message = "node count " + nodeCount + " is out of range: configure 1 to 63 nodes";
        assertEquals(message,
                assertThrows(IllegalArgumentException.class, () -> Quorum.sizeOf(nodeCount)).getMessage());
        assertEquals(message,
                assertThrows(IllegalArgumentException.class, () -> Quorum.allOf(nodeCount)).getMessage());
    }
}
