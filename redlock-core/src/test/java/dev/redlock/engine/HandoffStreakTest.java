package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a streak of local handoffs knows of other clients. */
class HandoffStreakTest {

    private static final long START_NS = 1_000_000_000_000L;
    private static final long PAUSE_NS = 500_000;

    private final HandoffStreak streak = new HandoffStreak();

    @BeforeEach
    void start() {
        streak.reset(START_NS);
    }

    private void pause(int count) {
        for (int i = 0; i < count; i++) {
            streak.onGivenWay();
        }
    }

    @Test
    void aStreakWithoutCompetitorsIsNotContended() {
        streak.onHandoff();
        assertFalse(streak.isContended());
        pause(1);
        assertFalse(streak.isContended());
    }

    @Test
    void aRefusalIsForgottenAfter32PausesInARowInWhichNobodyCame() {
        streak.onRefused();
        pause(31);
        assertTrue(streak.isContended());
        pause(1);
        assertFalse(streak.isContended());
    }

    @Test
    void aRefusalStartsTheCountOfPausesAgain() {
        streak.onRefused();
        pause(20);
        streak.onRefused();
        pause(31);
        assertTrue(streak.isContended());
    }

    @Test
    void aStreakEndsWithAPauseAfterOneThatHasYieldedToNobody() {
        assertFalse(streak.isTicketExpected());
        streak.onRefused();
        assertTrue(streak.isTicketExpected());
        pause(1);
        assertFalse(streak.isTicketExpected());
        streak.onYielded();
        assertTrue(streak.isTicketExpected(), "somebody has a ticket");
    }

    /** Its client may have given up. */
    @Test
    void aTicketAloneIsNoCompetitor() {
        pause(1);
        streak.onYielded();
        assertFalse(streak.isContended());
    }

    @Test
    void theAgeIsThatOfTheFirstLease() {
        assertEquals(5, streak.ageNs(START_NS + 5));
        streak.onHandoff();
        assertEquals(7, streak.ageNs(START_NS + 7));
        streak.start(START_NS + 7);
        assertEquals(-2, streak.ageNs(START_NS + 5));
        assertEquals(0, streak.handoffCount());
    }

    @Test
    void anotherStreakContinuesWithEverything() {
        streak.onRefused();
        pause(3);
        streak.onHandoff();
        streak.setPause(PAUSE_NS);
        HandoffStreak next = new HandoffStreak();
        next.continueFrom(streak);
        assertEquals(1, next.handoffCount());
        assertEquals(PAUSE_NS, next.pauseNs());
        assertTrue(next.isOfWaiter());
        assertEquals(5, next.ageNs(START_NS + 5));
        for (int i = 0; i < 29; i++) {
            assertTrue(next.isContended());
            next.onGivenWay();
        }
        assertFalse(next.isContended());
    }

    @Test
    void theLeaseOfACallerThatDoesNotWaitHasNoStreak() {
        streak.onRefused();
        pause(3);
        streak.reset(START_NS);
        assertFalse(streak.isOfWaiter());
        assertFalse(streak.isContended());
    }
}
