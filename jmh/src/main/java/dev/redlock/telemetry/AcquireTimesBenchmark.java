package dev.redlock.telemetry;

import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Recording the duration of an acquisition. The baselines are Micrometer's timer, with the same percentiles and
 * without.
 *
 * @threading caller-confined; the harness gives each thread its own
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
public class AcquireTimesBenchmark {

    private static final int COUNT = 1024;

    private final long[] durationsNs = new long[COUNT];
    private final AcquireTimesRecorder times = new AcquireTimesRecorder(8);
    private Timer timer;
    private Timer timerWithPercentiles;
    private int next;

    /** Draws durations around 300 us. */
    @Setup
    public void draw() {
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < COUNT; i++) {
            durationsNs[i] = (long) (200_000 * Math.exp(random.nextDouble()));
        }
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        timer = Timer.builder("plain").register(registry);
        timerWithPercentiles = Timer.builder("percentiles").publishPercentiles(0.5, 0.95, 0.99, 1).register(registry);
    }

    private long nextNs() {
        next = next + 1 & COUNT - 1;
        return durationsNs[next];
    }

    /** The buckets of an event loop. */
    @Benchmark
    public void buckets() {
        times.add(0, nextNs());
    }

    /** Count, sum and maximum. */
    @Benchmark
    public void baselineTimer() {
        timer.record(nextNs(), TimeUnit.NANOSECONDS);
    }

    /** Percentiles too. */
    @Benchmark
    public void baselineTimerWithPercentiles() {
        timerWithPercentiles.record(nextNs(), TimeUnit.NANOSECONDS);
    }
}
