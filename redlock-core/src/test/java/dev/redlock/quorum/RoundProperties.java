package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** Rounds of any size, with votes in random order, against plain counting. */
class RoundProperties {

    private static final Vote[] VOTES = Vote.values();

    @Property(tries = 3_000)
    void agreesWithPlainCounting(@ForAll @IntRange(min = 1, max = 63) int nodeCount,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int[] order = shuffled(nodeCount, random);
        int[] weights = {random.nextInt(1, 20), random.nextInt(0, 10), random.nextInt(0, 5),
            random.nextInt(0, 5)};
        Round round = new Round(Majority.of(nodeCount));
        int[] counts = new int[VOTES.length];
        Decision before = round.decision();
        assertEquals(Decision.OPEN, before);
        for (int node : order) {
            int vote = draw(weights, random);
            counts[vote]++;
            assertTrue(round.onVote(node, VOTES[vote]));
            Decision now = round.decision();
            assertEquals(expected(nodeCount, counts), now, round::toString);
            assertTrue(before == Decision.OPEN || before == now
                    || before == Decision.CONTENDED && now == Decision.NO_QUORUM, before + " became " + now);
            before = now;
        }
        assertEquals(0, round.pending());
        assertTrue(before != Decision.OPEN, "all votes are in, so it is decided");
    }

    /** From the words of the algorithm: q grants, or fewer than q still possible; blamed on refusals if they tip it. */
    private static Decision expected(int nodeCount, int[] counts) {
        int needed = (nodeCount + 2) / 2;
        int silent = counts[2] + counts[3];
        int stillPossible = nodeCount - counts[1] - silent;
        if (counts[0] >= needed) {
            return Decision.WON;
        }
        if (stillPossible >= needed) {
            return Decision.OPEN;
        }
        return nodeCount - silent >= needed ? Decision.CONTENDED : Decision.NO_QUORUM;
    }

    private static int draw(int[] weights, SplittableRandom random) {
        int left = random.nextInt(weights[0] + weights[1] + weights[2] + weights[3]);
        int vote = 0;
        while (left >= weights[vote]) {
            left -= weights[vote++];
        }
        return vote;
    }

    private static int[] shuffled(int count, SplittableRandom random) {
        int[] order = new int[count];
        for (int i = 0; i < count; i++) {
            int j = random.nextInt(i + 1);
            order[i] = order[j];
            order[j] = i;
        }
        return order;
    }

    @Property(tries = 500)
    void aTimeoutMakesEveryPendingVoteUnknown(@ForAll @IntRange(min = 1, max = 63) int nodeCount,
            @ForAll long granting) {
        Round round = new Round(Majority.of(nodeCount));
        long mask = granting & Quorum.allOf(nodeCount);
        for (int node = 0; node < nodeCount; node++) {
            if ((mask & 1L << node) != 0) {
                round.onVote(node, Vote.GRANTED);
            }
        }
        assertEquals(Quorum.allOf(nodeCount) & ~mask, round.pending());
        round.onTimeout();
        assertEquals(mask, round.granted());
        assertEquals(Quorum.allOf(nodeCount) & ~mask, round.unknown());
        boolean isMajority = 2 * Long.bitCount(mask) > nodeCount;
        assertEquals(isMajority ? Decision.WON : Decision.NO_QUORUM, round.decision());
    }

    @Example
    void theLargestRoundUsesEveryBitButTheSign() {
        Round round = new Round(Majority.of(63));
        assertEquals(Long.MAX_VALUE, round.pending());
        assertTrue(round.onVote(62, Vote.GRANTED));
        assertEquals(1L << 62, round.granted());
    }
}
