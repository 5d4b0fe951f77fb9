package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.RunOutcome;
import dev.redlock.engine.callback.DependentStage;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * The result of an asynchronous task under a lock. It owns the lease: no caller can drop it. A caller that gives the
 * result up cancels the acquisition; a task that has started runs on with its lock, which is released at its end.
 *
 * @param <T> the type of the task's value
 * @threading any thread
 */
public final class RunFuture<T> extends DependentStage<RunOutcome<T>> {

    private final CompletableFuture<AcquireOutcome> acquisition;

    /** Starts the task when its lock is acquired. */
    public RunFuture(CompletionStage<AcquireOutcome> acquisition,
            Function<? super Lease, ? extends CompletionStage<T>> task) {
        super(null);
        this.acquisition = acquisition.toCompletableFuture();
        acquisition.whenComplete((outcome, thrown) -> {
            if (thrown != null) {
                tryFail(thrown);
            } else if (outcome.isAcquired()) {
                run(task, outcome);
            } else {
                tryComplete(new RunOutcome<>(outcome, null));
            }
        });
    }

    /** Without effect once the task has started. */
    @Override
    protected void onGivenUp() {
        acquisition.cancel(false);
    }

    private void run(Function<? super Lease, ? extends CompletionStage<T>> task, AcquireOutcome outcome) {
        LeaseHandle lease = (LeaseHandle) outcome.lease();
        short use = lease.useCount();
        // Ends once, whatever the task's own stage does.
        CompletableFuture<T> ended = new CompletableFuture<>();
        ended.whenComplete((value, thrown) -> release(lease, use, () -> {
            if (thrown == null) {
                tryComplete(new RunOutcome<>(outcome, value));
            } else {
                tryFail(thrown);
            }
        }));
        try {
            Objects.requireNonNull(task.apply(lease), "the task returned null instead of a stage")
                    .whenComplete((value, thrown) -> {
                        if (thrown == null) {
                            ended.complete(value);
                        } else {
                            ended.completeExceptionally(thrown);
                        }
                    });
        } catch (Throwable e) {
            ended.completeExceptionally(e);
        }
    }

    private static void release(LeaseHandle lease, short use, Runnable next) {
        try {
            if (lease.useCount() == use) {
                lease.release((released, how) -> lease.client.callbacks.execute(next));
                return;
            }
        } catch (RuntimeException | Error e) {
            // The task itself is releasing the lease, or uses it for another lock.
        }
        next.run();
    }
}
