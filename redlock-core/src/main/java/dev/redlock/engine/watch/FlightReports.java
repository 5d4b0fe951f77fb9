package dev.redlock.engine.watch;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.engine.callback.CallbackExecutor;
import dev.redlock.engine.callback.UserCallbacks;
import dev.redlock.engine.key.LockKey;
import dev.redlock.telemetry.Log;
import dev.redlock.time.DeadlineTimer;
import dev.redlock.time.TimerWheel;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Reports lost leases and slow acquisitions with the events of their locks, at most one of each kind each second. Lost
 * leases that are left out follow at the end of the second, in one line with the last of them. A report is a task of
 * its own, because its receiver may re-enter the client.
 *
 * @threading event-loop-confined
 */
final class FlightReports {

    static final long PERIOD_NS = 1_000 * NS_PER_MS;

    private final Executor loop;
    private final Supplier<FlightRecord> recorder;
    private final Consumer<String> listener;
    private final CallbackExecutor callbacks;
    private final Limit slowAcquires = new Limit();
    private final Limit losses = new Limit();
    private final DeadlineTimer leftOutTimer = new DeadlineTimer(nowNs -> reportLeftOut());
    /** Set before the client connects. */
    private TimerWheel timers;
    private LockKey lastLeftOutKey;
    private LossCause lastLeftOutCause;

    /**
     * One report each second.
     *
     * @threading event-loop-confined
     */
    private static final class Limit {
        private boolean hasReported;
        private long reportedNs;
        private long leftOutCount;

        boolean isDue(long nowNs) {
            if (hasReported && nowNs - reportedNs < PERIOD_NS) {
                leftOutCount++;
                return false;
            }
            hasReported = true;
            reportedNs = nowNs;
            return true;
        }

        long takeLeftOut() {
            long count = leftOutCount;
            leftOutCount = 0;
            return count;
        }
    }

    /** Without a listener in the options, the reports are written to the log. */
    FlightReports(Executor loop, Supplier<FlightRecord> recorder, TelemetrySetup setup) {
        this.loop = loop;
        this.recorder = recorder;
        this.listener = setup.options().flightRecordListener();
        this.callbacks = setup.callbacks();
    }

    void useTimers(TimerWheel newTimers) {
        timers = newTimers;
    }

    void onSlowAcquire(LockKey key, AcquireOutcome.Kind outcome, long durationNs, long nowNs) {
        if (slowAcquires.isDue(nowNs)) {
            report(key, 0, durationNs, outcome, slowAcquires.takeLeftOut());
        }
    }

    void onLost(LockKey key, int number, LossCause cause, long nowNs) {
        if (losses.isDue(nowNs)) {
            report(key, number, 0, cause, losses.takeLeftOut());
            return;
        }
        lastLeftOutKey = key;
        lastLeftOutCause = cause;
        try {
            if (!leftOutTimer.isStarted()) {
                timers.start(leftOutTimer, losses.reportedNs + PERIOD_NS);
            }
        } catch (RuntimeException | Error e) {
            // As in report. The timer fires with the next one.
            RareEvents.drop(e);
        }
    }

    /** The last loss may be the only sign of a key. */
    private void reportLeftOut() {
        long count = losses.takeLeftOut();
        if (count > 0) {
            pass("flight record: " + count + " more leases were lost within a second; the last one is of "
                    + lastLeftOutKey + ": " + lastLeftOutCause.text() + '\n');
        }
        lastLeftOutKey = null;
    }

    /** A report is lost for want of memory: nothing is thrown, because an event may come in a change of state. */
    private void report(LockKey key, int number, long durationNs, Enum<?> detail, long leftOut) {
        try {
            loop.execute(() -> deliver(key, number, durationNs, detail, leftOut));
        } catch (RuntimeException | Error e) {
            RareEvents.drop(e);
        }
    }

    private void deliver(LockKey key, int number, long durationNs, Enum<?> detail, long leftOut) {
        StringBuilder text = new StringBuilder("flight record of ").append(key).append(": ");
        if (detail instanceof LossCause cause) {
            text.append("a lease is lost, ").append(cause.text());
        } else {
            text.append("an acquisition took " + durationNs / NS_PER_MS + " ms and ended as " + detail);
        }
        if (leftOut > 0) {
            text.append("; ").append(leftOut).append(" reports were left out before this one");
        }
        recorder.get().appendReport(text.append('\n'), key, number);
        pass(text.toString());
    }

    private void pass(String report) {
        if (listener == null) {
            Log.log(System.Logger.Level.WARNING, "{0}", report);
            return;
        }
        callbacks.executeInOrder(this, () -> notifyListener(report));
    }

    private void notifyListener(String report) {
        try {
            listener.accept(report);
        } catch (Throwable e) {
            UserCallbacks.logThrown("flight record listener", e);
        }
    }
}
