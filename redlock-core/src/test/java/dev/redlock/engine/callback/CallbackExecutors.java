package dev.redlock.engine.callback;

import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;

/** Executors with faults. */
public final class CallbackExecutors {

    private CallbackExecutors() {
    }

    /** Returns one with an executor of the user whose extra threads start after a number of errors. */
    public static CallbackExecutor withLateExtraThreads(Executor chosen, int errorCount) {
        AtomicInteger leftCount = new AtomicInteger(errorCount);
        return new CallbackExecutor(chosen, false, new CallbackThreads("callback"), new CallbackThreads("listener"),
                new CallbackThreads(worker -> {
                    if (leftCount.getAndDecrement() > 0) {
                        throw new OutOfMemoryError("thrown by a test");
                    }
                    return new Thread(worker);
                }));
    }

    /** Returns one for given event loops whose extra threads cannot start. */
    public static CallbackExecutor withoutExtraThreads() {
        return new CallbackExecutor(null, true, new CallbackThreads("callback"), new CallbackThreads("listener"),
                new CallbackThreads(worker -> {
                    throw new OutOfMemoryError("thrown by a test");
                }));
    }
}
