package dev.redlock.time;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TimerWheelTest {

    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    private final List<Long> starts = new ArrayList<>();
    private final List<String> fired = new ArrayList<>();

    private TimerWheel wheel(long nowNs) {
        return new TimerWheel(nowNs, starts::add);
    }

    private DeadlineTimer timer(String name) {
        return new DeadlineTimer(nowNs -> fired.add(name));
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 12_345_678_901L, -5, Long.MAX_VALUE - 10, Long.MIN_VALUE})
    void expiresAtTheDeadlineAndNotBefore(long originNs) {
        for (long delayNs : new long[]{0, 1, MS, (1 << 20) - 1, 1 << 20, 63L << 20, 64L << 20, SECOND,
            65L << 20, 60 * SECOND, 1023L << 26, 1024L << 26, 24 * 3600 * SECOND}) {
            fired.clear();
            TimerWheel wheel = wheel(originNs);
            DeadlineTimer timer = timer("a");
            wheel.start(timer, originNs + delayNs);
            assertTrue(timer.isStarted());
            if (delayNs > 0) {
                assertEquals(0, wheel.poll(originNs + delayNs - 1), "too early for " + delayNs);
            }
            assertEquals(1, wheel.poll(originNs + delayNs), "due after " + delayNs);
            assertFalse(timer.isStarted());
            assertEquals(0, wheel.startedCount());
            assertEquals(0, wheel.poll(originNs + delayNs + SECOND), "once only");
            assertEquals(List.of("a"), fired);
        }
    }

    @Test
    void reportsEachStart() {
        TimerWheel wheel = wheel(100);
        DeadlineTimer timer = timer("a");
        wheel.start(timer, 200);
        wheel.start(timer, 150);
        assertEquals(List.of(200L, 150L), starts);
        assertEquals(1, wheel.startedCount());
        assertEquals(150, timer.deadlineNs());
    }

    @Test
    void aStoppedTimerDoesNotExpire() {
        TimerWheel wheel = wheel(0);
        DeadlineTimer near = timer("near");
        DeadlineTimer far = timer("far");
        wheel.start(near, MS);
        wheel.start(far, 100 * SECOND);
        wheel.stop(near);
        wheel.stop(far);
        wheel.stop(far);
        assertEquals(0, wheel.startedCount());
        assertEquals(0, wheel.poll(200 * SECOND));
        assertFalse(near.isStarted() || far.isStarted());
    }

    /** Like the timers of a lock: started, stopped and started again long before the deadline. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aTimerThatIsPostponedRepeatedlyExpiresOnceAtItsLastDeadline(boolean isStoppedInBetween) {
        TimerWheel wheel = wheel(0);
        DeadlineTimer timer = timer("a");
        long nowNs = 0;
        for (int i = 0; i < 1_000; i++) {
            wheel.start(timer, nowNs + 50 * MS);
            nowNs += MS / 2;
            if (isStoppedInBetween) {
                wheel.stop(timer);
            }
            assertEquals(0, wheel.poll(nowNs), "put off");
        }
        wheel.start(timer, nowNs + 50 * MS);
        assertEquals(0, wheel.poll(nowNs + 50 * MS - 1));
        assertEquals(1, wheel.poll(nowNs + 50 * MS));
        assertEquals(0, wheel.poll(nowNs + 100 * SECOND));
        assertEquals(List.of("a"), fired);
    }

    @Test
    void aStoppedTimerCanBeStartedForAnEarlierDeadline() {
        TimerWheel wheel = wheel(0);
        DeadlineTimer timer = timer("a");
        wheel.start(timer, 100 * SECOND);
        wheel.stop(timer);
        wheel.start(timer, 3 * MS);
        assertTrue(wheel.wakeAtNs() <= 3 * MS);
        assertEquals(1, wheel.poll(3 * MS));
        assertEquals(0, wheel.poll(200 * SECOND), "once only");
    }

    /** The wheel removes it, and does not wake up for it again. */
    @Test
    void aStoppedTimerIsRemovedWhenTheWheelReachesIt() {
        TimerWheel wheel = wheel(0);
        DeadlineTimer near = timer("near");
        DeadlineTimer far = timer("far");
        wheel.start(near, MS);
        wheel.start(far, 100 * SECOND);
        wheel.stop(near);
        assertTrue(wheel.wakeAtNs() <= MS, "found at its old deadline");
        assertEquals(0, wheel.poll(2 * MS));
        assertTrue(wheel.wakeAtNs() > SECOND, "and then forgotten");
        wheel.start(near, 5 * MS);
        assertEquals(1, wheel.poll(5 * MS));
        assertEquals(List.of("near"), fired);
    }

    @Test
    void movesToANewDeadline() {
        TimerWheel wheel = wheel(0);
        DeadlineTimer timer = timer("a");
        wheel.start(timer, SECOND);
        wheel.start(timer, 3 * SECOND);
        assertEquals(0, wheel.poll(2 * SECOND));
        wheel.start(timer, 2 * SECOND + MS);
        assertEquals(1, wheel.poll(2 * SECOND + MS));
        assertEquals(0, wheel.poll(10 * SECOND));
    }

    @Test
    void aDeadlineInThePastIsDueAtTheNextPoll() {
        TimerWheel wheel = wheel(10 * SECOND);
        wheel.poll(20 * SECOND);
        wheel.start(timer("past"), 5 * SECOND);
        wheel.start(timer("before the wheel"), -SECOND);
        assertTrue(wheel.wakeAtNs() - 20 * SECOND <= 0);
        assertEquals(2, wheel.poll(20 * SECOND));
    }

    @Test
    void aHandlerMayStartItsTimerAgain() {
        TimerWheel wheel = wheel(0);
        DeadlineTimer[] timer = new DeadlineTimer[1];
        timer[0] = new DeadlineTimer(nowNs -> {
            fired.add("at " + nowNs);
            wheel.start(timer[0], nowNs);
        });
        wheel.start(timer[0], MS);
        assertEquals(1, wheel.poll(MS), "not again within the same poll");
        assertTrue(timer[0].isStarted());
        assertEquals(1, wheel.poll(MS));
        assertEquals(List.of("at " + MS, "at " + MS), fired);
    }

    @Test
    void aHandlerMayStopAnotherDueTimer() {
        TimerWheel wheel = wheel(0);
        DeadlineTimer second = timer("second");
        DeadlineTimer first = new DeadlineTimer(nowNs -> {
            fired.add("first");
            wheel.stop(second);
        });
        wheel.start(first, MS);
        wheel.start(second, MS);
        assertEquals(1, wheel.poll(2 * MS));
        assertEquals(List.of("first"), fired);
        assertEquals(0, wheel.startedCount());
    }

    @Test
    void aHandlerMayPostponeAnotherDueTimer() {
        TimerWheel wheel = wheel(0);
        DeadlineTimer second = timer("second");
        wheel.start(new DeadlineTimer(nowNs -> wheel.start(second, 100 * SECOND)), MS);
        wheel.start(second, MS);
        assertEquals(1, wheel.poll(2 * MS));
        assertEquals(1, wheel.startedCount());
        assertEquals(0, wheel.poll(100 * SECOND - 1));
        assertEquals(1, wheel.poll(100 * SECOND));
    }

    /** One in the same spoke, one in a later spoke of the same poll, one from the coarse wheel, one still to come. */
    @Test
    void aHandlerThatThrowsDoesNotDelayOtherTimers() {
        TimerWheel wheel = wheel(0);
        wheel.start(new DeadlineTimer(nowNs -> {
            throw new IllegalStateException("a bug in a handler");
        }), MS);
        wheel.start(timer("same spoke"), MS);
        wheel.start(timer("later spoke"), 100 * MS);
        wheel.start(timer("from the coarse wheel"), SECOND);
        wheel.start(timer("to come"), 3 * SECOND);
        assertThrows(IllegalStateException.class, () -> wheel.poll(SECOND));
        assertEquals(4, wheel.startedCount(), "only the one that threw has had its call");
        assertEquals(MS, wheel.wakeAtNs(), "the others are due");
        assertEquals(3, wheel.poll(SECOND), "at the very next poll");
        assertEquals(Set.of("same spoke", "later spoke", "from the coarse wheel"), Set.copyOf(fired));
        assertTrue(wheel.wakeAtNs() > SECOND, "nothing is due any more");
        assertEquals(0, wheel.poll(3 * SECOND - 1));
        assertEquals(1, wheel.poll(3 * SECOND));
        assertEquals(0, wheel.startedCount());
    }

    @Test
    void timersAfterAHandlerThatThrewCanBeStoppedAndPostponed() {
        TimerWheel wheel = wheel(0);
        wheel.start(new DeadlineTimer(nowNs -> {
            throw new IllegalStateException("a bug in a handler");
        }), MS);
        DeadlineTimer stopped = timer("stopped");
        DeadlineTimer moved = timer("moved");
        wheel.start(stopped, 2 * MS);
        wheel.start(moved, 3 * MS);
        assertThrows(IllegalStateException.class, () -> wheel.poll(5 * MS));
        wheel.stop(stopped);
        wheel.start(moved, 10 * MS);
        assertEquals(0, wheel.poll(9 * MS));
        assertEquals(1, wheel.poll(10 * MS));
        assertEquals(List.of("moved"), fired);
    }

    @Test
    void timersOfOneTickExpireByTheNanosecond() {
        TimerWheel wheel = wheel(0);
        wheel.start(timer("late"), 900);
        wheel.start(timer("early"), 100);
        wheel.start(timer("middle"), 500);
        assertEquals(100, wheel.wakeAtNs());
        assertEquals(1, wheel.poll(100));
        assertEquals(500, wheel.wakeAtNs());
        assertEquals(1, wheel.poll(899));
        assertEquals(900, wheel.wakeAtNs());
        assertEquals(1, wheel.poll(900));
        assertEquals(List.of("early", "middle", "late"), fired);
    }

    @Test
    void anEmptyWheelNeedsNoWakeUp() {
        TimerWheel wheel = wheel(1_000);
        assertTrue(wheel.wakeAtNs() > 100L * 365 * 24 * 3600 * SECOND);
        wheel.start(timer("a"), 2_000);
        assertEquals(2_000, wheel.wakeAtNs());
        wheel.poll(3_000);
        assertTrue(wheel.wakeAtNs() > 100L * 365 * 24 * 3600 * SECOND);
    }

    @Test
    void theWakeTimeOfAFarTimerIsTheStartOfItsCoarseSpoke() {
        TimerWheel wheel = wheel(0);
        long deadlineNs = 7 * (1L << 26) + 12_345;
        wheel.start(timer("far"), deadlineNs);
        assertEquals(7L << 26, wheel.wakeAtNs());
        assertEquals(0, wheel.poll(7L << 26));
        assertEquals(deadlineNs, wheel.wakeAtNs());
        assertEquals(1, wheel.poll(deadlineNs));
    }

    @Test
    void theWakeTimeIsThatOfTheNearTimer() {
        TimerWheel wheel = wheel(0);
        wheel.start(timer("far"), 100 * SECOND);
        wheel.start(timer("near"), 3 * MS);
        assertEquals(3 * MS, wheel.wakeAtNs());
        DeadlineTimer sooner = timer("coarse, yet sooner than a fine one");
        wheel.poll((1L << 26) - 2 * MS);
        wheel.start(sooner, (1L << 26) + 65 * (1L << 20));
        wheel.start(timer("fine"), (1L << 26) + 60 * (1L << 20));
        assertTrue(wheel.wakeAtNs() - sooner.deadlineNs() <= 0);
    }

    /** The first tick that the fine wheel has no spoke for must not share the spoke of the current one. */
    @Test
    void aTimerOneRevolutionAheadDoesNotHideANearOne() {
        TimerWheel wheel = wheel(0);
        wheel.start(timer("one turn ahead"), 64L << 20);
        wheel.start(timer("near"), 5L << 20);
        assertEquals(5L << 20, wheel.wakeAtNs());
        assertEquals(1, wheel.poll(5L << 20));
        assertEquals(List.of("near"), fired);
    }

    /** A timer leaves a gap in its spoke when it moves; a block of gaps must not wait until the wheel reaches it. */
    @Test
    void timersThatMoveToEarlierTimesTakeNoMoreBlocks() {
        TimerWheel wheel = wheel(0);
        List<DeadlineTimer> timers = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            timers.add(timer("t" + i));
        }
        for (int round = 0; round < 10_000; round++) {
            long nowNs = round * MS;
            timers.forEach(timer -> wheel.start(timer, nowNs + 60 * SECOND));
            timers.forEach(timer -> wheel.start(timer, nowNs + MS / 2));
            assertEquals(100, wheel.poll(nowNs + MS / 2));
        }
        assertTrue(wheel.blockCount() < 20, () -> wheel.blockCount() + " blocks");
    }

    @Test
    void timersOfOneSpokeKeepTheirOrderAcrossBlocksAndGaps() {
        TimerWheel wheel = wheel(0);
        List<DeadlineTimer> timers = new ArrayList<>();
        List<String> expected = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            timers.add(timer("t" + i));
            wheel.start(timers.get(i), 10 * SECOND);
        }
        for (int i = 0; i < 200; i++) {
            if (i >= 32 && i < 64 || i % 3 == 0 || i >= 170) {
                wheel.start(timers.get(i), SECOND);
                wheel.stop(timers.get(i));
            } else {
                expected.add("t" + i);
            }
        }
        assertEquals(expected.size(), wheel.poll(10 * SECOND));
        assertEquals(expected, fired);
    }

    private List<DeadlineTimer> started(TimerWheel wheel, int from, int to, long deadlineNs) {
        List<DeadlineTimer> timers = new ArrayList<>();
        for (int i = from; i < to; i++) {
            timers.add(timer("t" + i));
            wheel.start(timers.get(i - from), deadlineNs);
        }
        return timers;
    }

    private static List<String> names(int... ranges) {
        List<String> names = new ArrayList<>();
        for (int i = 0; i < ranges.length; i += 2) {
            for (int k = ranges[i]; k < ranges[i + 1]; k++) {
                names.add("t" + k);
            }
        }
        return names;
    }

    /** Blocks of 32 timers at the start, in the middle and at the end of a spoke become empty. */
    @Test
    void aSpokeThatLosesABlockTakesMoreTimers() {
        for (int lost = 0; lost < 3; lost++) {
            fired.clear();
            TimerWheel wheel = wheel(0);
            List<DeadlineTimer> timers = started(wheel, 0, 96, 10 * SECOND);
            timers.subList(32 * lost, 32 * lost + 32).forEach(timer -> wheel.start(timer, SECOND));
            started(wheel, 96, 200, 10 * SECOND);
            assertEquals(32, wheel.poll(SECOND));
            assertEquals(names(32 * lost, 32 * lost + 32), fired);
            fired.clear();
            assertEquals(168, wheel.poll(10 * SECOND));
            assertEquals(names(0, 32 * lost, 32 * lost + 32, 200), fired);
        }
    }

    @Test
    void aSpokeThatLosesAllTimersNeedsNoWakeUpAndTakesOthers() {
        TimerWheel wheel = wheel(0);
        List<DeadlineTimer> timers = started(wheel, 0, 70, 10 * SECOND);
        timers.forEach(timer -> wheel.start(timer, 20 * MS));
        assertEquals(70, wheel.poll(20 * MS));
        assertTrue(wheel.wakeAtNs() > 100L * 365 * 24 * 3600 * SECOND);
        fired.clear();
        started(wheel, 70, 80, 10 * SECOND);
        assertEquals(10, wheel.poll(10 * SECOND));
        assertEquals(names(70, 80), fired);
    }

    @Test
    void theWakeTimeAfterAHandlerThatThrowsIsThatOfTheNextTimer() {
        TimerWheel wheel = wheel(0);
        wheel.start(new DeadlineTimer(nowNs -> {
            throw new IllegalStateException("broken");
        }), 100);
        wheel.start(timer("next"), 200);
        assertThrows(IllegalStateException.class, () -> wheel.poll(300));
        assertEquals(200, wheel.wakeAtNs());
        assertEquals(1, wheel.poll(300));
        wheel.start(new DeadlineTimer(nowNs -> {
            throw new IllegalStateException("broken");
        }), 400);
        assertThrows(IllegalStateException.class, () -> wheel.poll(500));
        assertTrue(wheel.wakeAtNs() > 100L * 365 * 24 * 3600 * SECOND, "nothing is left");
    }

    @Test
    void aHandlerMovesTimersThatAreDueToo() {
        TimerWheel wheel = wheel(0);
        List<DeadlineTimer> timers = new ArrayList<>();
        wheel.start(new DeadlineTimer(nowNs -> timers.forEach(timer -> wheel.start(timer, 1))), 500);
        for (int i = 0; i < 100; i++) {
            timers.add(timer("t" + i));
            wheel.start(timers.get(i), 400);
        }
        // The first handler moves all others out of the list that the wheel goes through.
        assertEquals(1, wheel.poll(500) - fired.size());
        wheel.poll(501);
        assertEquals(100, fired.size());
        assertEquals(0, wheel.startedCount());
    }

    @Test
    void afterAJumpOfYearsEachTimerExpiresOnce() {
        TimerWheel wheel = wheel(0);
        int count = 5_000;
        for (int i = 0; i < count; i++) {
            wheel.start(timer("t"), i * 137L * MS);
        }
        assertEquals(count, wheel.poll(10L * 365 * 24 * 3600 * SECOND));
        assertEquals(count, fired.size());
        assertEquals(0, wheel.startedCount());
        wheel.start(timer("after"), 10L * 365 * 24 * 3600 * SECOND + SECOND);
        assertEquals(1, wheel.poll(10L * 365 * 24 * 3600 * SECOND + SECOND));
    }

    @Test
    void anEarlierTimeChangesNothing() {
        TimerWheel wheel = wheel(10 * SECOND);
        wheel.poll(20 * SECOND);
        wheel.start(timer("a"), 21 * SECOND);
        assertEquals(0, wheel.poll(15 * SECOND));
        assertEquals(0, wheel.poll(5 * SECOND));
        assertEquals(1, wheel.poll(21 * SECOND));
    }

    @Test
    void theSystemClockIsNanoTime() {
        long before = System.nanoTime();
        long now = NanoClock.system().nanoTime();
        assertTrue(now - before >= 0);
        assertTrue(System.nanoTime() - now >= 0);
    }
}
