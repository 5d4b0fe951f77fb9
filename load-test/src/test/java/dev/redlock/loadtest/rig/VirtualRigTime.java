package dev.redlock.loadtest.rig;

import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.CountDownLatch;

/** A clock that jumps from event to event, in the one thread that waits for it. */
final class VirtualRigTime implements RigTime {
    private final PriorityQueue<Event> events = new PriorityQueue<>(
            Comparator.comparingLong(Event::order).thenComparingLong(Event::number));
    private final long zeroNs;
    private long nowNs;
    private long scheduled;

    /** Something that happens; order is its distance from zero, so that the clock may overflow. */
    private record Event(long order, long number, Runnable task) {
    }

    VirtualRigTime(long zeroNs) {
        this.zeroNs = zeroNs;
        this.nowNs = zeroNs;
    }

    @Override
    public long nowNs() {
        return nowNs;
    }

    @Override
    public boolean await(CountDownLatch latch, long deadlineNs) {
        while (latch.getCount() > 0 && !events.isEmpty() && zeroNs + events.peek().order() - deadlineNs <= 0) {
            Event event = events.poll();
            nowNs = zeroNs + event.order();
            event.task().run();
        }
        if (latch.getCount() > 0 && deadlineNs - nowNs > 0) {
            nowNs = deadlineNs;
        }
        return latch.getCount() == 0;
    }

    @Override
    public void schedule(Runnable task, long delayNs) {
        events.add(new Event(nowNs + delayNs - zeroNs, scheduled++, task));
    }

    @Override
    public void pace(Pacer.Target target, double periodNs) {
        schedule(() -> {
            if (target.onDue(nowNs)) {
                pace(target, periodNs);
            }
        }, Math.max(0, target.nextNs() - nowNs));
    }

    /** Discards scheduled tasks; the next run may reuse the clock. */
    @Override
    public void close() {
        events.clear();
    }
}
