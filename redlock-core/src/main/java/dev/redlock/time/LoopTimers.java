package dev.redlock.time;

import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/**
 * The timers of one event loop: a {@link TimerWheel} that is polled by one scheduled task of the loop, the alarm.
 *
 * <p>The alarm is scheduled again only for a deadline before the one it waits for. A steady stream of locks, each with
 * its node timeout, costs some twenty scheduled tasks per second and not one per lock.
 *
 * <p>Deadlines of a millisecond would take a new alarm each millisecond, and each one is an object. So with such
 * timers, and with thousands of them, the alarm is one periodic task, the tick, as long as deadlines are near. A tick
 * may be {@link #TICK_NS} late. A timer that is due before the next tick sets an alarm as well: the attempt of a waiter
 * that a node has woken is due at once.
 *
 * <p>The loop may have no memory for the next alarm or tick. Then a check, which is one periodic task from the start to
 * the close, polls instead: the timers are up to {@link #CHECK_NS} late and none is lost.
 *
 * @threading event-loop-confined
 */
public final class LoopTimers {

    private static final long TICK_NS = 500_000;
    /** An idle client wakes up more often, because it watches its nodes. */
    private static final long CHECK_NS = 1_000_000_000;
    private static final long NEAR_NS = 2_000_000;
    private static final int IDLE_TICKS_MAX = 100;
    /** So many timers take an alarm every few milliseconds, however far their deadlines are. */
    private static final int TICKED_TIMERS_MIN = 4096;

    private final NanoClock clock;
    private final ScheduledExecutorService loop;
    private final LongConsumer afterPoll;
    private final Consumer<Throwable> onThrown;
    private final TimerWheel wheel;
    private final Alarm alarm = new Alarm(this);
    private final Runnable tickTask = this::onTick;
    private final boolean mayTick;
    private long polledNs;
    /** Null if there is no tick. */
    private Future<?> tick;
    private int idleTickCount;
    /** Null before the start and after the close. */
    private Future<?> check;
    /** The last alarm or tick could not be scheduled. */
    private boolean isAlarmMissing;
    /** Why an alarm could not be scheduled, for the log; null after the next poll. */
    private Throwable failure;

    /**
     * The task of the alarm and of the check. The event loop keeps it until it is due, perhaps for seconds after the
     * timers have closed.
     *
     * @threading event-loop-confined
     */
    private static final class Alarm implements Runnable {

        /** Null after the close. */
        private LoopTimers timers;

        Alarm(LoopTimers timers) {
            this.timers = timers;
        }

        @Override
        public void run() {
            if (timers != null) {
                timers.onAlarm();
            }
        }
    }

    /**
     * Timers without an alarm.
     *
     * @param clock     monotonic time
     * @param afterPoll receives the time after each poll; may throw
     * @param onThrown  receives what a timer threw, and why the loop did not schedule an alarm; the timers continue
     * @param mayTick   whether most timers are so short that a periodic task is cheaper
     */
    public LoopTimers(NanoClock clock, ScheduledExecutorService loop, LongConsumer afterPoll,
            Consumer<Throwable> onThrown, boolean mayTick) {
        this.clock = clock;
        this.loop = loop;
        this.afterPoll = afterPoll;
        this.onThrown = onThrown;
        this.mayTick = mayTick;
        this.wheel = new TimerWheel(clock.nanoTime(), this::onTimerStarted);
    }

    /**
     * Starts the check, on the event loop. Without it, timers stop for ever if an alarm cannot be scheduled.
     *
     * @throws RuntimeException or Error if the loop does not schedule it
     */
    public void start() {
        // The loop adds a periodic task again without a new object.
        check = loop.scheduleWithFixedDelay(alarm, CHECK_NS, CHECK_NS, TimeUnit.NANOSECONDS);
    }

    /** @return the wheel, on which timers are started and stopped */
    public TimerWheel wheel() {
        return wheel;
    }

    private void onTimerStarted(long deadlineNs) {
        boolean isTickInTime = tick != null && deadlineNs - polledNs >= TICK_NS;
        if (!isTickInTime && (!wheel.isWakeSet || deadlineNs - wheel.wakeNs < 0)) {
            setAlarm(isAlarmMissing ? earliestNs(deadlineNs) : deadlineNs);
        }
    }

    /** A timer whose own alarm could not be scheduled may be due before a deadline. */
    private long earliestNs(long deadlineNs) {
        long wakeNs = wheel.wakeAtNs();
        return wakeNs - deadlineNs < 0 ? wakeNs : deadlineNs;
    }

    /** Throws nothing: the timer of its caller is started, and fires without an alarm too. */
    private void setAlarm(long deadlineNs) {
        try {
            // First, because it may throw: an alarm that is recorded but not scheduled would be the last one.
            loop.schedule(alarm, Math.max(0, deadlineNs - clock.nanoTime()), TimeUnit.NANOSECONDS);
            wheel.isWakeSet = true;
            wheel.wakeNs = deadlineNs;
            isAlarmMissing = false;
        } catch (Throwable e) {
            onNotScheduled(e);
        }
    }

    /** The check polls, or the next start of a timer sets an alarm. Keeps one failure until an alarm is scheduled. */
    private void onNotScheduled(Throwable thrown) {
        wheel.isWakeSet = false;
        if (!isAlarmMissing) {
            isAlarmMissing = true;
            failure = thrown;
        }
    }

    private void onAlarm() {
        Throwable thrown = null;
        try {
            long nowNs = clock.nanoTime();
            if (wheel.isWakeSet ? wheel.wakeNs - nowNs > 0 : tick != null) {
                // An alarm for an earlier time that a later call has set, or the tick, has replaced this one.
                return;
            }
            wheel.isWakeSet = false;
            thrown = poll(nowNs);
            if (thrown != null) {
                // The timers that this poll did not reach are due at once.
                setAlarm(nowNs);
            } else if (tick == null) {
                setNextAlarm(nowNs);
            }
        } catch (Throwable e) {
            // The clock. An exception would end the check.
            onNotScheduled(e);
        }
        report(thrown);
    }

    /** Reports what this poll has thrown, if anything, and why an alarm was not scheduled. After all else. */
    private void report(Throwable thrown) {
        if (thrown != null) {
            onThrown.accept(thrown);
        }
        Throwable present = failure;
        if (present != null) {
            failure = null;
            onThrown.accept(present);
        }
    }

    private void setNextAlarm(long nowNs) {
        if ((mayTick || wheel.startedCount() >= TICKED_TIMERS_MIN) && isNear(nowNs)) {
            idleTickCount = 0;
            setTick();
        } else if (wheel.startedCount() > 0) {
            onTimerStarted(wheel.wakeAtNs());
        }
    }

    private void setTick() {
        try {
            tick = loop.scheduleWithFixedDelay(tickTask, TICK_NS, TICK_NS, TimeUnit.NANOSECONDS);
            isAlarmMissing = false;
        } catch (Throwable e) {
            onNotScheduled(e);
        }
    }

    private boolean isNear(long nowNs) {
        return wheel.startedCount() > 0 && wheel.wakeAtNs() - nowNs < NEAR_NS;
    }

    /** Returns what a timer threw, or null. The loop would discard the exception, and end the tick. */
    private Throwable poll(long nowNs) {
        polledNs = nowNs;
        try {
            wheel.poll(nowNs);
            afterPoll.accept(nowNs);
            return null;
        } catch (Throwable e) {
            return e;
        }
    }

    /** Ends all tasks: no timer fires any more, and the event loop does not keep the timers in memory. */
    public void close() {
        alarm.timers = null;
        endTick();
        if (check != null) {
            check.cancel(false);
            check = null;
        }
    }

    private void endTick() {
        if (tick != null) {
            tick.cancel(false);
            tick = null;
        }
    }

    private void onTick() {
        Throwable thrown = null;
        try {
            long nowNs = clock.nanoTime();
            thrown = poll(nowNs);
            idleTickCount = thrown != null || isNear(nowNs) ? 0 : idleTickCount + 1;
            if (idleTickCount > IDLE_TICKS_MAX) {
                endTick();
                if (wheel.startedCount() > 0) {
                    onTimerStarted(wheel.wakeAtNs());
                }
            }
        } catch (Throwable e) {
            // The clock. An exception would end the tick.
            onNotScheduled(e);
        }
        report(thrown);
    }
}
