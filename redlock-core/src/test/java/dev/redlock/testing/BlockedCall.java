package dev.redlock.testing;

import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A call in another thread, which may block while the thread of the test runs the event loop. */
public final class BlockedCall<T> {

    private final FutureTask<T> task;
    private final Thread thread;

    public BlockedCall(Callable<T> call) {
        task = new FutureTask<>(call);
        thread = new Thread(task, "caller");
        thread.setDaemon(true);
        thread.start();
    }

    public Thread thread() {
        return thread;
    }

    public boolean isDone() {
        return task.isDone();
    }

    /** Waits until the thread is blocked, without a time limit or with one. */
    public BlockedCall<T> awaitBlocked(Thread.State state) {
        Await.until(() -> "blocked, it is " + thread.getState(), () -> thread.getState() == state);
        assertFalse(task.isDone(), "the call has not returned");
        return this;
    }

    public BlockedCall<T> awaitBlocked() {
        return awaitBlocked(Thread.State.WAITING);
    }

    public T result() throws InterruptedException {
        try {
            return task.get(60, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw new AssertionError(e.getCause());
        } catch (TimeoutException e) {
            throw new AssertionError("the caller was not woken", e);
        }
    }

    public void awaitEnd() throws InterruptedException {
        thread.join(10_000);
        assertFalse(thread.isAlive(), "every call has returned");
    }
}
