package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every order of every vote, for up to seven nodes, against {@link RoundOracle}. */
class RoundTest {

    private static final Vote[] VOTES = Vote.values();

    /**
     * Every reachable set of votes, and every vote that can come next: the decision is the oracle's, which is never
     * open when it could be taken. The state of a round depends on the set of votes, not on their order (checked for
     * each last vote), so this covers every order by induction.
     */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7})
    void decidesAtTheFirstVoteThatMakesItCertain(int nodeCount) {
        long all = Quorum.allOf(nodeCount);
        decides(new RoundOracle(nodeCount, all, all), new Round(Majority.of(nodeCount)), nodeCount);
    }

    private static void decides(RoundOracle oracle, Round round, int nodeCount) {
        for (int state = 0; state < oracle.stateCount(); state++) {
            Decision expected = oracle.decision(state);
            play(round, oracle, state, -1);
            assertState(oracle, state, round, expected);
            for (int last = 0; last < nodeCount; last++) {
                int vote = oracle.digit(state, last);
                if (vote != RoundOracle.PENDING) {
                    play(round, oracle, state, last);
                    Decision before = round.decision();
                    assertTrue(round.onVote(last, VOTES[vote]));
                    assertState(oracle, state, round, expected);
                    assertStands(before, expected);
                }
            }
        }
    }

    /** As above for the majorities of two lists. */
    @ParameterizedTest
    @CsvSource({"0b0111, 0b1011", "0b00111, 0b11111", "0b11111, 0b00111", "0b0011, 0b1100", "0b00111, 0b111001",
        "0b1, 0b111"})
    void decidesOnTwoListsAtTheFirstVoteThatMakesItCertain(String present, String next) {
        long first = Long.parseLong(present.substring(2), 2);
        long second = Long.parseLong(next.substring(2), 2);
        int nodeCount = Long.bitCount(first | second);
        decides(new RoundOracle(nodeCount, first, second), new Round(Majority.ofBoth(first, second)), nodeCount);
    }

    /** Nodes without the key are refusals: a release of three of five nodes needs all three. */
    @Test
    void nodesThatWereNotAskedAreRefusals() {
        Round round = new Round(Majority.of(5));
        round.onNotAsked(0b11000);
        assertEquals(Decision.OPEN, round.decision());
        assertEquals(0b111, round.pending());
        round.onVote(0, Vote.GRANTED);
        round.onVote(1, Vote.GRANTED);
        assertEquals(Decision.OPEN, round.decision());
        round.onVote(2, Vote.REFUSED);
        assertTrue(round.isRefusedForCertain());
        assertEquals(0, round.pending());
    }

    /**
     * The same without the induction: every order of every vote is played, 82 575 360 of them for seven nodes, and the
     * decision after each vote is compared. Orders with the same prefix share its checks.
     */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6})
    void decidesTheSameInEveryOrder(int nodeCount) {
        assertDecidesTheSameInEveryOrder(nodeCount);
    }

    @Test
    @Tag("exhaustive")
    void decidesTheSameInEveryOrderOfSevenNodes() {
        assertDecidesTheSameInEveryOrder(7);
    }

    private static void assertDecidesTheSameInEveryOrder(int nodeCount) {
        RoundOracle oracle = new RoundOracle(nodeCount, Quorum.allOf(nodeCount), Quorum.allOf(nodeCount));
        Decision[] decisions = new Decision[oracle.stateCount()];
        Arrays.setAll(decisions, oracle::decision);
        long orders = IntStream.range(0, nodeCount * VOTES.length)
                .parallel()
                .mapToLong(first -> new Orders(oracle, decisions, nodeCount).playFrom(first / VOTES.length,
                        VOTES[first % VOTES.length]))
                .sum();
        long expected = 1;
        for (int i = 1; i <= nodeCount; i++) {
            expected *= i * (long) VOTES.length;
        }
        assertEquals(expected, orders, "orders of " + nodeCount + " votes");
    }

    /** Walks the tree of all orders with a given first vote. One thread. */
    private static final class Orders {
        private final RoundOracle oracle;
        private final Decision[] decisions;
        private final Round round;
        private final int[] nodes;
        private final Vote[] votes;
        private final int nodeCount;

        Orders(RoundOracle oracle, Decision[] decisions, int nodeCount) {
            this.oracle = oracle;
            this.decisions = decisions;
            this.nodeCount = nodeCount;
            this.round = new Round(Majority.of(nodeCount));
            this.nodes = new int[nodeCount];
            this.votes = new Vote[nodeCount];
        }

        long playFrom(int node, Vote vote) {
            return play(0, (1 << nodeCount) - 1, oracle.allPending(), Decision.OPEN, node, vote);
        }

        /** Plays one more vote, then every order of those that are left. */
        private long play(int depth, int pending, int state, Decision before, int node,
                Vote vote) {
            nodes[depth] = node;
            votes[depth] = vote;
            int next = oracle.afterVote(state, node, vote);
            replay(depth + 1);
            Decision decision = round.decision();
            if (decision != decisions[next]) {
                throw new AssertionError(round + " says " + decision + ", not " + decisions[next]);
            }
            assertStands(before, decision);
            int left = pending & ~(1 << node);
            if (left == 0) {
                return 1;
            }
            long orders = 0;
            for (int rest = left; rest != 0; rest &= rest - 1) {
                for (Vote following : VOTES) {
                    orders += play(depth + 1, left, next, decision, Integer.numberOfTrailingZeros(rest), following);
                }
            }
            return orders;
        }

        private void replay(int length) {
            round.reset();
            for (int i = 0; i < length; i++) {
                round.onVote(nodes[i], votes[i]);
            }
        }
    }

    private static void play(Round round, RoundOracle oracle, int state, int without) {
        round.reset();
        for (int node = 0; node < round.nodeCount(); node++) {
            int vote = oracle.digit(state, node);
            if (vote != RoundOracle.PENDING && node != without) {
                round.onVote(node, VOTES[vote]);
            }
        }
    }

    private static void assertState(RoundOracle oracle, int state, Round round,
            Decision expected) {
        long[] masks = new long[RoundOracle.PENDING + 1];
        for (int node = 0; node < round.nodeCount(); node++) {
            masks[oracle.digit(state, node)] |= 1L << node;
        }
        boolean isKnown = round.granted() == masks[0] && round.refused() == masks[1]
                && round.failed() == masks[2] && round.unknown() == masks[3] && round.pending() == masks[4];
        if (!isKnown || round.decision() != expected) {
            throw new AssertionError(round + " says " + round.decision() + ", not " + expected);
        }
    }

    /** A win stays a win and a loss a loss; only its reason may become that nodes are gone. */
    private static void assertStands(Decision before, Decision after) {
        boolean stands = before == Decision.OPEN || before == after
                || before == Decision.CONTENDED && after == Decision.NO_QUORUM;
        if (!stands) {
            throw new AssertionError(before + " became " + after);
        }
    }

    @Test
    void theVotesHaveTheOrderOfTheOracle() {
        assertEquals("[GRANTED, REFUSED, FAILED, UNKNOWN]", Arrays.toString(VOTES));
    }

    @Test
    void aSecondVoteOfANodeIsIgnored() {
        Round round = new Round(Majority.of(3));
        assertTrue(round.onVote(1, Vote.REFUSED));
        for (Vote vote : VOTES) {
            assertFalse(round.onVote(1, vote), "second vote " + vote);
        }
        assertEquals(0b010, round.refused());
        assertEquals(0, round.granted() | round.failed() | round.unknown());
        assertEquals(0b101, round.pending());
    }

    @Test
    void aTimeoutMakesPendingVotesUnknown() {
        Round round = new Round(Majority.of(5));
        round.onVote(0, Vote.GRANTED);
        round.onVote(3, Vote.FAILED);
        round.onTimeout();
        assertEquals(0b10110, round.unknown());
        assertEquals(0b00001, round.granted());
        assertEquals(0b01000, round.failed());
        assertEquals(0, round.pending());
        assertEquals(Decision.NO_QUORUM, round.decision());
    }

    @Test
    void aLateVoteReplacesOnlyAnUnknownVote() {
        Round round = new Round(Majority.of(3));
        round.onVote(0, Vote.GRANTED);
        round.onVote(1, Vote.FAILED);
        round.onTimeout();
        round.onLateVote(2, Vote.GRANTED);
        assertEquals(0b101, round.granted());
        assertEquals(0, round.unknown());
        round.onLateVote(1, Vote.GRANTED);
        assertEquals(0b010, round.failed(), "a node that answered has answered");
        round.onLateVote(0, Vote.REFUSED);
        assertEquals(0b101, round.granted());
        assertEquals(0, round.refused());
    }

    @Test
    void aRevokedGrantStaysUnknown() {
        Round round = new Round(Majority.of(3));
        round.onVote(0, Vote.GRANTED);
        round.onVote(1, Vote.GRANTED);
        assertEquals(Decision.WON, round.decision());
        assertTrue(round.revoke(1), "it had granted");
        assertFalse(round.revoke(1), "not any more");
        assertEquals(0b001, round.granted());
        assertEquals(0b010, round.unknown());
        assertFalse(round.onVote(1, Vote.GRANTED));
        assertEquals(Decision.OPEN, round.decision());
        round.onVote(2, Vote.GRANTED);
        assertEquals(Decision.WON, round.decision());
    }

    @Test
    void revokingANodeWithoutAGrantChangesNothing() {
        Round round = new Round(Majority.of(5));
        round.onVote(0, Vote.REFUSED);
        round.onVote(1, Vote.FAILED);
        for (int node = 0; node < 5; node++) {
            assertFalse(round.revoke(node), "node " + node);
        }
        assertEquals(0b00001, round.refused());
        assertEquals(0b00010, round.failed());
        assertEquals(0, round.unknown());
        assertEquals(0b11100, round.pending());
    }

    @Test
    void onlyRefusalsMakeALossFinal() {
        Round round = new Round(Majority.of(5));
        round.onVote(0, Vote.REFUSED);
        round.onVote(1, Vote.REFUSED);
        round.onVote(2, Vote.UNKNOWN);
        assertEquals(Decision.CONTENDED, round.decision());
        assertFalse(round.isRefusedForCertain(), "the silent node could have granted");
        round.onVote(3, Vote.REFUSED);
        assertTrue(round.isRefusedForCertain());
    }

    @Test
    void resetClearsEveryVote() {
        Round round = new Round(Majority.of(4));
        for (int node = 0; node < 4; node++) {
            round.onVote(node, VOTES[node]);
        }
        assertEquals(0, round.pending());
        round.reset();
        assertEquals(0b1111, round.pending());
        assertEquals(0, round.granted() | round.refused() | round.failed() | round.unknown());
        assertEquals(Decision.OPEN, round.decision());
    }

    @Test
    void returnsNodeCount() {
        assertEquals(5, new Round(Majority.of(5)).nodeCount());
        assertThrows(IllegalArgumentException.class, () -> new Round(Majority.of(0)));
        assertThrows(IllegalArgumentException.class, () -> new Round(Majority.of(64)));
    }

    @Test
    void toStringCountsTheVotes() {
        Round round = new Round(Majority.of(7));
        round.onVote(0, Vote.GRANTED);
        round.onVote(1, Vote.GRANTED);
        round.onVote(2, Vote.REFUSED);
        round.onVote(3, Vote.FAILED);
        round.onVote(4, Vote.UNKNOWN);
        assertEquals("Round{granted=2, refused=1, failed=1, unknown=1, pending=2, needed=4 of 7}", round.toString());
    }

    @Test
    void rejectsVotesOfNodesOutsideTheRound() {
        Round round = new Round(Majority.of(3));
        assertThrows(AssertionError.class, () -> round.onVote(3, Vote.GRANTED));
        assertThrows(AssertionError.class, () -> round.onVote(-1, Vote.GRANTED));
        assertTrue(round.onVote(0, Vote.FAILED));
        assertTrue(round.onVote(2, Vote.FAILED));
    }
}
