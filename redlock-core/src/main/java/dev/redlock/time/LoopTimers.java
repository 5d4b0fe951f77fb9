package dev.redlock.time;

import java.util.function.Consumer;
import java.util.function.LongConsumer;

/**
 * The timers of one event loop: a {@link TimerWheel} that is polled by one scheduled task of the loop, the alarm.
 *
 * <p>The alarm is scheduled again only for a deadline before the one it waits for. A steady stream of locks, each with
 * its node timeout, costs some twenty scheduled tasks per second and not one per lock.
 *
 * @threading event-loop-confined
 */
public final class LoopTimers {

    /**
     * Schedules tasks on the event loop.
     *
     * @threading event-loop-confined
     */
    @FunctionalInterface
    public interface Scheduler {
        /**
         * Schedules a task.
         *
         * @param task    the task
         * @param delayNs nanoseconds, 0 or more
         */
        void schedule(Runnable task, long delayNs);
    }

    private final NanoClock clock;
    private final Scheduler scheduler;
    private final LongConsumer afterPoll;
    private final Consumer<Throwable> onThrown;
    private final TimerWheel wheel;
    private final Runnable alarmTask = this::onAlarm;
    private long alarmNs;
    private boolean isAlarmSet;

    /**
     * Timers without an alarm.
     *
     * @param clock     monotonic time
     * @param scheduler schedules the alarm
     * @param afterPoll receives the time after each poll; may throw
     * @param onThrown  receives what a timer threw; the other timers continue
     */
    public LoopTimers(NanoClock clock, Scheduler scheduler, LongConsumer afterPoll,
            Consumer<Throwable> onThrown) {
        this.clock = clock;
        this.scheduler = scheduler;
        this.afterPoll = afterPoll;
        this.onThrown = onThrown;
        this.wheel = new TimerWheel(clock.nanoTime(), this::onTimerStarted);
    }

    /** @return the wheel, on which timers are started and stopped */
    public TimerWheel wheel() {
        return wheel;
    }

    private void onTimerStarted(long deadlineNs) {
        if (!isAlarmSet || deadlineNs - alarmNs < 0) {
            setAlarm(deadlineNs);
        }
    }

    private void setAlarm(long deadlineNs) {
        // First, because it may throw: an alarm that is recorded but not scheduled would be the last one.
        scheduler.schedule(alarmTask, Math.max(0, deadlineNs - clock.nanoTime()));
        isAlarmSet = true;
        alarmNs = deadlineNs;
    }

    private void onAlarm() {
        long nowNs = clock.nanoTime();
        if (isAlarmSet && alarmNs - nowNs > 0) {
            // A later call has set an alarm for an earlier time, which replaced this one and has yet to come.
            return;
        }
        isAlarmSet = false;
        try {
            wheel.poll(nowNs);
            afterPoll.accept(nowNs);
        } catch (RuntimeException | Error e) {
            // The loop would discard the exception. The timers that this poll did not reach are due at once.
            setAlarm(nowNs);
            onThrown.accept(e);
            return;
        }
        if (wheel.startedCount() > 0) {
            onTimerStarted(wheel.wakeAtNs());
        }
    }
}
