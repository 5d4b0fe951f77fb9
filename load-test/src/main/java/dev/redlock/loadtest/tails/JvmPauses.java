package dev.redlock.loadtest.tails;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
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
    private static final Duration SHORTEST = Duration.ofNanos(100_000);
    private static final int FLUSHES = 2;
    private static final long FLUSH_LIMIT_S = 30;

    private final RecordingStream stream = new RecordingStream();
    private final List<Pause> pauses = new ArrayList<>();
    private volatile CountDownLatch flushes = new CountDownLatch(0);

    /** @threading immutable */
    private record Pause(Cause cause, long fromNs, long toNs) {
        long within(long startNs, long endNs) {
            return Math.max(0, Math.min(toNs, endNs) - Math.max(fromNs, startNs));
        }
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
        stream.onFlush(() -> flushes.countDown());
        stream.startAsync();
    }

    private synchronized void add(Cause cause, RecordedEvent event) {
        // The clocks may drift apart, so each event brings its own pair of times.
        long nowNs = System.nanoTime();
        Instant now = Instant.now();
        long fromNs = nowNs - Duration.between(event.getStartTime(), now).toNanos();
        pauses.add(new Pause(cause, fromNs, fromNs + event.getDuration().toNanos()));
    }

    /** Waits until the pauses up to now are known. */
    void await() throws InterruptedException {
        CountDownLatch next = new CountDownLatch(FLUSHES);
        flushes = next;
        next.await(FLUSH_LIMIT_S, TimeUnit.SECONDS);
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
