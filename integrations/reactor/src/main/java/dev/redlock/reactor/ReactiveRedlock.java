package dev.redlock.reactor;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.ResourceKey;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.LockNotAcquiredException;
import java.util.Objects;
import java.util.function.Function;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Locks for Project Reactor. A publisher takes no lock before it is subscribed to and requested from, and each
 * subscription takes its own. It waits up to {@link AcquireOptions#waitUpTo} or else the client's default wait, without
 * blocking a thread.
 *
 * <p>All publishers signal a {@link LockNotAcquiredException} if the lock was not acquired, and an
 * {@link IllegalArgumentException} if the name is empty or too long, or the ttl out of range.
 *
 * <p>Signals are emitted by {@link dev.redlock.RedlockContext#callbackExecutor}, or by the requesting thread if the
 * lock is acquired already. Operators may block there, unless that executor is the event loop.
 *
 * @threading any thread
 */
public final class ReactiveRedlock {

    private final Redlock redlock;

    /**
     * Takes the locks of a client.
     *
     * @param redlock the caller closes it
     */
    public ReactiveRedlock(Redlock redlock) {
        this.redlock = Objects.requireNonNull(redlock, "redlock is null");
    }

    /**
     * The publisher's function ran without its lock at the end: the lease ended before its publisher did.
     *
     * @threading immutable
     */
    public static final class LeaseLostException extends IllegalStateException {

        private static final long serialVersionUID = 1;

        private final LeaseState state;

        LeaseLostException(String resource, LeaseState state) {
            super("the lease of \"" + resource + "\" was " + state + " before its publisher ended: "
                    + (state == LeaseState.EXPIRED
                            ? "use autoExtend(), or a ttl longer than the work"
                            : "another holder may have the lock now; start the work again"));
            this.state = state;
        }

        /** @return {@link LeaseState#EXPIRED} or {@link LeaseState#LOST} */
        public LeaseState state() {
            return state;
        }
    }

    // ---- with a task ------------------------------------------------------------------------------------------------

    /**
     * Subscribes to the function's publisher while the lock is held. The lock is released once, when that publisher
     * completes or fails, the subscriber cancels, or the function throws or returns null.
     *
     * <p>The value, the completion and an error come after the release: a quorum has answered, or one node timeout has
     * passed. A cancellation starts the release and does not wait for it.
     *
     * <p>If the lease is lost, the function's publisher is cancelled, and the subscriber gets a
     * {@link LeaseLostException}, also if the release at the end finds the lock lost. So a completion means that the
     * lease was held to the end, unless too few nodes answer the release, or the function or the close of the client
     * released it earlier, which stops no publisher.
     *
     * @param options  their listener is not called: this method needs its place
     * @param function returns the work; called once for each subscription that has the lock
     * @param <T>      the type of the value
     */
    public <T> Mono<T> withLock(String resource, AcquireOptions options,
            Function<? super Lease, ? extends Mono<? extends T>> function) {
        return this.<T>withLockMany(resource, options, function).singleOrEmpty();
    }

    /** Subscribes to the function's publisher as {@link #withLock(String, AcquireOptions, Function) withLock} does. */
    public <T> Mono<T> withLock(ResourceKey key, AcquireOptions options,
            Function<? super Lease, ? extends Mono<? extends T>> function) {
        return this.<T>withLockMany(key, options, function).singleOrEmpty();
    }

    /**
     * Subscribes to the function's publisher as {@link #withLock(String, AcquireOptions, Function) withLock} does. Its
     * elements pass while the lock is held, as many as the subscriber requests.
     */
    public <T> Flux<T> withLockMany(String resource, AcquireOptions options,
            Function<? super Lease, ? extends Publisher<? extends T>> function) {
        requireNonNull(resource, options);
        Objects.requireNonNull(function, "function is null");
        return LockedTask.publisher(own -> redlock.acquireAsync(resource, own), options, function);
    }

    /** As {@link #withLockMany(String, AcquireOptions, Function)}, with a key of {@link Redlock#key}. */
    public <T> Flux<T> withLockMany(ResourceKey key, AcquireOptions options,
            Function<? super Lease, ? extends Publisher<? extends T>> function) {
        requireNonNull(key, options);
        Objects.requireNonNull(function, "function is null");
        return LockedTask.publisher(own -> redlock.acquireAsync(key, own), options, function);
    }

    // ---- with a lease -----------------------------------------------------------------------------------------------

    /**
     * Acquires a lock. The subscriber owns the lease and releases it; prefer
     * {@link #withLock(String, AcquireOptions, Function) withLock}, which does.
     *
     * <p>A cancellation ends the wait, and releases a lock that is granted afterwards. Operators below can drop a lease
     * that they got: {@code publishOn} and {@code timeout} do so if they are cancelled, or time out, at that moment.
     *
     * @return a publisher of the held lease
     */
    public Mono<Lease> acquire(String resource, AcquireOptions options) {
        requireNonNull(resource, options);
        return AcquireMono.of(() -> redlock.acquireAsync(resource, options));
    }

    /** Acquires a lock as {@link #acquire(String, AcquireOptions)} does; the key comes from {@link Redlock#key}. */
    public Mono<Lease> acquire(ResourceKey key, AcquireOptions options) {
        requireNonNull(key, options);
        return AcquireMono.of(() -> redlock.acquireAsync(key, options));
    }

    private static void requireNonNull(Object name, AcquireOptions options) {
        Objects.requireNonNull(name, "name of the lock is null");
        Objects.requireNonNull(options, "options are null");
    }
}
