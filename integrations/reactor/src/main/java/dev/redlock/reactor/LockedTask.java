package dev.redlock.reactor;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
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
        return Flux.defer(() -> {
            LockedTask task = new LockedTask();
            CompletableFuture<Void> isRequested = new CompletableFuture<>();
            Mono<LockedTask> acquired = AcquireMono.of(() -> acquire.apply(options.listener(task)), isRequested)
                    .map(task::with);
            // A release at the completion is a part of the task: usingWhen would wrap its failure. And it requests its
            // resource when it is subscribed to.
            return Flux.<T, LockedTask>usingWhen(acquired, held -> held.run(function), held -> Mono.empty(),
                    (held, thrown) -> held.release(), LockedTask::release)
                    .doOnRequest(count -> isRequested.complete(null));
        });
    }

    private LockedTask with(Lease acquired) {
        lease = acquired;
        return this;
    }

    /** {@code takeUntilOther} cancels the publisher when the other one completes, but not when that fails. */
    private <T> Flux<T> run(Function<? super Lease, ? extends Publisher<? extends T>> function) {
        Publisher<? extends T> publisher = Objects.requireNonNull(function.apply(lease),
                "the function returned null instead of a publisher");
        return Flux.<T>from(publisher).takeUntilOther(loss.asMono()).concatWith(Flux.defer(this::releaseHeld));
    }

    /**
     * A publisher that ends together with its lease may be faster than the listener. If nodes have lost the lock, the
     * client hears of it with the release.
     */
    private <T> Flux<T> releaseHeld() {
        if (isLost()) {
            return lost();
        }
        return release().flatMapMany(outcome -> outcome == ReleaseOutcome.EXPIRED ? lost() : Flux.empty());
    }

    private boolean isLost() {
        LeaseState state = lease.state();
        return state == LeaseState.EXPIRED || state == LeaseState.LOST;
    }

    private <T> Flux<T> lost() {
        LeaseState state = isLost() ? lease.state() : LeaseState.LOST;
        return Flux.error(new ReactiveRedlock.LeaseLostException(lease.resource(), state));
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
