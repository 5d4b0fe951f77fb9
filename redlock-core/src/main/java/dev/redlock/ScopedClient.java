package dev.redlock;

import dev.redlock.api.AcquireCallback;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CheckReturnValue;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseAction;
import dev.redlock.api.LeaseCall;
import dev.redlock.api.LeaseFunction;
import dev.redlock.api.LeaseTask;
import dev.redlock.api.LocalLocks;
import dev.redlock.api.LockInspection;
import dev.redlock.api.LockNotAcquiredException;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RunOutcome;
import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.LeaseHandle;
import dev.redlock.engine.LockEngine;
import dev.redlock.engine.LockInspector;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.RunFuture;
import java.util.Collection;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * The part of a {@link Redlock} that runs tasks under locks, which it releases itself, acquires locks without blocking,
 * and shows and breaks locks.
 *
 * @threading any thread
 */
abstract class ScopedClient extends ConnectedClient {

    ScopedClient(LockEngine engine) {
        super(engine);
    }

    /**
     * Runs a task if its lock is free, and releases the lock afterwards. It acquires as
     * {@link Redlock#tryAcquire(String, AcquireOptions)} does.
     *
     * <p>For a job that several instances schedule: {@link AcquireOptions#autoExtend()} holds the lock while the job
     * runs, and {@link AcquireOptions#holdAtLeast} keeps it for a time after the start, also if the job is shorter or
     * throws.
     *
     * <pre>{@code
     * redlock.tryRun("jobs/report", ofTtl(minute).autoExtend().holdAtLeast(minute), lease -> report());
     * }</pre>
     *
     * @param task     runs on the calling thread while the lock is held; it checks {@link Lease#isHeld()} before steps
     *                 that matter
     * @return the outcome; the task has run if {@link AcquireOutcome#isAcquired()}
     */
    @CheckReturnValue
    public <X extends Exception> AcquireOutcome tryRun(String resource, AcquireOptions options, LeaseTask<X> task)
            throws X, InterruptedException {
        return tryCall(resource, options, function(task)).acquired();
    }

    /**
     * Runs a task as {@link #tryRun(String, AcquireOptions, LeaseTask) tryRun} does. Java selects that method for a
     * lambda, and Kotlin this one.
     *
     * @throws Exception from the task, or as the other method
     */
    @CheckReturnValue
    public AcquireOutcome tryRun(String resource, AcquireOptions options, LeaseAction action) throws Exception {
        LeaseTask<Exception> task = Objects.requireNonNull(action, "task is null")::run;
        return tryRun(resource, options, task);
    }

    /**
     * Runs a task as {@link #tryRun(String, AcquireOptions, LeaseTask) tryRun} does, but waits for the lock as
     * {@link Redlock#acquire(String, AcquireOptions)} does.
     */
    @CheckReturnValue
    public <X extends Exception> AcquireOutcome run(String resource, AcquireOptions options, LeaseTask<X> task)
            throws X, InterruptedException {
        return call(resource, options, function(task)).acquired();
    }

    /**
     * Runs a task with a value as {@link #tryRun(String, AcquireOptions, LeaseTask) tryRun} does. Allocates some 100
     * bytes.
     */
    @CheckReturnValue
    public <T, X extends Exception> RunOutcome<T> tryCall(String resource, AcquireOptions options,
            LeaseFunction<T, X> task) throws X, InterruptedException {
        return call(resource, AcquireOptions.specOf(options), AcquireOptions.specOf(options).waitNsOr(0), task);
    }

    /**
     * Runs a task with a value as {@link #tryCall tryCall} does, but waits for the lock as
     * {@link Redlock#acquire(String, AcquireOptions)} does.
     */
    @CheckReturnValue
    public <T, X extends Exception> RunOutcome<T> call(String resource, AcquireOptions options,
            LeaseFunction<T, X> task) throws X, InterruptedException {
        return call(resource, AcquireOptions.specOf(options), waitNs(AcquireOptions.specOf(options)), task);
    }

    /**
     * Runs a task as {@link #run run} does, for a caller that cannot continue if it has not run. To make one attempt,
     * use {@link AcquireOptions#tryOnce}.
     *
     * @throws LockNotAcquiredException if the lock was not acquired, so that the task has not run
     */
    public <X extends Exception> void runOrThrow(String resource, AcquireOptions options, LeaseTask<X> task)
            throws X, InterruptedException {
        callOrThrow(resource, options, function(task)::apply);
    }

    /**
     * Runs a task with a value as {@link #runOrThrow runOrThrow} does.
     *
     * @return the value of the task
     * @throws X                        from the task, unchanged
     * @throws LockNotAcquiredException if the lock was not acquired, so that the task has not run
     */
    public <T, X extends Throwable> T callOrThrow(String resource, AcquireOptions options, LeaseCall<T, X> task)
            throws X, InterruptedException {
        AcquireSpec spec = AcquireOptions.specOf(options);
        Objects.requireNonNull(task, "task is null");
        try (Lease lease = engine.acquireBlocking(engine.key(resource), spec, waitNs(spec)).lease()) {
            return task.call(lease);
        }
    }

    private static <X extends Exception> LeaseFunction<Void, X> function(LeaseTask<X> task) {
        Objects.requireNonNull(task, "task is null");
        return lease -> {
            task.run(lease);
            return null;
        };
    }

    private <T, X extends Exception> RunOutcome<T> call(String resource, AcquireSpec spec, long waitNs,
            LeaseFunction<T, X> task) throws X, InterruptedException {
        Objects.requireNonNull(task, "task is null");
        AcquireOutcome outcome = engine.acquireBlocking(engine.key(resource), spec, waitNs);
        if (!outcome.isAcquired()) {
            return new RunOutcome<>(outcome, null);
        }
        try (Lease lease = outcome.lease()) {
            return new RunOutcome<>(outcome, task.apply(lease));
        }
    }

    /**
     * Runs an asynchronous task under a lock, and releases the lock when the task's stage has completed: no caller can
     * drop the lock. It waits for the lock as {@link Redlock#acquireAsync(String, AcquireOptions) acquireAsync} does.
     *
     * <p>A caller that gives the result up, by {@code cancel}, {@code completeExceptionally} or {@code orTimeout} of
     * it or of all its dependent stages, ends the wait for the lock. A task that has started is not stopped, and keeps
     * its lock to its end. {@link AcquireOptions#autoExtend(java.time.Duration)} limits a task that never ends.
     *
     * @param task     called by {@link RedlockContext#callbackExecutor}, or on the calling thread if the lock is
     *                 acquired already; it checks {@link Lease#isHeld()} before steps that matter. What it throws, and
     *                 null, count as a stage that has failed
     * @param <T>      the type of the task's value
     * @return completed after the release: with the outcome of the acquisition and the value, or with the failure of
     *         the task. A lost lock is no failure: {@link RunOutcome} has it. Dependent stages run where the task is
     *         called
     */
    @CheckReturnValue
    public <T> CompletionStage<RunOutcome<T>> runAsync(String resource, AcquireOptions options,
            Function<? super Lease, ? extends CompletionStage<T>> task) {
        AcquireSpec spec = AcquireOptions.specOf(options);
        Objects.requireNonNull(task, "task is null");
        return new RunFuture<>(engine.acquireAsync(engine.key(resource), spec, waitNs(spec)), task);
    }

    /**
     * Runs an asynchronous task as {@link #runAsync runAsync} does, for a caller that cannot continue if it has not
     * run.
     *
     * @param task see {@link #runAsync runAsync}
     * @param <T>  the type of the task's value
     * @return completed after the release: with the value of the task, also if the lock was lost before its end; with
     *         its failure, or with a {@link LockNotAcquiredException}. A function of the stage gets a failure as the
     *         cause of a {@link java.util.concurrent.CompletionException}
     */
    @CheckReturnValue
    public <T> CompletionStage<T> runOrThrowAsync(String resource, AcquireOptions options,
            Function<? super Lease, ? extends CompletionStage<T>> task) {
        return runAsync(resource, options, task).thenApply(RunOutcome::value);
    }

    /**
     * Joins a leader election: of all candidates of a resource, one leads at a time. The candidate waits for the
     * lock, leads for a term, and joins again after the term, until it or the client is closed.
     *
     * @param resource  the name of the lock, which excludes plain locks of the same name
     * @param options   of the lock, whose ttl is the time until the next leader if this process dies. The lock is
     *                  always fenced, and extended without a limit unless the options have one. They need no wait
     *                  budget; their listener gets the losses only
     * @param onElected called for each term by {@link RedlockContext#callbackExecutor}; if it throws, the term ends. It
     *                  may work as long as {@link Election.Term#isHeld}, unless that executor is the event loop: the
     *                  candidate joins again after it has returned
     * @throws IllegalArgumentException if the resource or the ttl is out of range, or the options are for reading,
     *                                  writing or a permit, or have {@link AcquireOptions#retain}
     * @throws IllegalStateException    if the client is closed, or the event loop of the resource has ended
     */
    public Election elect(String resource, AcquireOptions options, Consumer<? super Election.Term> onElected) {
        AcquireSpec spec = AcquireOptions.specOf(options);
        spec.checkPlain("elect", "leave that out, a leader is alone");
        spec.checkNotRetained("elect");
        Objects.requireNonNull(onElected, "function for the terms is null");
        LockKey key = engine.key(resource);
        Election election = new Election(this, key, options, onElected);
        elections.add(election);
        try {
            checkElects(key);
            election.joinFirst();
        } catch (RuntimeException | Error e) {
            elections.remove(election);
            throw e;
        }
        return election;
    }

    /**
     * Asks all nodes for the key of a lock, for people who look for its holder. It takes at most a second. To find out
     * whether a lock is free, acquire it: the answer is out of date when it arrives.
     *
     * @param resource the name of the lock; {@link RedlockSemaphore#inspect} shows permits
     * @return the answers of the nodes. Allocates
     */
    public LockInspection inspect(String resource) throws InterruptedException {
        return LockInspector.show(engine, engine.key(resource));
    }

    /**
     * Reads which locks this client holds, and for which it waits. It takes at most a second. Each event loop looks at
     * all its held locks and waiters once, at some nanoseconds each.
     *
     * @param countMax held locks and locks with waiters in the result, at most so many of each; the oldest ones
     * @return the locks. Allocates
     * @throws IllegalArgumentException if the number is negative
     */
    public LocalLocks localLocks(int countMax) throws InterruptedException {
        if (countMax < 0) {
            throw new IllegalArgumentException("countMax " + countMax + " is negative: give the number of locks to"
                    + " show, 0 for their count only");
        }
        return LocalLocksQuery.run(engine, countMax);
    }

    /**
     * Frees a lock whose holder is stuck: each node deletes the key if it has exactly the value with this id. The
     * holder relies on its lease until the validity ends, an extension fails or {@link AcquireOptions#watchLoss}
     * reports it. Meanwhile there may be two holders, unless the resource checks fencing tokens. It takes at most two
     * seconds.
     *
     * @param resource the name of the lock
     * @param id       from {@link #inspect inspect}
     * @return {@link ReleaseOutcome#RELEASED} if nodes had the value and no quorum can have it now;
     *         {@link ReleaseOutcome#EXPIRED} if none had it; {@link ReleaseOutcome#UNKNOWN} if too few answered
     * @throws InterruptedException     if interrupted; nodes may have deleted the key
     */
    public ReleaseOutcome breakLock(String resource, String id) throws InterruptedException {
        Objects.requireNonNull(id, "id is null: take it from inspect()");
        return LockInspector.breakValue(engine, engine.key(resource), id);
    }

    // ---- acquiring without blocking ---------------------------------------------------------------------------------

    /**
     * Acquires a lock without blocking, and waits for it as {@link Redlock#acquire(String, AcquireOptions)} does.
     * Dependent stages are run by {@link RedlockContext#callbackExecutor}, or on the calling thread if the stage is
     * complete already.
     *
     * <p>{@code toCompletableFuture().cancel}, {@code completeExceptionally} and {@code orTimeout} cancel the
     * acquisition. The first two also release a lock that it has acquired already, unless it is taken: a call of
     * {@code isAcquired}, {@code kind} or {@code lease} of the {@link AcquireOutcome} takes it. They return false if
     * it is taken. The same methods of a dependent stage do the same, if its function has not taken the lock and all
     * other dependent stages are given up too. {@code copy()} protects the acquisition from that.
     *
     * <p>The caller must release a lock that it has taken, and must cancel a stage that it does not need any more, for
     * example after {@code get} has timed out. The client cannot detect a stage that is dropped: its lock stays until
     * the ttl ends, or with {@link AcquireOptions#autoExtend()} until the client is closed.
     *
     * @return completed with the outcome
     */
    @CheckReturnValue
    public CompletionStage<AcquireOutcome> acquireAsync(String resource, AcquireOptions options) {
        AcquireSpec spec = AcquireOptions.specOf(options);
        return engine.acquireAsync(engine.key(resource), spec, waitNs(spec));
    }

    /**
     * Acquires a lock without blocking; see {@link #acquireAsync(String, AcquireOptions) acquireAsync}.
     *
     * @param key     the name to lock, encoded by {@link Redlock#key}
     * @return completed with the outcome
     * @throws IllegalArgumentException if the ttl is out of range, or the key has another prefix than this client's
     */
    @CheckReturnValue
    public CompletionStage<AcquireOutcome> acquireAsync(ResourceKey key, AcquireOptions options) {
        LockKey lockKey = lockKey(key);
        AcquireSpec spec = AcquireOptions.specOf(options);
        return engine.acquireAsync(lockKey, spec, waitNs(spec));
    }

    /**
     * Acquires a set of resources as {@link Redlock#acquireAll} does, without blocking; see
     * {@link #acquireAsync(String, AcquireOptions) acquireAsync}. For a callback, pass {@link Redlock#keyOfAll} to
     * {@link #acquire(ResourceKey, AcquireOptions, Lease, AcquireCallback)}.
     *
     * @param resources the names to lock, 1 to 64
     * @return completed with the outcome
     * @throws IllegalArgumentException as {@link Redlock#acquireAll}
     */
    @CheckReturnValue
    public CompletionStage<AcquireOutcome> acquireAllAsync(Collection<String> resources, AcquireOptions options) {
        AcquireSpec spec = AcquireOptions.specOf(options);
        return engine.acquireAsync(engine.keyOfAll(resources), spec, waitNs(spec));
    }

    /**
     * Acquires a lock without blocking and without allocating: with a lease, a key and options that are used again and
     * again, and a callback that is not created for each call. If the lease was closed and its release has not ended,
     * this blocks until it has, one node timeout at most; on an event loop of the client it throws. So it does for a
     * moment if the lease has just expired, and the event loop has not ended it. It waits as
     * {@link Redlock#acquire(String, AcquireOptions)} does; {@link AcquireOptions#tryOnce} makes one attempt.
     *
     * @param key      the name to lock, encoded by {@link Redlock#key}
     * @param lease    from {@link Redlock#newLease} of this client, not in use
     * @param callback receives the outcome on the event loop, never inside this call
     * @throws IllegalArgumentException if the ttl is out of range, the lease is another client's, or the key has
     *                                  another prefix than this client's
     * @throws IllegalStateException    if the lease is in use
     */
    public void acquire(ResourceKey key, AcquireOptions options, Lease lease, AcquireCallback callback) {
        AcquireSpec spec = AcquireOptions.specOf(options);
        Objects.requireNonNull(callback, "acquire callback is null");
        if (!(lease instanceof LeaseHandle handle) || !handle.isOf(engine)) {
            throw new IllegalArgumentException("the lease was not made by this client: use its newLease()");
        }
        engine.acquire(handle, lockKey(key), spec, waitNs(spec), callback);
    }

    final LockKey lockKey(ResourceKey key) {
        LockKey lockKey = Objects.requireNonNull(key, "resource key is null").lockKey();
        lockKey.checkPrefix(engine.config().names().keyPrefix());
        return lockKey;
    }
}
