package dev.redlock.reactor;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/**
 * The lock of one subscription: it ends the publisher of the caller when the lease is lost.
 *
 * @threading any thread
 */
final class LockedTask implements LeaseListener {

    private final Sinks.Empty<Void> loss = Sinks.empty();
    /** Set before the publisher of the caller exists. */
    private Lease lease;

    private LockedTask() {
    }

    /** Takes a lock for each subscriber, and releases it at the end of the publisher. */
    static <T> Flux<T> publisher(Function<AcquireOptions, CompletionStage<AcquireOutcome>> acquire,
            AcquireOptions options, Function<? super Lease, ? extends Publisher<? extends T>> function) {
        Mono<LockedTask> acquired = Mono.defer(() -> {
            LockedTask task = new LockedTask();
            return AcquireMono.of(() -> acquire.apply(options.listener(task))).map(task::with);
        });
        return Flux.usingWhen(acquired, task -> task.run(function), LockedTask::release,
                (task, thrown) -> task.release(), LockedTask::release);
    }

    private LockedTask with(Lease acquired) {
        lease = acquired;
        return this;
    }

    /** {@code takeUntilOther} cancels the publisher when the other one completes, but not when that fails. */
    private <T> Flux<T> run(Function<? super Lease, ? extends Publisher<? extends T>> function) {
        Publisher<? extends T> publisher = Objects.requireNonNull(function.apply(lease),
                "the function returned null instead of a publisher");
        return Flux.<T>from(publisher).takeUntilOther(loss.asMono()).concatWith(Flux.defer(this::requireHeld));
    }

    /** A publisher that ends together with its lease may be faster than the listener. */
    private <T> Flux<T> requireHeld() {
        LeaseState state = lease.state();
        boolean isLost = state == LeaseState.EXPIRED || state == LeaseState.LOST;
        return isLost ? Flux.error(new ReactiveRedlock.LeaseLostException(lease.resource(), state)) : Flux.empty();
    }

    @Override
    public void onLost(Lease lost, LeaseState state) {
        loss.tryEmitEmpty();
    }

    /** Completes when a quorum has answered. The function may be releasing the lease itself: then at once. */
    private Mono<ReleaseOutcome> release() {
        return Mono.fromCompletionStage(lease::releaseAsync).onErrorComplete(IllegalStateException.class);
    }
}
