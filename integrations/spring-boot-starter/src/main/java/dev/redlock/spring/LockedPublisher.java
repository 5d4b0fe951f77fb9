package dev.redlock.spring;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import java.util.concurrent.CompletableFuture;
import org.reactivestreams.Publisher;
import org.springframework.core.ReactiveAdapter;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Signal;

/**
 * A subscription to a publisher: it takes a lock, runs the method, and holds the lock until the publisher of the method
 * completes, fails or is cancelled. Only applications with Reactor load this class.
 *
 * @threading any thread
 */
final class LockedPublisher implements LeaseListener {

    private final LockedCall call;
    private final ReactiveAdapter adapter;
    private final CompletableFuture<Object> loss = new CompletableFuture<>();
    private final CompletableFuture<AcquireOutcome> acquisition;
    private Lease held;
    private boolean isEnded;

    private LockedPublisher(LockedCall call, ReactiveAdapter adapter) {
        this.call = call;
        this.adapter = adapter;
        this.acquisition = call.acquireAsync(this);
    }

    /** @param adapter of the type of the method; null for a suspend function, whose publisher Spring adapts */
    static Object of(LockedCall call, ReactiveAdapter adapter) {
        Publisher<?> publisher = call.locked().result() == LockedResult.FLUX
                ? Flux.defer(() -> new LockedPublisher(call, adapter).flux())
                : Mono.defer(() -> new LockedPublisher(call, adapter).mono());
        return adapter == null ? publisher : adapter.fromPublisher(publisher);
    }

    private Flux<Object> flux() {
        return outcome().flatMapMany(outcome -> {
            if (!outcome.isAcquired()) {
                return refused(outcome);
            }
            Lease lease = outcome.lease();
            return !take(lease)
                    ? Mono.empty()
                    : Flux.from(running(lease))
                            .takeUntilOther(lost())
                            .onErrorMap(thrown -> call.failure(thrown, end()))
                            .concatWith(Mono.defer(this::endedWithoutLoss));
        }).doFinally(signal -> end());
    }

    private Mono<Object> mono() {
        return outcome().flatMap(outcome -> {
            if (!outcome.isAcquired()) {
                return Mono.from(refused(outcome));
            }
            Lease lease = outcome.lease();
            return !take(lease)
                    ? Mono.empty()
                    : Mono.from(running(lease))
                            .takeUntilOther(lost())
                            .materialize()
                            .map(this::endedBy)
                            .<Object>dematerialize();
        }).doFinally(signal -> end());
    }

    private Mono<AcquireOutcome> outcome() {
        return Mono.fromFuture(acquisition, true);
    }

    /**
     * Completes when the lease is lost, if that stops the method. A failure would end the result of takeUntilOther, but
     * not cancel its source; {@link #end} finds the loss.
     */
    private Mono<Object> lost() {
        return call.locked().onLoss() == Locked.OnLoss.INTERRUPT ? Mono.fromFuture(loss, true) : Mono.never();
    }

    /** Takes the lease. A subscription that was cancelled meanwhile releases it, and does not run the method. */
    private boolean take(Lease lease) {
        synchronized (this) {
            if (!isEnded) {
                held = lease;
                return true;
            }
        }
        call.release(lease);
        return false;
    }

    private synchronized boolean isEnded() {
        return isEnded;
    }

    private Publisher<Object> running(Lease lease) {
        try {
            Object result = call.proceed(lease);
            if (result == null) {
                throw new IllegalStateException(call.locked().where() + " returned null instead of a publisher");
            }
            return publisher(result);
        } catch (Throwable e) {
            return Mono.error(e);
        }
    }

    private Publisher<Object> refused(AcquireOutcome outcome) {
        if (isEnded()) {
            return Mono.empty();
        }
        try {
            Object result = call.notAcquired(outcome);
            return result == null ? Mono.empty() : publisher(result);
        } catch (Throwable e) {
            return Mono.error(e);
        }
    }

    @SuppressWarnings("unchecked") // of the values of the method
    private Publisher<Object> publisher(Object result) {
        return (Publisher<Object>) (adapter == null ? result : adapter.toPublisher(result));
    }

    private Signal<Object> endedBy(Signal<Object> signal) {
        LeaseLostException lost = end();
        if (signal.isOnError()) {
            return Signal.error(call.failure(signal.getThrowable(), lost));
        }
        return lost == null ? signal : Signal.error(lost);
    }

    private Mono<Object> endedWithoutLoss() {
        LeaseLostException lost = end();
        return lost == null ? Mono.empty() : Mono.error(lost);
    }

    /** Releases the lock, or ends the wait for it; returns the loss of the lease the first time. */
    private LeaseLostException end() {
        Lease released;
        synchronized (this) {
            if (isEnded) {
                return null;
            }
            isEnded = true;
            released = held;
        }
        if (released == null) {
            acquisition.cancel(false);
            return null;
        }
        LeaseLostException lost = call.locked().lossOf(released);
        call.release(released);
        return lost;
    }

    @Override
    public void onLost(Lease lease, LeaseState state) {
        loss.complete(null);
    }
}
