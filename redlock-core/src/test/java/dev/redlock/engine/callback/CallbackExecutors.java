package dev.redlock.engine.callback;

/** Executors with faults. */
public final class CallbackExecutors {

    private CallbackExecutors() {
    }

    /** Returns one for given event loops whose extra threads cannot start. */
    public static CallbackExecutor withoutExtraThreads() {
        return new CallbackExecutor(null, true, new CallbackThreads("callback"), new CallbackThreads("listener"),
                new CallbackThreads(worker -> {
                    throw new OutOfMemoryError("thrown by a test");
                }));
    }
}
