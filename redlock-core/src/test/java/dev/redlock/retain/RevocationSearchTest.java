package dev.redlock.retain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.redlock.retain.RevocationSearch.Rule;
import dev.redlock.retain.RevocationSearch.Waiter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof that nobody waits beside a retained lock until its cap: a search through all states of a small model. */
class RevocationSearchTest {

    /** The nearest states are enough for the error of a wrong rule. */
    private static final int NEAREST = 150_000;

    /** The number of states is part of the proof: a change of the model shows in it. */
    @Test
    void aRefusedAttemptEndsARetainedLock() {
        assertClean(new RevocationSearch(Rule.PRODUCT, Waiter.COUNTED, false), 125_117);
    }

    /** The count of the tickets does not include one that has passed, but its client asks again at last. */
    @Test
    void aTicketThatHasPassedEndsARetainedLockByTheNextAttempt() {
        assertClean(new RevocationSearch(Rule.PRODUCT, Waiter.PASSED, true), 253_847);
    }

    /** Its refusals change the key of the tickets, not their count, and it asks again when it is woken. */
    @Test
    void aWaiterWithoutATicketEndsARetainedLock() {
        assertClean(new RevocationSearch(Rule.PRODUCT, Waiter.UNCOUNTED, false), 31_509);
    }

    private static void assertClean(RevocationSearch search, long stateCount) {
        long startNs = System.nanoTime();
        assertNull(search.runForever(Integer.MAX_VALUE));
        System.out.println("revocation search: " + search.stateCount() + " states, no violation, "
                + (System.nanoTime() - startNs) / 1_000_000 + " ms");
        assertEquals(stateCount, search.stateCount(), "states");
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = {"PRODUCT", "NO_TRACE_OF_BACKSTOP", "REGISTERED_AT_RELEASE"})
    void findsWhoWaitsUnderEachWrongRule(Rule rule) {
        assertStory(rule, new RevocationSearch(rule, Waiter.COUNTED, false));
    }

    @Test
    void findsThatATicketThatHasPassedNeedsTheTraceOfTheNextAttempt() {
        assertStory(Rule.NO_TRACE_OF_BACKSTOP, new RevocationSearch(Rule.NO_TRACE_OF_BACKSTOP, Waiter.PASSED, true));
    }

    /** The refusals in the time of the holder are over, and the count does not include them. */
    @Test
    void findsThatAWaiterWithoutATicketNeedsTheRegistrationFromTheAcquireOn() {
        assertStory(Rule.REGISTERED_AT_RELEASE,
                new RevocationSearch(Rule.REGISTERED_AT_RELEASE, Waiter.UNCOUNTED, false));
    }

    /** The tickets from before the restart are lost with the keys. */
    @Test
    void findsThatAttemptsOfAWaiterDoNotReplaceTheEndByALostConnection() {
        assertStory(Rule.READ_AGAIN, new RevocationSearch(Rule.READ_AGAIN, Waiter.PASSED, true));
    }

    private static void assertStory(Rule rule, RevocationSearch search) {
        String story = search.runForever(NEAREST);
        assertNotNull(story);
        System.out.println(rule + ", " + story);
    }
}
