package dev.redlock.jmh.lock;

import dev.redlock.time.DeadlineTimer;
import dev.redlock.time.TimerWheel;
import java.util.concurrent.TimeUnit;
import org.agrona.DeadlineTimerWheel;
import org.agrona.collections.Long2ObjectHashMap;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The timer of one lock: it stops long before its deadline, and the next lock starts it again. Each operation stops and
 * starts one of a number of timers, at intervals of 2 us; the wheel is polled every 64 operations. The baseline is the
 * wheel of Agrona. That wheel identifies a timer by a number, so a map finds the timer that has expired.
 *
 * @threading caller-confined; the harness gives each thread its own
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
public class TimerWheelBenchmark {

    private static final long TIMEOUT_NS = 50_000_000;
    private static final long INTERVAL_NS = 2_000;
    private static final int POLL_MASK = 63;
    private static final int TICK_NS = 1 << 20;
    private static final int SPOKES = 512;

    /** Started timers. */
    @Param({"64", "4096"})
    private int timerCount;

    private final TimerWheel wheel = new TimerWheel(0, deadlineNs -> {
    });
    private final DeadlineTimerWheel agrona = new DeadlineTimerWheel(TimeUnit.NANOSECONDS, 0, TICK_NS, SPOKES);
    private final Long2ObjectHashMap<DeadlineTimer> timersById = new Long2ObjectHashMap<>();
    private DeadlineTimer[] timers;
    private long[] ids;
    private long nowNs;
    private int next;
    private long expiredCount;

    /** Starts the timers. */
    @Setup
    public void start() {
        timers = new DeadlineTimer[timerCount];
        ids = new long[timerCount];
        for (int i = 0; i < timerCount; i++) {
            timers[i] = new DeadlineTimer(ns -> expiredCount++);
            wheel.start(timers[i], TIMEOUT_NS);
            ids[i] = agrona.scheduleTimer(TIMEOUT_NS);
            timersById.put(ids[i], timers[i]);
        }
    }

    private int advance() {
        next = next + 1 & timerCount - 1;
        nowNs += INTERVAL_NS;
        return next;
    }

    private long checked() {
        if (expiredCount != 0) {
            throw new IllegalStateException(expiredCount + " timers expired");
        }
        return nowNs;
    }

    /** Timers that are linked into the wheel. */
    @Benchmark
    public long linkedTimers() {
        int i = advance();
        wheel.stop(timers[i]);
        wheel.start(timers[i], nowNs + TIMEOUT_NS);
        if ((i & POLL_MASK) == 0) {
            wheel.poll(nowNs);
        }
        return checked();
    }

    /** The baseline: timers by number. */
    @Benchmark
    public long baselineAgrona() {
        int i = advance();
        agrona.cancelTimer(ids[i]);
        timersById.remove(ids[i]);
        ids[i] = agrona.scheduleTimer(nowNs + TIMEOUT_NS);
        timersById.put(ids[i], timers[i]);
        if ((i & POLL_MASK) == 0) {
            while (agrona.currentTickTime() <= nowNs) {
                agrona.poll(nowNs, this::onExpiry, Integer.MAX_VALUE);
            }
        }
        return checked();
    }

    private boolean onExpiry(TimeUnit unit, long now, long id) {
        expiredCount += timersById.remove(id) == null ? 0 : 1;
        return true;
    }
}
