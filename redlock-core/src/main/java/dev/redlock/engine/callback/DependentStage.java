package dev.redlock.engine.callback;

import java.lang.ref.WeakReference;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * A stage that depends on the stage of an acquisition, directly or through others. A caller gives a stage up if it
 * completes, cancels or times out the stage before the stage's function has. A stage whose dependent stages are all
 * given up is given up too.
 *
 * @param <T> the type of its value
 * @threading any thread
 */
public class DependentStage<T> extends CompletableFuture<T> {

    /** Weak, because an application may derive stages from stages without an end. Null for an acquisition. */
    private final WeakReference<DependentStage<?>> source;
    /** Dependent stages that are not given up. */
    private final AtomicInteger wantedCount = new AtomicInteger();
    private final AtomicBoolean isGivenUp = new AtomicBoolean();

    /** A stage that depends on another one; on null if it is that of an acquisition. */
    protected DependentStage(DependentStage<?> source) {
        this.source = source == null ? null : new WeakReference<>(source);
    }

    /** The caller, or all callers of dependent stages, have given this stage up. Called once. */
    protected void onGivenUp() {
        DependentStage<?> before = source.get();
        if (before != null && before.wantedCount.getAndDecrement() == 1) {
            before.giveUp();
        }
    }

    /** Nobody needs the value any more. */
    final void giveUp() {
        if (isGivenUp.compareAndSet(false, true)) {
            onGivenUp();
        }
    }

    // ---- completed by a caller --------------------------------------------------------------------------------------

    protected final boolean tryComplete(T value) {
        return super.complete(value);
    }

    protected final boolean tryFail(Throwable thrown) {
        return super.completeExceptionally(thrown);
    }

    @Override
    public boolean complete(T value) {
        return giveUpIf(tryComplete(value));
    }

    @Override
    public boolean completeExceptionally(Throwable thrown) {
        return giveUpIf(tryFail(thrown));
    }

    private boolean giveUpIf(boolean isCompletedByCaller) {
        if (isCompletedByCaller) {
            giveUp();
        }
        return isCompletedByCaller;
    }

    @Override
    public final boolean cancel(boolean mayInterruptIfRunning) {
        return completeExceptionally(new CancellationException()) || isCancelled();
    }

    /** Does what the superclass does, whose timer is a dependent stage that nobody gives up. */
    @Override
    public CompletableFuture<T> orTimeout(long timeout, TimeUnit unit) {
        CompletableFuture<Void> timer = new CompletableFuture<Void>().orTimeout(timeout, unit);
        return onTimeout(timer, thrown -> completeExceptionally(thrown));
    }

    @Override
    public CompletableFuture<T> completeOnTimeout(T value, long timeout, TimeUnit unit) {
        CompletableFuture<Void> timer = new CompletableFuture<Void>().orTimeout(timeout, unit);
        return onTimeout(timer, thrown -> complete(value));
    }

    private CompletableFuture<T> onTimeout(CompletableFuture<Void> timer,
            Consumer<Throwable> action) {
        timer.whenComplete((none, thrown) -> {
            if (thrown != null) {
                action.accept(thrown);
            }
        });
        super.minimalCompletionStage().whenComplete((value, thrown) -> timer.complete(null));
        return this;
    }

    // ---- dependent stages -------------------------------------------------------------------------------------------

    @Override
    public <U> CompletableFuture<U> newIncompleteFuture() {
        wantedCount.getAndIncrement();
        return new DependentStage<>(this);
    }

    /** Nobody can give this stage up: no method of it completes it. */
    @Override
    public CompletionStage<T> minimalCompletionStage() {
        wantedCount.getAndIncrement();
        return super.minimalCompletionStage();
    }

    /** To give up the copy gives up nothing else: a copy exists to protect its source. */
    @Override
    public CompletableFuture<T> copy() {
        return minimalCompletionStage().toCompletableFuture();
    }
}
