package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class SharedVotesTest {

    private static final int NODES_MAX = 6;

    private static SharedVotes pairs(int nodeCount, int edges) {
        SharedVotes votes = new SharedVotes(nodeCount);
        int edge = 0;
        for (int i = 0; i < nodeCount; i++) {
            for (int j = i + 1; j < nodeCount; j++) {
                if ((edges >> edge++ & 1) != 0) {
                    votes.share(1L << i | 1L << j);
                }
            }
        }
        return votes;
    }

    private static boolean isIndependent(SharedVotes votes, long mask) {
        for (long left = mask; left != 0; left &= left - 1) {
            if ((votes.with(Long.numberOfTrailingZeros(left)) & mask) != 0) {
                return false;
            }
        }
        return true;
    }

    @Test
    void withoutASharedIdentityEachVoteCounts() {
        SharedVotes votes = new SharedVotes(3);
        assertEquals(0b101, votes.counted(0b101));
        votes.share(0b011);
        votes.clear();
        assertEquals(0b111, votes.counted(0b111));
        assertEquals(-1, votes.counted(-1), "also nodes that do not exist, as in a complement");
    }

    @Test
    void nodesWithOneIdentityHaveOneVoteThatAnyOfThemGives() {
        SharedVotes votes = new SharedVotes(5);
        votes.share(0b10101);
        for (long mask = 0; mask < 32; mask++) {
            int expected = Long.bitCount(mask & 0b01010) + ((mask & 0b10101) == 0 ? 0 : 1);
            assertEquals(expected, Long.bitCount(votes.counted(mask)), "of " + Long.toBinaryString(mask));
        }
    }

    @Test
    void aNodeWithTheIdentitiesOfTwoCountsBesideNeither() {
        SharedVotes votes = new SharedVotes(3);
        votes.share(0b011);
        votes.share(0b101);
        assertEquals(0b110, votes.counted(0b111));
        Majority majority = Majority.of(3).withShared(votes);
        assertTrue(majority.isReachedBy(0b110), "two honest nodes of three still decide");
        assertFalse(majority.isReachedBy(0b011));
        assertFalse(majority.isReachedBy(0b101));
        assertTrue(majority.isPreventedBy(0b100));
        assertFalse(majority.isPreventedBy(0b001));
    }

    /** All graphs of shared identities of up to five nodes. */
    @Test
    void noTwoVotesThatCountShareAnIdentity() {
        for (int n = 1; n < NODES_MAX; n++) {
            for (int edges = 0; edges < 1 << n * (n - 1) / 2; edges++) {
                SharedVotes votes = pairs(n, edges);
                for (long mask = 0; mask < 1 << n; mask++) {
                    long counted = votes.counted(mask);
                    assertEquals(0, counted & ~mask);
                    assertTrue(isIndependent(votes, counted));
                    assertEquals(mask == 0, counted == 0);
                }
            }
        }
    }

    /** One node copies identities, of any others: two majorities still share an honest node. */
    @Test
    void twoMajoritiesShareANodeThatCopiesNoIdentity() {
        for (int n = 2; n <= NODES_MAX; n++) {
            for (long copied = 2; copied < 1 << n; copied += 2) {
                SharedVotes votes = new SharedVotes(n);
                for (long left = copied; left != 0; left &= left - 1) {
                    votes.share(1 | Long.lowestOneBit(left));
                }
                Majority majority = Majority.of(n).withShared(votes);
                long honest = Quorum.allOf(n) & ~1;
                for (long one = 0; one < 1 << n; one++) {
                    for (long other = 0; other < 1 << n; other++) {
                        if (majority.isReachedBy(one) && majority.isReachedBy(other)) {
                            assertNotEquals(0, one & other & honest, one + " and " + other + " of " + n);
                        }
                    }
                }
                assertEquals(Long.bitCount(honest) >= Quorum.sizeOf(n), majority.isReachedBy(honest),
                        "the honest nodes decide as without the copy");
            }
        }
    }

    @Test
    void aMajorityOfEachListCountsSharedVotesOnce() {
        SharedVotes votes = new SharedVotes(5);
        votes.share(0b01001);
        Majority joint = Majority.ofBoth(0b00111, 0b11100).withShared(votes);
        assertTrue(joint.isReachedBy(0b10110));
        assertFalse(joint.isReachedBy(0b01101), "one of the first list or of the second");
    }

    /** The clock of one server at two addresses supports a value once. */
    @Test
    void aValueOfSharedNodesIsReachedOnce() {
        SharedVotes votes = new SharedVotes(3);
        Majority majority = Majority.of(3).withShared(votes);
        long[] values = {9, 5, 9};
        assertEquals(9, majority.supported(values, 0b111));
        votes.share(0b101);
        assertEquals(5, majority.supported(values, 0b111));
        assertEquals(9, majority.supported(new long[]{9, 9, 1}, 0b111), "a copy does not hide the values of others");
    }
}
