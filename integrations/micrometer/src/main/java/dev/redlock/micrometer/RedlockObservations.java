package dev.redlock.micrometer;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CheckReturnValue;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseCall;
import dev.redlock.api.LeaseFunction;
import dev.redlock.api.LeaseTask;
import dev.redlock.api.LockNotAcquiredException;
import dev.redlock.api.RunOutcome;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;

/**
 * Acquires locks with observations of Micrometer, so that a trace shows the wait for a lock and the time under it. The
 * methods are those of {@link Redlock}; calls of the client itself are not observed.
 *
 * <pre>{@code
 * RedlockObservations orders = new RedlockObservations(redlock, registry, "orders");
 * orders.run("orders/42", options, lease -> ship());
 * }</pre>
 *
 * <p>Each lock has two observations, siblings in the observation of the caller:
 * <ul>
 * <li>{@code redlock.lock.acquire}, from the call to the outcome, waiting included
 * <li>{@code redlock.lock.hold}, from the grant to the outcome of the release. A task under the lock is a part of it:
 *     its own observations are children, and what it throws is the error of the hold.
 * </ul>
 *
 * <p>Both have the low-cardinality keys {@code lock.group} and {@code outcome}. The group is that of the options,
 * {@link AcquireOptions#group(String)}, or else the one of this object. The outcome is that of the acquisition or of
 * the release, and {@code none} after an exception. The name of the lock, {@code lock.name}, is of high cardinality; so
 * are {@code attempts} and {@code votes} of an acquisition. A lock that another client holds is no error.
 *
 * <p>Not recorded are the hold of a lease that is never released, and an acquisition whose stage the caller gives up.
 * Handlers run on threads of the caller and of {@code RedlockContext.callbackExecutor}, by default not on an event loop
 * of the client. With {@code RedlockContext.eventLoops(EventLoop...)}, set that executor, or handlers run on these
 * loops, which they must not block. One that throws changes no lock: the first exception is logged. With a registry
 * that is {@linkplain ObservationRegistry#isNoop a no-op}, the methods are those of the client.
 *
 * @threading any thread
 */
public final class RedlockObservations {

    static final String ACQUIRE = "redlock.lock.acquire";
    static final String HOLD = "redlock.lock.hold";
    private static final System.Logger LOG = System.getLogger("dev.redlock");

    private final Redlock redlock;
    private final ObservationRegistry registry;
    private final String group;
    private final AtomicBoolean isFailureLogged = new AtomicBoolean();

    /**
     * Acquires nothing yet.
     *
     * @param group what its locks are for, if their options have no group. A name from a small set: it becomes a tag of
     *              meters, unlike the name of the lock
     * @throws IllegalArgumentException if the group is blank
     */
    public RedlockObservations(Redlock redlock, ObservationRegistry registry, String group) {
        this.redlock = Objects.requireNonNull(redlock, "client is null: give the one that acquires");
        this.registry = Objects.requireNonNull(registry, "registry is null: give the one whose handlers observe");
        this.group = Objects.requireNonNull(group, "group is null: name what these locks are for");
        if (group.isBlank()) {
            throw new IllegalArgumentException("group \"" + group + "\" is blank: name what these locks are for");
        }
    }

    // ---- leases -----------------------------------------------------------------------------------------------------

    /**
     * Acquires a lock as {@link Redlock#acquire(String, AcquireOptions)} does.
     *
     * @return the outcome; the release of its lease ends the observation of the hold
     */
    @CheckReturnValue
    public AcquireOutcome acquire(String resource, AcquireOptions options) throws InterruptedException {
        return observed(resource, options, () -> redlock.acquire(resource, options));
    }

    /**
     * Acquires a lock as {@link Redlock#tryAcquire(String, AcquireOptions)} does.
     *
     * @return the outcome; the release of its lease ends the observation of the hold
     */
    @CheckReturnValue
    public AcquireOutcome tryAcquire(String resource, AcquireOptions options) throws InterruptedException {
        return observed(resource, options, () -> redlock.tryAcquire(resource, options));
    }

    // ---- tasks ------------------------------------------------------------------------------------------------------

    /** Runs a task under a lock if it is free, as the method of {@link Redlock} does. */
    @CheckReturnValue
    public <X extends Exception> AcquireOutcome tryRun(String resource, AcquireOptions options, LeaseTask<X> task)
            throws X, InterruptedException {
        return tryCall(resource, options, function(task)).acquired();
    }

    /** Runs a task under a lock, and waits for it, as the method of {@link Redlock} does. */
    @CheckReturnValue
    public <X extends Exception> AcquireOutcome run(String resource, AcquireOptions options, LeaseTask<X> task)
            throws X, InterruptedException {
        return call(resource, options, function(task)).acquired();
    }

    /** Runs a task with a value under a lock if it is free, as the method of {@link Redlock} does. */
    @CheckReturnValue
    public <T, X extends Exception> RunOutcome<T> tryCall(String resource, AcquireOptions options,
            LeaseFunction<T, X> task) throws X, InterruptedException {
        Objects.requireNonNull(task, "task is null");
        return runUnder(tryAcquire(resource, options), task);
    }

    /** Runs a task with a value under a lock, and waits for it, as the method of {@link Redlock} does. */
    @CheckReturnValue
    public <T, X extends Exception> RunOutcome<T> call(String resource, AcquireOptions options,
            LeaseFunction<T, X> task) throws X, InterruptedException {
        Objects.requireNonNull(task, "task is null");
        return runUnder(acquire(resource, options), task);
    }

    /**
     * Runs a task as {@link #run} does, for a caller that cannot continue if it has not run.
     *
     * @throws LockNotAcquiredException if the lock was not acquired, so that the task has not run
     */
    public <X extends Exception> void runOrThrow(String resource, AcquireOptions options, LeaseTask<X> task)
            throws X, InterruptedException {
        callOrThrow(resource, options, function(task)::apply);
    }

    /**
     * Runs a task with a value as {@link #runOrThrow} does.
     *
     * @return the value of the task
     * @throws LockNotAcquiredException if the lock was not acquired, so that the task has not run
     */
    public <T, X extends Throwable> T callOrThrow(String resource, AcquireOptions options, LeaseCall<T, X> task)
            throws X, InterruptedException {
        Objects.requireNonNull(task, "task is null");
        return callUnder(acquire(resource, options).lease(), task);
    }

    /**
     * Runs an asynchronous task under a lock as the method of {@link Redlock} does. The hold is the observation of the
     * thread while the task is called, and a child of the observation of the calling thread. Its error is also that of
     * the stage.
     *
     * @param task returns the stage whose end releases the lock
     * @param <T>  the type of the task's value
     * @return completed after the release
     */
    @CheckReturnValue
    public <T> CompletionStage<RunOutcome<T>> runAsync(String resource, AcquireOptions options,
            Function<? super Lease, ? extends CompletionStage<T>> task) {
        Objects.requireNonNull(task, "task is null");
        if (registry.isNoop()) {
            return redlock.runAsync(resource, options, task);
        }
        Observation parent = registry.getCurrentObservation();
        LockObservation acquire = start(ACQUIRE, parent, resource, options);
        CompletionStage<AcquireOutcome> acquisition;
        try {
            acquisition = redlock.acquireAsync(resource, options);
        } catch (Throwable e) {
            fail(acquire, e);
            throw e;
        }
        // Not an own future: a caller that gives the result up cancels the acquisition through this stage.
        return acquisition.thenCompose(outcome -> {
            acquire.end(outcome);
            return outcome.isAcquired()
                    ? runAsyncUnder(new ObservedOutcome(outcome, held(outcome, parent, resource, options)), task)
                    : CompletableFuture.completedFuture(new RunOutcome<>(outcome, null));
        });
    }

    // ---- observing --------------------------------------------------------------------------------------------------

    /**
     * A blocking acquisition.
     *
     * @threading caller-confined
     */
    @FunctionalInterface
    private interface Acquisition {
        AcquireOutcome await() throws InterruptedException;
    }

    private AcquireOutcome observed(String resource, AcquireOptions options, Acquisition acquisition)
            throws InterruptedException {
        if (registry.isNoop()) {
            return acquisition.await();
        }
        LockObservation acquire = start(ACQUIRE, null, resource, options);
        AcquireOutcome outcome;
        try {
            outcome = acquisition.await();
        } catch (InterruptedException | RuntimeException | Error e) {
            fail(acquire, e);
            throw e;
        }
        acquire.end(outcome);
        return outcome.isAcquired() ? new ObservedOutcome(outcome, held(outcome, null, resource, options)) : outcome;
    }

    private ObservedLease held(AcquireOutcome outcome, Observation parent, String resource, AcquireOptions options) {
        return new ObservedLease(outcome.lease(), start(HOLD, parent, resource, options));
    }

    private LockObservation start(String name, Observation parent, String resource, AcquireOptions options) {
        return new LockObservation(registry, this::logFailure).start(name, parent, groupOf(options), resource);
    }

    /** Without options the client throws, and the observation shows that. */
    private String groupOf(AcquireOptions options) {
        return options == null || options.group() == null ? group : options.group();
    }

    private static void fail(LockObservation acquire, Throwable thrown) {
        acquire.error(thrown);
        acquire.end((Enum<?>) null);
    }

    /** A handler that always throws would fill the log. */
    private void logFailure(Throwable thrown) {
        if (!isFailureLogged.getAndSet(true)) {
            try {
                LOG.log(System.Logger.Level.ERROR, "an observation of the locks of \"" + group
                        + "\" failed, which changes no lock: repair the handler, later failures are not logged",
                        thrown);
            } catch (Throwable e) {
                // A failure of the log cannot be logged.
            }
        }
    }

    private static <X extends Exception> LeaseFunction<Void, X> function(LeaseTask<X> task) {
        Objects.requireNonNull(task, "task is null");
        return lease -> {
            task.run(lease);
            return null;
        };
    }

    private static <T, X extends Exception> RunOutcome<T> runUnder(AcquireOutcome outcome, LeaseFunction<T, X> task)
            throws X {
        return new RunOutcome<>(outcome, outcome.isAcquired() ? callUnder(outcome.lease(), task::apply) : null);
    }

    private static <T, X extends Throwable> T callUnder(Lease held, LeaseCall<T, X> task) throws X {
        try (Lease lease = held) {
            return lease instanceof ObservedLease observed ? observed.call(task) : task.call(lease);
        }
    }

    private static <T> CompletionStage<RunOutcome<T>> runAsyncUnder(ObservedOutcome outcome,
            Function<? super Lease, ? extends CompletionStage<T>> task) {
        ObservedLease lease = outcome.observed();
        CompletableFuture<RunOutcome<T>> result = new CompletableFuture<>();
        // Ends once, whatever the task's own stage does.
        CompletableFuture<T> ended = new CompletableFuture<>();
        ended.whenComplete((value, thrown) -> releaseThen(lease, () -> {
            if (thrown == null) {
                result.complete(new RunOutcome<>(outcome, value));
            } else {
                result.completeExceptionally(thrown);
            }
        }));
        try {
            CompletionStage<T> stage = lease.call(
                    held -> Objects.requireNonNull(task.apply(held), "the task returned null instead of a stage"));
            awaitEnd(stage, lease, ended);
        } catch (Throwable e) {
            ended.completeExceptionally(e);
        }
        return result;
    }

    /** The stage is the user's own, so it may throw too. */
    private static <T> void awaitEnd(CompletionStage<T> stage, ObservedLease lease, CompletableFuture<T> ended) {
        try {
            stage.whenComplete((value, thrown) -> {
                if (thrown == null) {
                    ended.complete(value);
                } else {
                    fail(thrown, lease, ended);
                }
            });
        } catch (Throwable e) {
            fail(e, lease, ended);
        }
    }

    private static void fail(Throwable thrown, ObservedLease lease, CompletableFuture<?> ended) {
        lease.error(thrown);
        ended.completeExceptionally(thrown);
    }

    private static void releaseThen(ObservedLease lease, Runnable next) {
        try {
            lease.releaseAsync().whenComplete((outcome, thrown) -> next.run());
        } catch (IllegalStateException e) {
            // The task itself is releasing the lease.
            next.run();
        }
    }
}
