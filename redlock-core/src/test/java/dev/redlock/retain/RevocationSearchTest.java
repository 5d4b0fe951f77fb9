package dev.redlock.retain;

import static dev.redlock.search.SearchAssert.assertEndless;
import static dev.redlock.search.SearchAssert.assertEnds;

import dev.redlock.retain.RevocationSearch.Rule;
import dev.redlock.retain.RevocationSearch.Waiter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof that nobody waits beside a retained lock until its cap: a search through all states of a small model. */
class RevocationSearchTest {

    /** The nearest states are enough for the error of a wrong rule. */
    private static final int NEAREST = 150_000;

    @Test
    void aRefusedAttemptEndsARetainedLock() {
        assertEnds("a ticket", new RevocationSearch(Rule.PRODUCT, Waiter.COUNTED, false), 125_117);
    }

    /** The count of the tickets does not include one that has passed, but its client asks again at last. */
    @Test
    void aTicketThatHasPassedEndsARetainedLockByTheNextAttempt() {
        assertEnds("a ticket that has passed", new RevocationSearch(Rule.PRODUCT, Waiter.PASSED, true), 253_847);
    }

    /** Its refusals change the key of the tickets, not their count, and it asks again when it is woken. */
    @Test
    void aWaiterWithoutATicketEndsARetainedLock() {
        assertEnds("no ticket", new RevocationSearch(Rule.PRODUCT, Waiter.UNCOUNTED, false), 31_509);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = {"PRODUCT", "NO_TRACE_OF_BACKSTOP", "REGISTERED_AT_RELEASE"})
    void findsWhoWaitsUnderEachWrongRule(Rule rule) {
        assertEndless(rule, new RevocationSearch(rule, Waiter.COUNTED, false), NEAREST);
    }

    @Test
    void findsThatATicketThatHasPassedNeedsTheTraceOfTheNextAttempt() {
        assertEndless(Rule.NO_TRACE_OF_BACKSTOP, new RevocationSearch(Rule.NO_TRACE_OF_BACKSTOP, Waiter.PASSED, true),
                NEAREST);
    }

    /** The refusals in the time of the holder are over, and the count does not include them. */
    @Test
    void findsThatAWaiterWithoutATicketNeedsTheRegistrationFromTheAcquireOn() {
        assertEndless(Rule.REGISTERED_AT_RELEASE,
                new RevocationSearch(Rule.REGISTERED_AT_RELEASE, Waiter.UNCOUNTED, false),
                NEAREST);
    }

    /** The tickets from before the restart are lost with the keys. */
    @Test
    void findsThatAttemptsOfAWaiterDoNotReplaceTheEndByALostConnection() {
        assertEndless(Rule.READ_AGAIN, new RevocationSearch(Rule.READ_AGAIN, Waiter.PASSED, true),
                NEAREST);
    }
}
