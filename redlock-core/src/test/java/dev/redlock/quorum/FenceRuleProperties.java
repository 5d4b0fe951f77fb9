package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

/** {@link FenceRule} for one to nine nodes: the rule alone, then with random overlapping grants. */
class FenceRuleProperties {

    private static final int NODES_MAX = 9;
    private static final int STEPS = 1_500;

    /** Values of each node, 0 for one that did not grant; few of them, so that nodes agree often. */
    private static long[] values(int nodeCount, int span, Random random) {
        long base = random.nextInt(4) == 0 ? (1L << 53) - 1 - span : random.nextInt(5);
        long[] values = new long[nodeCount];
        for (int i = 0; i < nodeCount; i++) {
            values[i] = random.nextInt(4) == 0 ? 0 : base + 1 + random.nextInt(span);
        }
        return values;
    }

    private static List<Integer> grantingNodes(long[] values, Random random) {
        List<Integer> nodes = new ArrayList<>();
        for (int i = 0; i < values.length; i++) {
            if (values[i] > 0) {
                nodes.add(i);
            }
        }
        Collections.shuffle(nodes, random);
        return nodes;
    }

    /** The specification: the k-th largest value, if at least q values are exactly that. */
    private static long expected(int nodeCount, long[] granted) {
        int quorum = nodeCount / 2 + 1;
        int rank = quorum - (nodeCount - granted.length);
        if (rank < 1) {
            return FenceRule.NONE;
        }
        long[] sorted = granted.clone();
        Arrays.sort(sorted);
        long candidate = sorted[granted.length - rank];
        return Arrays.stream(granted).filter(value -> value == candidate).count() >= quorum
                ? candidate
                : FenceRule.NONE;
    }

    @Property
    void agreesWithTheSpecificationInAnyOrderOfVotes(
            @ForAll @IntRange(min = 1, max = NODES_MAX) int nodeCount, @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 4) int span) {
        Random random = new Random(seed);
        long[] values = values(nodeCount, span, random);
        FenceRule rule = new FenceRule(Majority.of(nodeCount));
        FenceRule other = new FenceRule(Majority.of(nodeCount));
        List<Integer> order = grantingNodes(values, random);
        for (int i = 0; i < order.size(); i++) {
            rule.onGrant(order.get(i), values[order.get(i)]);
            long[] soFar = order.subList(0, i + 1).stream().mapToLong(node -> values[node]).toArray();
            assertEquals(expected(nodeCount, soFar), rule.agreed(), () -> "after " + Arrays.toString(soFar));
            assertEquals(Arrays.stream(soFar).max().orElseThrow(), rule.highest());
        }
        grantingNodes(values, random).forEach(node -> other.onGrant(node, values[node]));
        assertEquals(other.agreed(), rule.agreed(), "another order");
        assertEquals(other.lagging(), rule.lagging(), "another order");
    }

    @Property
    void aRepeatedVoteCountsOnce(@ForAll @IntRange(min = 1, max = NODES_MAX) int nodeCount,
            @ForAll long seed, @ForAll @IntRange(min = 1, max = 4) int span) {
        Random random = new Random(seed);
        long[] values = values(nodeCount, span, random);
        FenceRule once = new FenceRule(Majority.of(nodeCount));
        FenceRule twice = new FenceRule(Majority.of(nodeCount));
        grantingNodes(values, random).forEach(node -> once.onGrant(node, values[node]));
        List<Integer> again = grantingNodes(values, random);
        again.addAll(again);
        Collections.shuffle(again, random);
        again.forEach(node -> twice.onGrant(node, values[node]));
        assertEquals(once.agreed(), twice.agreed());
        assertEquals(once.highest(), twice.highest());
        assertEquals(once.lagging(), twice.lagging());
    }

    @Property
    void aPartialRaiseIsATokenOnlyIfAQuorumHasTheValue(
            @ForAll @IntRange(min = 1, max = NODES_MAX) int nodeCount, @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 4) int span) {
        Random random = new Random(seed);
        long[] values = values(nodeCount, span, random);
        FenceRule rule = new FenceRule(Majority.of(nodeCount));
        grantingNodes(values, random).forEach(node -> rule.onGrant(node, values[node]));
        long raiseTo = rule.highest();
        long lagging = rule.lagging();
        long standing = rule.nodesAt(raiseTo);
        assertEquals(0, lagging & standing, "a node with this value is not raised");
        for (long left = lagging; left != 0; left &= left - 1) {
            if (random.nextBoolean()) {
                rule.onRaised(Long.numberOfTrailingZeros(left), raiseTo);
                standing |= Long.lowestOneBit(left);
            }
            assertEquals(standing, rule.nodesAt(raiseTo));
            assertEquals(raiseTo, rule.highest(), "a raise goes to the highest and not beyond");
            assertEquals(lagging & ~standing, rule.lagging(), "the nodes still to be raised");
        }
        if (Long.bitCount(standing) >= nodeCount / 2 + 1) {
            assertEquals(raiseTo, rule.agreed(), "a quorum has the highest value");
        }
    }

    /** Correct nodes have values within a span, the others any value; returns the mask of the correct ones. */
    private static long grantAll(FenceRule rule, int nodeCount, long lowest, long span,
            Random random) {
        List<Integer> nodes = new ArrayList<>();
        for (int i = 0; i < nodeCount; i++) {
            nodes.add(i);
        }
        Collections.shuffle(nodes, random);
        int badCount = random.nextInt(nodeCount - nodeCount / 2);
        long[] anything = {1, lowest, lowest + span, lowest + span + 1_024, lowest + span + 1_025, 1L << 52,
            FenceRule.VALUE_MAX};
        long good = 0;
        for (int i = 0; i < nodeCount; i++) {
            boolean isGood = i >= badCount;
            good |= isGood ? 1L << nodes.get(i) : 0;
            rule.onGrant(nodes.get(i), isGood
                    ? lowest + random.nextLong(span + 1)
                    : anything[random.nextInt(anything.length)]);
        }
        return good;
    }

    /** A minority has any values: the others are not left out, form a quorum, and are not pushed far. */
    @Property
    void aFaultyMinorityNeitherExcludesTheOthersNorPushesThemBeyondTheClock(
            @ForAll @IntRange(min = 1, max = NODES_MAX) int nodeCount, @ForAll long seed) {
        Random random = new Random(seed);
        FenceRule rule = new FenceRule(Majority.of(nodeCount));
        long clock = 1 + random.nextInt(1_000_000);
        long good = grantAll(rule, nodeCount, 1, clock - 1, random);
        assertEquals(0, rule.dropOutOfRange(clock) & good, "a good one was left out");
        assertTrue(rule.highest() <= clock + 1_024, () -> rule.highest() + " is far beyond the clock " + clock);
        long standing = rule.lagging() | rule.nodesAt(rule.highest());
        assertTrue(Long.bitCount(standing & good) >= nodeCount / 2 + 1, "they make a quorum");
    }

    @Property
    void aFaultyMinorityDoesNotExcludeNodesBeyondTheClock(
            @ForAll @IntRange(min = 1, max = NODES_MAX) int nodeCount, @ForAll long seed) {
        FenceRule rule = new FenceRule(Majority.of(nodeCount));
        long good = grantAll(rule, nodeCount, 5_000_000, 1_024, new Random(seed));
        assertEquals(0, rule.dropOutOfRange(50) & good, "a good one was left out");
        assertTrue(rule.highest() <= 5_000_000 + 2 * 1_024, () -> rule.highest() + " was passed on");
    }

    @Property
    void theValueOfAQuorumIsNeverOutOfRange(
            @ForAll @IntRange(min = 1, max = NODES_MAX) int nodeCount, @ForAll long seed,
            @ForAll @LongRange(min = 0) long clock) {
        FenceRule rule = new FenceRule(Majority.of(nodeCount));
        grantAll(rule, nodeCount, 1L << 52, 1, new Random(seed));
        long token = rule.agreed();
        long standing = rule.nodesAt(token);
        rule.dropOutOfRange(clock);
        assertEquals(token, rule.agreed());
        assertEquals(standing, rule.nodesAt(token));
    }

    /** Tokens are unique and increasing with overlaps, lost keys, lost and late replies, partial raises. */
    @Property(tries = 4_000)
    void tokensOfOverlappingGrantsAreUniqueAndIncreasing(
            @ForAll @IntRange(min = 1, max = NODES_MAX) int nodeCount,
            @ForAll @LongRange(min = 0) long seed) {
        OverlappingGrants grants = new OverlappingGrants(nodeCount, FenceSearch.Rule.EXACTLY, new Random(seed));
        grants.run(STEPS);
        assertEquals(null, grants.violation(), () -> nodeCount + " nodes, seed " + seed);
    }

    /** The check can fail: it finds both simpler rules, for every number of nodes with two quorums. */
    @Example
    void wrongRulesAreFound() {
        for (FenceSearch.Rule wrong : new FenceSearch.Rule[]{FenceSearch.Rule.AT_LEAST,
            FenceSearch.Rule.MAX_WITHOUT_RAISE}) {
            for (int nodeCount = 3; nodeCount <= NODES_MAX; nodeCount++) {
                int caught = 0;
                for (long seed = 0; seed < 3_000 && caught == 0; seed++) {
                    OverlappingGrants grants = new OverlappingGrants(nodeCount, wrong, new Random(seed));
                    grants.run(STEPS);
                    caught += grants.violation() == null ? 0 : 1;
                }
                assertTrue(caught > 0, wrong + " with " + nodeCount + " nodes");
            }
        }
    }

    @Example
    void runsDecideTokensWithAndWithoutRaising() {
        int decided = 0;
        int raised = 0;
        for (long seed = 0; seed < 100; seed++) {
            OverlappingGrants grants = new OverlappingGrants(1 + (int) (seed % NODES_MAX),
                    FenceSearch.Rule.EXACTLY, new Random(seed));
            grants.run(STEPS);
            decided += grants.decidedCount();
            raised += grants.raisedCount();
        }
        assertTrue(decided > 300 && raised > 20, decided + " tokens, " + raised + " of them after a raise");
    }
}
