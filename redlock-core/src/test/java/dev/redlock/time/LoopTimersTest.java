package dev.redlock.time;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.concurrent.Delayed;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The alarm of an event loop, and the periodic task that replaces it while deadlines are near. */
class LoopTimersTest {

    private static final long MS = 1_000_000;
    private static final long TICK_NS = 500_000;

    private int createdPerSecond;
    private final List<Throwable> thrown = new ArrayList<>();
    private final List<Long> polledNs = new ArrayList<>();
    private final Tasks tasks = new Tasks();
    private final LoopTimers timers = new LoopTimers(() -> tasks.nowNs, tasks, nowNs -> {
    }, thrown::add, true);
    private final LoopTimers longTimers = new LoopTimers(() -> tasks.nowNs, tasks, polledNs::add, thrown::add, false);
    private final List<Long> firedNs = new ArrayList<>();

    /** A loop that counts the tasks that it creates. */
    private static final class Tasks extends ScheduledThreadPoolExecutor {

        private record Task(long dueNs, Runnable run) {
        }

        private final PriorityQueue<Task> queue = new PriorityQueue<>((a, b) -> Long.compare(a.dueNs, b.dueNs));
        private long nowNs;
        private int createdCount;
        private Runnable periodic;
        private long periodicDueNs;
        /** The periodic task that is no tick. */
        private Runnable check;
        private RuntimeException refusal;

        Tasks() {
            super(1);
        }

        /** Its cancellation. */
        private final class Scheduled extends FutureTask<Void> implements ScheduledFuture<Void> {

            private final Runnable task;

            Scheduled(Runnable task) {
                super(() -> null);
                this.task = task;
            }

            @Override
            public boolean cancel(boolean mayInterrupt) {
                periodic = periodic == task ? null : periodic;
                check = check == task ? null : check;
                return true;
            }

            @Override
            public long getDelay(TimeUnit unit) {
                return 0;
            }

            @Override
            public int compareTo(Delayed other) {
                return 0;
            }
        }

        @Override
        public ScheduledFuture<?> schedule(Runnable task, long delayNs, TimeUnit unit) {
            if (refusal != null) {
                throw refusal;
            }
            createdCount++;
            queue.add(new Task(nowNs + delayNs, task));
            return new Scheduled(task);
        }

        @Override
        public ScheduledFuture<?> scheduleWithFixedDelay(Runnable task, long startNs, long periodNs, TimeUnit unit) {
            if (refusal != null) {
                throw refusal;
            }
            createdCount++;
            if (periodNs == TICK_NS) {
                periodic = task;
                periodicDueNs = nowNs + periodNs;
            } else {
                check = task;
                addCheck(periodNs);
            }
            return new Scheduled(task);
        }

        private void addCheck(long periodNs) {
            queue.add(new Task(nowNs + periodNs, () -> {
                if (check != null) {
                    check.run();
                    addCheck(periodNs);
                }
            }));
        }

        private void runUntil(long endNs) {
            while (true) {
                long taskNs = queue.isEmpty() ? Long.MAX_VALUE : queue.peek().dueNs;
                long tickNs = periodic == null ? Long.MAX_VALUE : periodicDueNs;
                if (Math.min(taskNs, tickNs) > endNs) {
                    nowNs = endNs;
                    return;
                }
                nowNs = Math.min(taskNs, tickNs);
                if (taskNs <= tickNs) {
                    queue.poll().run.run();
                } else {
                    periodicDueNs += TICK_NS;
                    periodic.run();
                }
            }
        }
    }

    /** Timers that are far away, of which one is due each millisecond. */
    private void runFarTimers(LoopTimers untilNow, int count) {
        for (int i = 0; i < count; i++) {
            renew(untilNow, tasks.nowNs + i * MS);
        }
        tasks.runUntil(tasks.nowNs + 100 * MS);
        int before = tasks.createdCount;
        tasks.runUntil(tasks.nowNs + 1_000 * MS);
        createdPerSecond = tasks.createdCount - before;
    }

    private void renew(LoopTimers untilNow, long atNs) {
        untilNow.wheel().start(new DeadlineTimer(nowNs -> renew(untilNow, nowNs + 10_000 * MS)), atNs);
    }

    @Test
    void thousandsOfTimersCreateNoTaskForEachAlarm() {
        runFarTimers(longTimers, 10_000);
        assertEquals(0, createdPerSecond);
    }

    @Test
    void aFewTimersCreateATaskForEachAlarm() {
        runFarTimers(longTimers, 2_000);
        assertNull(tasks.periodic);
    }

    private void startFar(long atNs) {
        longTimers.wheel().start(new DeadlineTimer(firedNs::add), atNs);
    }

    @Test
    void eachTimerFiresAtItsDeadline() {
        startFar(30 * MS);
        startFar(10 * MS);
        startFar(20 * MS);
        tasks.runUntil(100 * MS);
        assertEquals(List.of(10 * MS, 20 * MS, 30 * MS), firedNs);
        assertTrue(polledNs.containsAll(firedNs));
    }

    @Test
    void aTimerWithTheDeadlineOfTheAlarmCreatesNoTask() {
        startFar(10 * MS);
        startFar(10 * MS);
        assertEquals(1, tasks.createdCount);
    }

    @Test
    void noTaskIsCreatedAfterTheLastTimer() {
        startFar(10 * MS);
        DeadlineTimer stopped = new DeadlineTimer(firedNs::add);
        longTimers.wheel().start(stopped, 500 * MS);
        longTimers.wheel().stop(stopped);
        tasks.runUntil(1_000 * MS);
        assertEquals(1, tasks.createdCount);
    }

    @Test
    void aTickReplacesTheAlarmFromTheLimitOfTimersOn() {
        // The timer of the poll is not started any more.
        runNearTimersBesideFarOnes(4095);
        assertNotNull(tasks.periodic);
    }

    @Test
    void fewerTimersHaveAnAlarm() {
        runNearTimersBesideFarOnes(4094);
        assertNull(tasks.periodic);
    }

    private void runNearTimersBesideFarOnes(int count) {
        for (int i = 0; i < count; i++) {
            startFar(1_000 * MS);
        }
        startFar(10 * MS);
        startFar(11 * MS);
        tasks.runUntil(10 * MS);
    }

    /** The loop has no memory for the next alarm; an alarm that had been replaced makes up for it. */
    @Test
    void anAlarmThatWasReplacedPollsIfThereIsNoOther() {
        startFar(20 * MS);
        startFar(10 * MS);
        tasks.refusal = new IllegalStateException("no alarm can be scheduled");
        tasks.runUntil(20 * MS);
        assertEquals(List.of(10 * MS, 20 * MS), firedNs);
    }

    @Test
    void timersAreAtMostASecondLateWhileNoAlarmCanBeScheduled() {
        longTimers.start();
        List.of(10, 1_500, 4_000, 5_500).forEach(ms -> startFar(ms * MS));
        tasks.refusal = new IllegalStateException("no alarm can be scheduled");
        tasks.runUntil(4_500 * MS);
        assertEquals(List.of(10 * MS, 2_000 * MS, 4_000 * MS), firedNs);
        assertEquals(List.of(tasks.refusal), thrown, "reported once");
        tasks.refusal = null;
        tasks.runUntil(6_000 * MS);
        assertEquals(List.of(10 * MS, 2_000 * MS, 4_000 * MS, 5_500 * MS), firedNs);
    }

    @Test
    void aTimerThatIsStartedWithoutAnAlarmFires() {
        longTimers.start();
        tasks.refusal = new IllegalStateException("no alarm can be scheduled");
        startFar(300 * MS);
        tasks.runUntil(2_000 * MS);
        assertEquals(List.of(1_000 * MS), firedNs);
    }

    @Test
    void theNextStartSetsTheAlarmOfATimerWithoutOne() {
        tasks.refusal = new IllegalStateException("no alarm can be scheduled");
        startFar(300 * MS);
        tasks.refusal = null;
        startFar(500 * MS);
        tasks.runUntil(500 * MS);
        assertEquals(List.of(300 * MS, 500 * MS), firedNs);
    }

    @Test
    void theCheckContinuesTheTimersOfATickThatIsNotScheduled() {
        timers.start();
        timers.wheel().start(new DeadlineTimer(firedNs::add), MS);
        timers.wheel().start(new DeadlineTimer(firedNs::add), 2 * MS);
        tasks.refusal = new IllegalStateException("no tick can be scheduled");
        tasks.runUntil(500 * MS);
        assertEquals(List.of(MS), firedNs);
        tasks.refusal = null;
        tasks.runUntil(1_000 * MS);
        assertEquals(List.of(MS, 1_000 * MS), firedNs);
    }

    @Test
    void theCheckContinuesTheTimersIfNoAlarmFollowsTheLastTick() {
        timers.start();
        runShortTimers(100);
        timers.wheel().start(new DeadlineTimer(firedNs::add), 1_500 * MS);
        tasks.refusal = new IllegalStateException("no alarm can be scheduled");
        tasks.runUntil(900 * MS);
        assertNull(tasks.periodic);
        assertEquals(List.of(tasks.refusal), thrown);
        tasks.refusal = null;
        tasks.runUntil(2_000 * MS);
        assertEquals(List.of(1_500 * MS), firedNs);
    }

    @Test
    void anotherLackOfMemoryIsReportedToo() {
        longTimers.start();
        List.of(10, 3_500, 4_500).forEach(ms -> startFar(ms * MS));
        tasks.refusal = new IllegalStateException("no alarm can be scheduled");
        tasks.runUntil(500 * MS);
        assertEquals(1, thrown.size());
        tasks.refusal = null;
        tasks.runUntil(2_000 * MS);
        tasks.refusal = new IllegalStateException("no alarm can be scheduled again");
        tasks.runUntil(4_500 * MS);
        assertEquals(2, thrown.size());
    }

    @Test
    void theTimerThatThrewIsReportedIfNoAlarmFollows() {
        IllegalStateException bug = new IllegalStateException("a bug in a handler");
        longTimers.wheel().start(new DeadlineTimer(nowNs -> {
            throw bug;
        }), 10 * MS);
        tasks.refusal = new IllegalStateException("no alarm can be scheduled");
        tasks.runUntil(10 * MS);
        assertEquals(List.of(bug, tasks.refusal), thrown);
    }

    /** Locks one after the other, each of which stops its timer in time. */
    private void runShortTimers(int count) {
        DeadlineTimer timer = new DeadlineTimer(nowNs -> {
        });
        for (int i = 0; i < count; i++) {
            timers.wheel().start(timer, tasks.nowNs + MS);
            tasks.runUntil(tasks.nowNs + MS / 10);
            timers.wheel().stop(timer);
        }
    }

    @Test
    void aStreamOfShortTimersCreatesNoTaskEach() {
        runShortTimers(1_000);
        int before = tasks.createdCount;
        runShortTimers(10_000);
        assertEquals(before, tasks.createdCount);
    }

    @Test
    void aTimerIsAtMostATickLate() {
        runShortTimers(100);
        for (int i = 1; i <= 20; i++) {
            long deadlineNs = tasks.nowNs + MS + i * 10_007;
            timers.wheel().start(new DeadlineTimer(nowNs -> firedNs.add(nowNs - deadlineNs)), deadlineNs);
            tasks.runUntil(tasks.nowNs + 2 * MS);
        }
        assertEquals(20, firedNs.size());
        assertEquals(List.of(), firedNs.stream().filter(lateNs -> lateNs < 0 || lateNs > TICK_NS).toList());
    }

    @Test
    void aTimerThatIsDueBeforeTheNextTickIsInTime() {
        runShortTimers(100);
        for (int i = 1; i <= 20; i++) {
            long deadlineNs = tasks.nowNs + i * 1_009;
            timers.wheel().start(new DeadlineTimer(nowNs -> firedNs.add(nowNs - deadlineNs)), deadlineNs);
            tasks.runUntil(tasks.nowNs + i * 10_007);
            assertEquals(i, firedNs.size());
        }
        assertEquals(Set.of(0L), Set.copyOf(firedNs));
        assertNotNull(tasks.periodic);
    }

    @Test
    void aTimerOfAHandlerThatIsDueAtOnceIsInTime() {
        runShortTimers(100);
        DeadlineTimer second = new DeadlineTimer(firedNs::add);
        timers.wheel().start(new DeadlineTimer(nowNs -> timers.wheel().start(second, nowNs)), tasks.nowNs);
        long startNs = tasks.nowNs;
        tasks.runUntil(startNs);
        assertEquals(List.of(startNs), firedNs);
    }

    @Test
    void anAlarmBesideTheTickThatThrowsIsFollowedByTheTimersAfterIt() {
        runShortTimers(100);
        IllegalStateException bug = new IllegalStateException("a bug in a handler");
        timers.wheel().start(new DeadlineTimer(nowNs -> {
            throw bug;
        }), tasks.nowNs);
        timers.wheel().start(new DeadlineTimer(firedNs::add), tasks.nowNs);
        long startNs = tasks.nowNs;
        tasks.runUntil(startNs);
        assertEquals(List.of(bug), thrown);
        assertEquals(List.of(startNs), firedNs);
    }

    @Test
    void anAlarmThatIsSetWhenTheTickEndsStillComes() {
        runShortTimers(100);
        while (tasks.periodic != null) {
            tasks.runUntil(tasks.nowNs + MS);
        }
        timers.wheel().start(new DeadlineTimer(firedNs::add), tasks.nowNs + 5 * MS);
        long dueNs = tasks.nowNs + 5 * MS;
        tasks.runUntil(tasks.nowNs + 10 * MS);
        assertEquals(List.of(dueNs), firedNs);
    }

    @Test
    void aFarTimerThatIsStartedDuringTheTickFiresAfterIt() {
        runShortTimers(100);
        long dueNs = tasks.nowNs + 1_000 * MS;
        timers.wheel().start(new DeadlineTimer(firedNs::add), dueNs);
        tasks.runUntil(tasks.nowNs + 500 * MS);
        assertNull(tasks.periodic);
        tasks.runUntil(dueNs);
        assertEquals(List.of(dueNs), firedNs);
    }

    @Test
    void theTickEndsWhenNoDeadlineIsNearAndFarTimersStillFire() {
        long farNs = 1_000 * MS;
        timers.wheel().start(new DeadlineTimer(firedNs::add), farNs);
        runShortTimers(100);
        tasks.runUntil(200 * MS);
        assertNull(tasks.periodic);
        tasks.runUntil(2_000 * MS);
        assertEquals(List.of(farNs), firedNs);
    }

    @Test
    void aTimerThatThrowsDoesNotEndTheTick() {
        runShortTimers(100);
        IllegalStateException bug = new IllegalStateException("a bug in a handler");
        timers.wheel().start(new DeadlineTimer(nowNs -> {
            throw bug;
        }), tasks.nowNs + MS);
        timers.wheel().start(new DeadlineTimer(firedNs::add), tasks.nowNs + MS);
        tasks.runUntil(tasks.nowNs + 3 * MS);
        assertEquals(List.of(bug), thrown);
        assertEquals(1, firedNs.size());
    }

    @Test
    void noTimerFiresAfterTheEnd() {
        timers.start();
        timers.wheel().start(new DeadlineTimer(firedNs::add), 1_000 * MS);
        runShortTimers(100);
        assertNotNull(tasks.periodic);
        assertNotNull(tasks.check);
        firedNs.clear();
        timers.close();
        assertNull(tasks.periodic);
        assertNull(tasks.check);
        tasks.runUntil(2_000 * MS);
        assertEquals(List.of(), firedNs);
        timers.close();
    }
}
