package dev.redlock.spring;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;

/**
 * A call that returns a stage: the lock is held until the stage of the method has completed. If the caller, or the loss
 * of the lease, completes the result before, this ends the wait for the lock, or cancels the stage of the method. The
 * lock stays if that cannot be cancelled.
 *
 * @threading any thread
 */
final class LockedStage implements LeaseListener {

    private final LockedCall call;
    private final CompletableFuture<Object> result = new CompletableFuture<>();
    private CompletionStage<?> running;

    private LockedStage(LockedCall call) {
        this.call = call;
    }

    static CompletableFuture<Object> run(LockedCall call) {
        LockedStage stage = new LockedStage(call);
        CompletableFuture<AcquireOutcome> acquisition = call.acquireAsync(stage);
        stage.result.whenComplete((value, thrown) -> {
            acquisition.cancel(false);
            stage.giveUp();
        });
        acquisition.whenComplete(stage::onOutcome);
        return stage.result;
    }

    private void onOutcome(AcquireOutcome outcome, Throwable thrown) {
        if (thrown != null) {
            result.completeExceptionally(thrown);
        } else if (outcome.isAcquired()) {
            onAcquired(outcome.lease());
        } else {
            onRefused(outcome);
        }
    }

    private void onRefused(AcquireOutcome outcome) {
        if (result.isDone()) {
            return;
        }
        try {
            Object value = call.notAcquired(outcome);
            if (value == null) {
                result.complete(null);
            } else {
                follow((CompletionStage<?>) value, this::complete);
            }
        } catch (Throwable e) {
            result.completeExceptionally(e);
        }
    }

    private void onAcquired(Lease lease) {
        if (result.isDone()) {
            call.release(lease);
            return;
        }
        try {
            CompletionStage<?> stage = (CompletionStage<?>) call.proceed(lease);
            if (stage == null) {
                throw new IllegalStateException(call.locked().where() + " returned null instead of a stage");
            }
            follow(stage, (value, thrown) -> end(lease, value, thrown));
        } catch (Throwable e) {
            end(lease, null, e);
        }
    }

    private void follow(CompletionStage<?> stage, BiConsumer<Object, Throwable> end) {
        synchronized (this) {
            running = stage;
        }
        stage.whenComplete(end);
        if (result.isDone()) {
            giveUp();
        }
    }

    private void end(Lease lease, Object value, Throwable thrown) {
        LeaseLostException loss = call.locked().lossOf(lease);
        call.release(lease);
        if (thrown != null) {
            complete(null, call.failure(thrown, loss));
        } else {
            complete(value, loss);
        }
    }

    private void complete(Object value, Throwable thrown) {
        if (thrown == null) {
            result.complete(value);
        } else {
            result.completeExceptionally(thrown);
        }
    }

    @Override
    public void onLost(Lease lease, LeaseState state) {
        result.completeExceptionally(call.locked().lossOf(lease, state, null));
    }

    private void giveUp() {
        CompletionStage<?> cancelled;
        synchronized (this) {
            cancelled = running;
            running = null;
        }
        if (cancelled != null) {
            try {
                cancelled.toCompletableFuture().cancel(true);
            } catch (UnsupportedOperationException e) {
                // The lock stays until this stage has completed.
            }
        }
    }
}
