package dev.redlock.engine;

import dev.redlock.time.LoopTimers;
import io.netty.channel.EventLoop;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Schedules the alarm of the timers on the event loop.
 *
 * @threading event-loop-confined
 */
final class LoopScheduler implements LoopTimers.Scheduler {

    private final EventLoop loop;

    LoopScheduler(EventLoop loop) {
        this.loop = loop;
    }

    @Override
    public void schedule(Runnable task, long delayNs) {
        loop.schedule(task, delayNs, TimeUnit.NANOSECONDS);
    }

    @Override
    public Runnable scheduleEach(Runnable task, long periodNs) {
        Future<?> scheduled = loop.scheduleWithFixedDelay(task, periodNs, periodNs, TimeUnit.NANOSECONDS);
        return () -> scheduled.cancel(false);
    }
}
