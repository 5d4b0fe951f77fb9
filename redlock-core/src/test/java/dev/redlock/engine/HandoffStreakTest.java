package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** When a streak of local handoffs pauses, and for how long. */
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
            streak.onPause();
        }
    }

    @Test
    void aStreakWithoutCompetitorsPausesAtMostFourTimesAsLong() {
        assertEquals(PAUSE_NS, streak.longerPauseNs(PAUSE_NS));
        pause(1);
        assertEquals(2 * PAUSE_NS, streak.longerPauseNs(PAUSE_NS));
        pause(1);
        assertEquals(4 * PAUSE_NS, streak.longerPauseNs(PAUSE_NS));
        pause(1);
        assertEquals(4 * PAUSE_NS, streak.longerPauseNs(PAUSE_NS));
    }

    @Test
    void aContendedStreakPausesAtMost32TimesAsLong() {
        streak.onRefused();
        for (int i = 0; i <= 5; i++) {
            assertEquals(PAUSE_NS << i, streak.longerPauseNs(PAUSE_NS));
            pause(1);
        }
        assertEquals(32 * PAUSE_NS, streak.longerPauseNs(PAUSE_NS));
    }

    @Test
    void aStreakIsContendedUntil33PausesInARowInWhichNobodyCame() {
        streak.onRefused();
        pause(32);
        assertTrue(streak.isContended());
        pause(1);
        assertFalse(streak.isContended());
        assertEquals(PAUSE_NS, streak.longerPauseNs(PAUSE_NS), "the pauses start again");
    }

    @Test
    void aRefusalStartsTheCountOfPausesAgain() {
        streak.onRefused();
        pause(20);
        streak.onRefused();
        assertEquals(PAUSE_NS, streak.longerPauseNs(PAUSE_NS));
        pause(32);
        assertTrue(streak.isContended());
    }

    /** Another client has a ticket and did not come in the pause, so it may be slow. */
    @Test
    void aYieldThatIsRefusedKeepsTheLongerPause() {
        pause(2);
        streak.onHandoff();
        streak.setPause(PAUSE_NS);
        streak.onYielded();
        assertTrue(streak.isContended());
        assertFalse(streak.hasPause());
        assertEquals(0, streak.handoffCount());
        assertEquals(4 * PAUSE_NS, streak.longerPauseNs(PAUSE_NS));
    }

    @Test
    void aStreakYieldsEvery20Pauses() {
        streak.setPause(PAUSE_NS);
        long dueNs = START_NS + 20 * PAUSE_NS;
        assertFalse(streak.isYieldDue(dueNs - 1));
        assertTrue(streak.isYieldDue(dueNs));
        streak.onYield(dueNs);
        assertFalse(streak.isYieldDue(dueNs + 20 * PAUSE_NS - 1));
        assertTrue(streak.isYieldDue(dueNs + 20 * PAUSE_NS));
    }

    @Test
    void aContendedStreakPausesInsteadOfYielding() {
        streak.setPause(PAUSE_NS);
        streak.onRefused();
        streak.setPause(PAUSE_NS);
        assertFalse(streak.isYieldDue(START_NS + 1_000 * PAUSE_NS));
    }

    @Test
    void aStreakLastsForAMultipleOfItsPause() {
        streak.setPause(PAUSE_NS);
        assertFalse(streak.isLongEnoughToPause(START_NS + 10 * PAUSE_NS - 1, HandoffStreak.PAUSE_MULTIPLE));
        assertTrue(streak.isLongEnoughToPause(START_NS + 10 * PAUSE_NS, HandoffStreak.PAUSE_MULTIPLE));
        assertFalse(streak.isLongEnoughToPause(START_NS + 100 * PAUSE_NS - 1, HandoffStreak.PROBE_MULTIPLE));
        assertTrue(streak.isLongEnoughToPause(START_NS + 100 * PAUSE_NS, HandoffStreak.PROBE_MULTIPLE));
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
        assertTrue(next.isContended());
        assertTrue(next.isOfWaiter());
        assertEquals(8 * PAUSE_NS, next.longerPauseNs(PAUSE_NS));
        assertTrue(next.isLongEnoughToPause(START_NS + 10 * PAUSE_NS, HandoffStreak.PAUSE_MULTIPLE));
    }

    @Test
    void theLeaseOfACallerThatDoesNotWaitHasNoStreak() {
        streak.onRefused();
        pause(3);
        streak.reset(START_NS);
        assertFalse(streak.isOfWaiter());
        assertFalse(streak.isContended());
        assertEquals(PAUSE_NS, streak.longerPauseNs(PAUSE_NS));
    }
}
