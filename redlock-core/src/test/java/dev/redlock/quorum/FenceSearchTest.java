package dev.redlock.quorum;

import static dev.redlock.search.SearchAssert.assertFound;

import dev.redlock.quorum.FenceSearch.Bound;
import dev.redlock.quorum.FenceSearch.Fault;
import dev.redlock.quorum.FenceSearch.Rule;
import dev.redlock.search.SearchAssert;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The proof of the fencing rule: a search through all states of a small model. */
class FenceSearchTest {

    private static void assertClean(int grantCount, int counterMax, long stateCount) {
        SearchAssert.assertClean(grantCount + " grants, counters from 0 to " + counterMax,
                new FenceSearch(Rule.EXACTLY, grantCount, counterMax), stateCount);
    }

    @Test
    void twoOverlappingGrantsGetUniqueAndIncreasingTokens() {
        assertClean(2, 2, 26_347);
    }

    @Test
    void threeOverlappingGrantsFromEqualCountersGetUniqueAndIncreasingTokens() {
        assertClean(3, 0, 885_873);
    }

    @Test
    @Tag("exhaustive")
    void threeOverlappingGrantsGetUniqueAndIncreasingTokens() {
        assertClean(3, 2, 7_692_467);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void findsTheErrorOfAtLeastInPlaceOfExactly(int grantCount) {
        assertFound(Rule.AT_LEAST, new FenceSearch(Rule.AT_LEAST, grantCount, 2));
        assertFound(Rule.AT_LEAST, new FenceSearch(Rule.AT_LEAST, grantCount, 0), "two grants got ");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void findsTheErrorOfTheHighestValueWithoutRaising(int grantCount) {
        Rule rule = Rule.MAX_WITHOUT_RAISE;
        assertFound(rule, new FenceSearch(rule, grantCount, 2));
        assertFound(rule, new FenceSearch(rule, grantCount, 0));
    }

    private static void assertClean(Fault fault, Bound bound, int grantCount, int counterMax, int clock,
            long stateCount) {
        SearchAssert.assertClean(grantCount + " grants, counters from 0 to " + counterMax + ", fault " + fault
                + ", bound " + bound + ", clock " + clock,
                new FenceSearch(grantCount, counterMax, fault, bound, clock), stateCount);
    }

    private static void assertViolation(String text, Fault fault, Bound bound, int counterMax, int clock) {
        assertFound(fault + ", " + bound, new FenceSearch(2, counterMax, fault, bound, clock), text);
    }

    /** A fenced set gives all of its counters one number, so a counter may skip numbers. */
    @Test
    void tokensAreUniqueAndIncreasingIfCountersSkipNumbers() {
        assertClean(Fault.STEPS, Bound.NONE, 2, 1, -1, 86_677);
    }

    /** Any client may leave out any grants of its decision. */
    @Test
    void tokensAreUniqueAndIncreasingWhileOneNodeJumpsAheadAndGrantsAreLeftOut() {
        assertClean(Fault.AHEAD, Bound.ARBITRARY, 2, 2, -1, 1_571_292);
        assertClean(Fault.NONE, Bound.ARBITRARY, 2, 2, -1, 25_904);
    }

    /** Node 0 may reply with any value: the other two decide a token, within the limit of the clocks. */
    @Test
    void aNodeThatJumpsAheadNeitherPreventsATokenNorPushesOthersBeyondTheClock() {
        assertClean(Fault.AHEAD, Bound.CLOCK_OR_MAJORITY, 2, 2, 2, 600_630);
    }

    @Test
    void nodesBeyondTheClockDecideATokenWhileOneIsSilent() {
        assertClean(Fault.NONE, Bound.CLOCK_OR_MAJORITY, 2, 0, 0, 1_726);
    }

    @Test
    void findsThatWithoutABoundOneNodePushesTheOthersToTheMaximum() {
        assertViolation("a node that is not at fault was pushed to the end of its numbers", Fault.AHEAD, Bound.NONE,
                2, 2);
    }

    @Test
    void findsThatTheClockAloneIsNoBound() {
        assertViolation("no token", Fault.NONE, Bound.CLOCK_ALONE, 0, 0);
    }

    @Test
    void findsThatTheMajorityAloneIsNoBound() {
        assertViolation("no token", Fault.NONE, Bound.MAJORITY_ALONE, 6, 2);
    }

    /** Two quorums of three share one node: if that one repeats a number, no rule can find it. */
    @Test
    void findsThatACounterThatDecreasesBreaksEveryBound() {
        for (Bound bound : Bound.values()) {
            assertViolation("", Fault.ANY, bound, 1, -1);
        }
    }
}
