package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The proof of the fencing rule: a search through all states of a small model. */
class FenceSearchTest {

    /** The number of states is part of the proof: a change of the model shows in it. */
    private static void assertClean(int grantCount, int counterMax, long stateCount) {
        FenceSearch search = new FenceSearch(grantCount, FenceSearch.Rule.EXACTLY);
        long startNs = System.nanoTime();
        assertNull(search.run(counterMax));
        System.out.println("fence search, " + grantCount + " grants, counters from 0 to " + counterMax + ": "
                + search.stateCount() + " states, no violation, " + (System.nanoTime() - startNs) / 1_000_000 + " ms");
        assertEquals(stateCount, search.stateCount(), "states");
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
        assertNotNull(new FenceSearch(grantCount, FenceSearch.Rule.AT_LEAST).run(2));
        assertTrue(new FenceSearch(grantCount, FenceSearch.Rule.AT_LEAST).run(0).startsWith("two grants got "));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void findsTheErrorOfTheHighestValueWithoutRaising(int grantCount) {
        assertNotNull(new FenceSearch(grantCount, FenceSearch.Rule.MAX_WITHOUT_RAISE).run(2));
        assertNotNull(new FenceSearch(grantCount, FenceSearch.Rule.MAX_WITHOUT_RAISE).run(0));
    }

    private static void assertClean(FenceSearch.Fault fault, FenceSearch.Bound bound, int grantCount,
            int counterMax, int clock, long stateCount) {
        FenceSearch search = new FenceSearch(grantCount, FenceSearch.Rule.EXACTLY, fault, bound, clock);
        long startNs = System.nanoTime();
        assertNull(search.run(counterMax));
        System.out.println("fence search, " + grantCount + " grants, counters from 0 to " + counterMax + ", fault "
                + fault + ", bound " + bound + ", clock " + clock + ": " + search.stateCount()
                + " states, no violation, " + (System.nanoTime() - startNs) / 1_000_000 + " ms");
        assertEquals(stateCount, search.stateCount(), "states");
    }

    private static String violation(FenceSearch.Fault fault, FenceSearch.Bound bound, int counterMax,
            int clock) {
        String violation = new FenceSearch(2, FenceSearch.Rule.EXACTLY, fault, bound, clock).run(counterMax);
        assertNotNull(violation, "nothing was found");
        return violation;
    }

    /** A fenced set gives all of its counters one number, so a counter may skip numbers. */
    @Test
    void tokensAreUniqueAndIncreasingIfCountersSkipNumbers() {
        assertClean(FenceSearch.Fault.STEPS, FenceSearch.Bound.NONE, 2, 1, -1, 86_677);
    }

    /** Any client may leave out any grants of its decision. */
    @Test
    void tokensAreUniqueAndIncreasingWhileOneNodeJumpsAheadAndGrantsAreLeftOut() {
        assertClean(FenceSearch.Fault.AHEAD, FenceSearch.Bound.ARBITRARY, 2, 2, -1, 1_571_292);
        assertClean(FenceSearch.Fault.NONE, FenceSearch.Bound.ARBITRARY, 2, 2, -1, 25_904);
    }

    /** Node 0 may reply with any value: the other two decide a token, within the limit of the clocks. */
    @Test
    void aNodeThatJumpsAheadNeitherPreventsATokenNorPushesOthersBeyondTheClock() {
        assertClean(FenceSearch.Fault.AHEAD, FenceSearch.Bound.CLOCK_OR_MAJORITY, 2, 2, 2, 600_630);
    }

    @Test
    void nodesBeyondTheClockDecideATokenWhileOneIsSilent() {
        assertClean(FenceSearch.Fault.NONE, FenceSearch.Bound.CLOCK_OR_MAJORITY, 2, 0, 0, 1_726);
    }

    @Test
    void findsThatWithoutABoundOneNodePushesTheOthersToTheMaximum() {
        assertEquals("a node that is not at fault was pushed to the end of its numbers",
                violation(FenceSearch.Fault.AHEAD, FenceSearch.Bound.NONE, 2, 2));
    }

    @Test
    void findsThatTheClockAloneIsNoBound() {
        assertTrue(violation(FenceSearch.Fault.NONE, FenceSearch.Bound.CLOCK_ALONE, 0, 0).startsWith("no token"));
    }

    @Test
    void findsThatTheMajorityAloneIsNoBound() {
        assertTrue(violation(FenceSearch.Fault.NONE, FenceSearch.Bound.MAJORITY_ALONE, 6, 2).startsWith("no token"));
    }

    /** Two quorums of three share one node: if that one repeats a number, no rule can find it. */
    @Test
    void findsThatACounterThatDecreasesBreaksEveryBound() {
        for (FenceSearch.Bound bound : FenceSearch.Bound.values()) {
            assertNotNull(violation(FenceSearch.Fault.ANY, bound, 1, -1), bound::name);
        }
    }
}
