package dev.redlock.loadtest.tails;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import jdk.jfr.Event;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingStream;

/**
 * The pauses of this JVM, from its flight recorder: those of the collector, and other operations that stop all threads.
 *
 * @threading any thread
 */
final class JvmPauses implements AutoCloseable {
    private static final String COLLECTION = "jdk.GCPhasePause";
    private static final String OPERATION = "jdk.ExecuteVMOperation";
    private static final String MARK = "dev.redlock.loadtest.Mark";
    private static final Duration SHORTEST = Duration.ofNanos(100_000);
    /** A flush may have the first mark and miss an earlier event of another thread; the next flush has it. */
    private static final int MARKS = 2;
    private static final long MARK_LIMIT_S = 30;

    private final RecordingStream stream = new RecordingStream();
    private final List<Pause> pauses = new ArrayList<>();
    private volatile Arrival awaited = new Arrival(0, new CountDownLatch(0));
    private long markCount;

    /** @threading immutable */
    private record Pause(Cause cause, long fromNs, long toNs) {
        long within(long startNs, long endNs) {
            return Math.max(0, Math.min(toNs, endNs) - Math.max(fromNs, startNs));
        }
    }

    /**
     * An event whose arrival shows that those before it have arrived.
     *
     * @threading caller-confined
     */
    @Name(MARK)
    @StackTrace(false)
    private static final class Mark extends Event {
        long number;
    }

    /** @threading any thread */
    private record Arrival(long number, CountDownLatch latch) {
    }

    /** Starts to record. */
    JvmPauses() {
        stream.enable(COLLECTION).withThreshold(SHORTEST);
        stream.enable(OPERATION).withThreshold(SHORTEST);
        stream.onEvent(COLLECTION, event -> add(Cause.COLLECTOR, event));
        // Collections are operations too; as the first cause they win.
        stream.onEvent(OPERATION, event -> {
            if (event.getBoolean("safepoint")) {
                add(Cause.SAFEPOINT, event);
            }
        });
        stream.enable(Mark.class);
        stream.onEvent(MARK, event -> {
            Arrival present = awaited;
            if (event.getLong("number") == present.number) {
                present.latch.countDown();
            }
        });
        stream.startAsync();
    }

    private synchronized void add(Cause cause, RecordedEvent event) {
        // The clocks may drift apart, so each event brings its own pair of times.
        long nowNs = System.nanoTime();
        Instant now = Instant.now();
        long fromNs = nowNs - Duration.between(event.getStartTime(), now).toNanos();
        pauses.add(new Pause(cause, fromNs, fromNs + event.getDuration().toNanos()));
    }

    /** Waits until the pauses up to now are known. One thread at a time. */
    void await() throws InterruptedException {
        for (int i = 0; i < MARKS; i++) {
            awaitMark();
        }
    }

    private void awaitMark() throws InterruptedException {
        Arrival next = new Arrival(++markCount, new CountDownLatch(1));
        awaited = next;
        Mark mark = new Mark();
        mark.number = next.number;
        mark.commit();
        next.latch.await(MARK_LIMIT_S, TimeUnit.SECONDS);
    }

    /** Adds the time of pauses within a span to those of the other causes. */
    synchronized void addTo(Map<Cause, Long> times, long fromNs, long toNs) {
        for (Pause pause : pauses) {
            times.merge(pause.cause, pause.within(fromNs, toNs), Long::sum);
        }
    }

    @Override
    public void close() {
        stream.close();
    }
}
