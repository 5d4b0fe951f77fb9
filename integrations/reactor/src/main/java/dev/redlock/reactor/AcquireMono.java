package dev.redlock.reactor;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LockNotAcquiredException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/**
 * Acquires a lock for each subscriber, when it requests. {@code Mono.create} would drop a lease that comes together
 * with a cancellation; here either the subscriber gets the lease, or it is released.
 *
 * @threading immutable
 */
final class AcquireMono extends Mono<Lease> {

    private final Supplier<CompletionStage<AcquireOutcome>> start;
    private final CompletableFuture<Void> isDue;

    private AcquireMono(Supplier<CompletionStage<AcquireOutcome>> start, CompletableFuture<Void> isDue) {
        this.start = start;
        this.isDue = isDue;
    }

    static Mono<Lease> of(Supplier<CompletionStage<AcquireOutcome>> start) {
        return of(start, CompletableFuture.completedFuture(null));
    }

    /** @param isDue completed when the acquisition may start; a request before that waits for it */
    static Mono<Lease> of(Supplier<CompletionStage<AcquireOutcome>> start, CompletableFuture<Void> isDue) {
        return onAssembly(new AcquireMono(start, isDue));
    }

    @Override
    public void subscribe(CoreSubscriber<? super Lease> actual) {
        actual.onSubscribe(new Acquisition(actual, start, isDue));
    }

    /**
     * The states of a subscription.
     *
     * @threading immutable
     */
    private enum State {
        /** The subscriber has requested nothing, or its request is not due. */
        IDLE,
        /** The acquisition is in progress. */
        ACQUIRING,
        /** The subscriber gets the outcome, and owns its lease. */
        DELIVERED,
        /** The subscriber has cancelled: it gets nothing. */
        CANCELLED
    }

    /**
     * The acquisition of one subscriber.
     *
     * @threading any thread
     */
    private static final class Acquisition extends AtomicReference<State> implements Subscription {

        private static final long serialVersionUID = 1;

        private final transient CoreSubscriber<? super Lease> actual;
        private final transient Supplier<CompletionStage<AcquireOutcome>> start;
        private final transient CompletableFuture<Void> isDue;
        private transient volatile CompletableFuture<AcquireOutcome> stage;

        Acquisition(CoreSubscriber<? super Lease> actual, Supplier<CompletionStage<AcquireOutcome>> start,
                CompletableFuture<Void> isDue) {
            super(State.IDLE);
            this.actual = actual;
            this.start = start;
            this.isDue = isDue;
        }

        @Override
        public void request(long n) {
            if (Operators.validate(n)) {
                isDue.thenRun(this::acquire);
            }
        }

        private void acquire() {
            if (!compareAndSet(State.IDLE, State.ACQUIRING)) {
                return;
            }
            CompletableFuture<AcquireOutcome> started;
            try {
                started = start.get().toCompletableFuture();
            } catch (RuntimeException | Error e) {
                fail(e);
                return;
            }
            // Stored before the state is read: a cancellation finds the stage, or this finds the cancellation.
            stage = started;
            if (get() == State.CANCELLED) {
                started.cancel(false);
            }
            started.whenComplete(this::onEnded);
        }

        private void onEnded(AcquireOutcome outcome, Throwable thrown) {
            if (thrown != null) {
                fail(thrown);
            } else if (compareAndSet(State.ACQUIRING, State.DELIVERED)) {
                deliver(outcome);
            } else if (outcome.isAcquired()) {
                outcome.lease().close();
            }
        }

        private void deliver(AcquireOutcome outcome) {
            Lease lease;
            try {
                lease = outcome.lease();
            } catch (LockNotAcquiredException e) {
                actual.onError(e);
                return;
            }
            actual.onNext(lease);
            actual.onComplete();
        }

        private void fail(Throwable thrown) {
            if (compareAndSet(State.ACQUIRING, State.DELIVERED)) {
                actual.onError(thrown);
            }
        }

        @Override
        public void cancel() {
            if (compareAndSet(State.IDLE, State.CANCELLED) || !compareAndSet(State.ACQUIRING, State.CANCELLED)) {
                return;
            }
            CompletableFuture<AcquireOutcome> started = stage;
            if (started != null) {
                started.cancel(false);
            }
        }
    }
}
