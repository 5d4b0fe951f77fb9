package dev.redlock.time;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/** Random operations on a wheel and on a plain list of deadlines. */
class TimerWheelProperties {

    private static final long MS = 1_000_000;
    private static final int TIMERS = 150;
    private static final int STEPS = 300;
    /** How far away deadlines and leaps are: within a tick, the fine wheel, the coarse wheel, beyond both. */
    private static final long[] REACHES_NS = {2 * MS, 400 * MS, 60_000 * MS, 250_000 * MS, 3_600_000 * MS};

    /** A wheel and its specification. */
    private static final class World {
        private final SplittableRandom random;
        private final long originNs;
        private final TimerWheel wheel;
        private final DeadlineTimer[] timers = new DeadlineTimer[TIMERS];
        private final long[] deadlines = new long[TIMERS];
        private final boolean[] isStarted = new boolean[TIMERS];
        private final List<Integer> fired = new ArrayList<>();
        private boolean isPolling;
        private long nowNs;

        World(long originNs, long seed) {
            this.originNs = originNs;
            this.nowNs = originNs;
            this.random = new SplittableRandom(seed);
            this.wheel = new TimerWheel(originNs, deadlineNs -> {
            });
            for (int i = 0; i < TIMERS; i++) {
                int id = i;
                timers[i] = new DeadlineTimer(atNs -> onDeadline(id, atNs));
            }
        }

        private void onDeadline(int id, long atNs) {
            assertTrue(isPolling);
            assertEquals(nowNs, atNs);
            assertTrue(isStarted[id], "a stopped timer fired");
            assertTrue(deadlines[id] - nowNs <= 0, "fired before its deadline");
            isStarted[id] = false;
            fired.add(id);
            if (random.nextInt(4) == 0) {
                start(random.nextInt(TIMERS));
            }
            if (random.nextInt(4) == 0) {
                stop(random.nextInt(TIMERS));
            }
        }

        private long reach() {
            return random.nextLong(REACHES_NS[random.nextInt(REACHES_NS.length)]);
        }

        private void start(int id) {
            deadlines[id] = nowNs + reach() - (random.nextInt(8) == 0 ? MS : 0);
            isStarted[id] = true;
            wheel.start(timers[id], deadlines[id]);
        }

        private void stop(int id) {
            isStarted[id] = false;
            wheel.stop(timers[id]);
        }

        private void poll(long atNs) {
            nowNs = atNs;
            fired.clear();
            isPolling = true;
            assertEquals(wheel.poll(nowNs), fired.size());
            isPolling = false;
        }

        /** A timer that was due before the poll and is started after it was started again by a handler. */
        private void pollAndCheck(long atNs) {
            List<Integer> due = new ArrayList<>();
            for (int i = 0; i < TIMERS; i++) {
                if (isStarted[i] && deadlines[i] - atNs <= 0) {
                    due.add(i);
                }
            }
            long[] before = deadlines.clone();
            poll(atNs);
            for (int id : due) {
                boolean isMoved = isStarted[id] && (deadlines[id] != before[id] || fired.contains(id));
                assertTrue(!isStarted[id] || isMoved, "timer " + id + " was due and is still waiting");
            }
        }

        private void check() {
            int started = 0;
            long wakeAtNs = wheel.wakeAtNs();
            for (int i = 0; i < TIMERS; i++) {
                assertEquals(isStarted[i], timers[i].isStarted());
                if (isStarted[i]) {
                    started++;
                    assertTrue(wakeAtNs - deadlines[i] <= 0, "wakes after timer " + i);
                }
            }
            assertEquals(started, wheel.startedCount());
        }

        private void step() {
            switch (random.nextInt(5)) {
                case 0, 1 -> start(random.nextInt(TIMERS));
                case 2 -> stop(random.nextInt(TIMERS));
                case 3 -> pollAndCheck(nowNs + reach());
                default -> {
                    long wakeAtNs = wheel.wakeAtNs();
                    if (wheel.startedCount() > 0 && wakeAtNs - nowNs > 0) {
                        pollAndCheck(wakeAtNs);
                    }
                }
            }
        }

        @Override
        public String toString() {
            return "origin " + originNs;
        }
    }

    @Property(tries = 400)
    void agreesWithAListOfDeadlines(@ForAll long originNs, @ForAll long seed) {
        World world = new World(originNs, seed);
        for (int i = 0; i < STEPS; i++) {
            world.step();
            world.check();
        }
    }

    /** Polls at the wake times only: each handler is called at its deadline, with few polls. */
    @Property(tries = 200)
    void pollsAtTheWakeTimesAreSufficientAndFew(@ForAll long originNs, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        long[] lateNs = new long[1];
        TimerWheel wheel = new TimerWheel(originNs, deadlineNs -> {
        });
        List<DeadlineTimer> timers = new ArrayList<>();
        for (int i = 0; i < TIMERS; i++) {
            long deadlineNs = originNs + random.nextLong(REACHES_NS[random.nextInt(REACHES_NS.length)]);
            timers.add(new DeadlineTimer(nowNs -> lateNs[0] = Math.max(lateNs[0], nowNs - deadlineNs)));
            wheel.start(timers.get(i), deadlineNs);
        }
        int wakeUps = 0;
        long nowNs = originNs;
        while (wheel.startedCount() > 0) {
            long wakeAtNs = wheel.wakeAtNs();
            assertTrue(wakeAtNs - nowNs > 0 || wakeUps == 0, "time must pass between two wake-ups");
            nowNs = wakeAtNs - nowNs > 0 ? wakeAtNs : nowNs;
            wheel.poll(nowNs);
            wakeUps++;
        }
        assertEquals(0, lateNs[0], "a handler was late");
        // One for the timer, one for its coarse spoke, and one for each 68 seconds that it waits.
        assertTrue(wakeUps <= TIMERS * (2 + 3_600_000 / 68_000 + 1), wakeUps + " wake-ups");
        assertFalse(timers.stream().anyMatch(DeadlineTimer::isStarted));
    }
}
