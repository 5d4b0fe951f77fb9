package dev.redlock.engine.watch;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.engine.callback.CallbackExecutor;
import dev.redlock.engine.callback.UserCallbacks;
import dev.redlock.engine.key.LockKey;
import dev.redlock.telemetry.Log;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Reports lost leases and slow acquisitions with the events of their locks, at most one each second. A report is a task
 * of its own, because its receiver may re-enter the client.
 *
 * @threading event-loop-confined
 */
final class FlightReports {

    static final long PERIOD_NS = 1_000 * NS_PER_MS;

    private final Executor loop;
    private final Supplier<FlightRecord> recorder;
    private final Consumer<String> listener;
    private final CallbackExecutor callbacks;
    private boolean hasReported;
    private long reportedNs;
    private long leftOutCount;

    /** Without a listener in the options, the reports are written to the log. */
    FlightReports(Executor loop, Supplier<FlightRecord> recorder, TelemetrySetup setup) {
        this.loop = loop;
        this.recorder = recorder;
        this.listener = setup.options().flightRecordListener();
        this.callbacks = setup.callbacks();
    }

    void onSlowAcquire(LockKey key, AcquireOutcome.Kind outcome, long durationNs, long nowNs) {
        if (isDue(nowNs)) {
            report(key, 0, durationNs, outcome);
        }
    }

    void onLost(LockKey key, int number, LossCause cause, long nowNs) {
        if (isDue(nowNs)) {
            report(key, number, 0, cause);
        }
    }

    private boolean isDue(long nowNs) {
        if (hasReported && nowNs - reportedNs < PERIOD_NS) {
            leftOutCount++;
            return false;
        }
        hasReported = true;
        reportedNs = nowNs;
        return true;
    }

    /** A report is lost for want of memory: nothing is thrown, because an event may come in a change of state. */
    private void report(LockKey key, int number, long durationNs, Enum<?> detail) {
        long leftOut = leftOutCount;
        leftOutCount = 0;
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
        if (listener == null) {
            Log.log(System.Logger.Level.WARNING, "{0}", text.toString());
            return;
        }
        callbacks.executeInOrder(this, () -> notifyListener(text.toString()));
    }

    private void notifyListener(String report) {
        try {
            listener.accept(report);
        } catch (Throwable e) {
            UserCallbacks.logThrown("flight record listener", e);
        }
    }
}
