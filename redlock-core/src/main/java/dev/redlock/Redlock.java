package dev.redlock;

import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.ClientConfig;
import dev.redlock.engine.Durations;
import dev.redlock.engine.LeaseHandle;
import dev.redlock.engine.LockEngine;
import dev.redlock.engine.LockKey;
import dev.redlock.node.Log;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A client that takes locks held by a majority of independent Redis or Valkey masters: the Redlock algorithm.
 *
 * <pre>{@code
 * try (Redlock redlock = Redlock.connect("10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379")) {
 *     try (Lease lease = redlock.acquire("orders/42", Duration.ofSeconds(10)).lease()) {
 *         // nobody else holds orders/42 while lease.isHeld()
 *     }
 * }
 * }</pre>
 *
 * <p>One client serves a whole process: it runs one event loop (or more, or the user's), which keeps one connection to
 * each node and sends a command to all of them at once. Locks are not reentrant: a lease is the proof of ownership,
 * whoever has it.
 *
 * @threading any thread
 */
public final class Redlock implements AutoCloseable {

    private final LockEngine engine;
    private final List<NodeStatus> nodes;
    private final RedlockCounters counters;

    Redlock(final LockEngine engine) {
        this.engine = engine;
        this.nodes = engine.nodes().stream().map(NodeStatus::new).toList();
        this.counters = new RedlockCounters(engine);
    }

    /**
     * Connects to nodes with every option at its default.
     *
     * @param addresses see {@link RedlockContext#nodes}
     * @return the client
     * @throws IllegalArgumentException if an address is malformed or given twice, or there is none
     */
    public static Redlock connect(final String... addresses) {
        return connect(new RedlockContext().nodes(addresses));
    }

    /**
     * Connects. Waits until each node has answered or failed for the first time, at most the connect timeout; nodes
     * that are down are no error, they join when they come up. On a given event loop it does not wait.
     *
     * @param context the configuration; concluded by this call
     * @return the client
     * @throws IllegalArgumentException if the configuration contradicts itself
     */
    public static Redlock connect(final RedlockContext context) {
        Objects.requireNonNull(context, "context is null");
        final LockEngine engine = LockEngine.create(context.conclude());
        engine.connect();
        return new Redlock(engine);
    }

    // ---- blocking ---------------------------------------------------------------------------------------------------

    /**
     * Takes a lock, waiting for it up to {@link RedlockContext#defaultWait}.
     *
     * @param resource what to lock
     * @param ttl      how long it is held at most without being extended
     * @return the outcome; {@link AcquireOutcome#lease} is the lease or throws
     * @throws InterruptedException     if interrupted; what was begun is rolled back
     * @throws IllegalArgumentException if the resource is empty or too long, or the ttl out of range
     * @throws IllegalStateException    on the client's event loop
     */
    public AcquireOutcome acquire(final String resource, final Duration ttl) throws InterruptedException {
        return engine.acquireBlocking(lockKey(resource), specOfTtl(ttl), engine.config().defaultWaitNs());
    }

    /**
     * Takes a lock if it is free: one attempt.
     *
     * @param resource what to lock
     * @param ttl      how long it is held at most without being extended
     * @return the outcome
     * @throws InterruptedException     if interrupted; what was begun is rolled back
     * @throws IllegalArgumentException if the resource is empty or too long, or the ttl out of range
     * @throws IllegalStateException    on the client's event loop
     */
    public AcquireOutcome tryAcquire(final String resource, final Duration ttl) throws InterruptedException {
        return engine.acquireBlocking(lockKey(resource), specOfTtl(ttl), 0);
    }

    /**
     * Takes a lock, waiting for it up to a budget.
     *
     * @param resource what to lock
     * @param ttl      how long it is held at most without being extended
     * @param wait     wait budget; zero for one attempt
     * @return the outcome
     * @throws InterruptedException     if interrupted; what was begun is rolled back
     * @throws IllegalArgumentException if the resource is empty or too long, the ttl out of range or the budget
     *                                  negative
     * @throws IllegalStateException    on the client's event loop
     */
    public AcquireOutcome tryAcquire(final String resource, final Duration ttl, final Duration wait)
            throws InterruptedException {
        return engine.acquireBlocking(lockKey(resource), specOfTtl(ttl), Durations.nanosOf("wait", wait));
    }

    /**
     * Takes a lock as the options say. Allocates the lease and nothing else.
     *
     * @param key     what to lock
     * @param options how
     * @return the outcome
     * @throws InterruptedException     if interrupted; what was begun is rolled back
     * @throws IllegalArgumentException if the ttl is out of range
     * @throws IllegalStateException    on the client's event loop
     */
    public AcquireOutcome acquire(final ResourceKey key, final AcquireOptions options) throws InterruptedException {
        Objects.requireNonNull(options, "options are null");
        final AcquireSpec spec = options.spec();
        return engine.acquireBlocking(lockKey(key), spec, spec.waitNs());
    }

    private static AcquireSpec specOfTtl(final Duration ttl) {
        return AcquireSpec.ofTtl(Durations.millisOf("ttl", ttl));
    }

    // ---- asynchronous -----------------------------------------------------------------------------------------------

    /**
     * Takes a lock without blocking. Cancelling the returned future (its {@code toCompletableFuture().cancel}) cancels
     * the acquisition, or gives the lock back if it came through in the meantime.
     *
     * @param resource what to lock
     * @param options  how
     * @return completed with the outcome, on the event loop
     * @throws IllegalArgumentException if the resource or the ttl is out of range
     */
    public CompletionStage<AcquireOutcome> acquireAsync(final String resource, final AcquireOptions options) {
        return acquireAsync(key(resource), options);
    }

    /**
     * Takes a lock without blocking; see {@link #acquireAsync(String, AcquireOptions)}.
     *
     * @param key     what to lock
     * @param options how
     * @return completed with the outcome, on the event loop
     * @throws IllegalArgumentException if the ttl is out of range
     */
    public CompletionStage<AcquireOutcome> acquireAsync(final ResourceKey key, final AcquireOptions options) {
        Objects.requireNonNull(options, "options are null");
        return engine.acquireAsync(lockKey(key), options.spec());
    }

    /**
     * Takes a lock without blocking and without allocating: with a lease, a key and options that are used again and
     * again, and a callback that is not made anew for each call.
     *
     * @param key      what to lock
     * @param options  how
     * @param lease    from {@link #newLease} of this client, not in use
     * @param callback told the outcome on the event loop, never from inside this call
     * @throws IllegalArgumentException if the ttl is out of range or the lease is another client's
     * @throws IllegalStateException    if the lease is in use
     */
    public void acquire(final ResourceKey key, final AcquireOptions options, final Lease lease,
            final AcquireCallback callback) {
        Objects.requireNonNull(options, "options are null");
        Objects.requireNonNull(callback, "acquire callback is null");
        if (!(lease instanceof LeaseHandle handle) || !handle.isOf(engine)) {
            throw new IllegalArgumentException("the lease was not made by this client: use its newLease()");
        }
        final AcquireSpec spec = options.spec();
        engine.acquire(handle, lockKey(key), spec, spec.waitNs(), callback);
    }

    /** @return a lease handle to be used for one acquisition after another */
    public Lease newLease() {
        return engine.newLease();
    }

    /**
     * A view of a resource as a {@link java.util.concurrent.locks.Lock}.
     *
     * @param resource what to lock
     * @param options  how; the wait budget is the caller's of each method
     * @return the view
     * @throws IllegalArgumentException if the resource or the ttl is out of range
     */
    public RedlockLock asLock(final String resource, final AcquireOptions options) {
        Objects.requireNonNull(options, "options are null");
        final AcquireSpec spec = options.spec();
        engine.config().terms().checkTtl(spec.ttlMs(), spec.minValidityNs());
        return new RedlockLock(engine, lockKey(resource), spec);
    }

    /**
     * Encodes the name of a lock, to be kept where it is locked again and again.
     *
     * @param resource what to lock
     * @return its key
     * @throws IllegalArgumentException if it is empty or too long, or contains {@code :redlock:fence} with the prefix,
     *                                  which names fencing counters
     */
    public ResourceKey key(final String resource) {
        return new ResourceKey(lockKey(resource));
    }

    private LockKey lockKey(final String resource) {
        final ClientConfig config = engine.config();
        return LockKey.of(config.keyPrefix(), resource, config.resourceLengthMax());
    }

    private static LockKey lockKey(final ResourceKey key) {
        return Objects.requireNonNull(key, "resource key is null").lockKey();
    }

    // ---- what others see --------------------------------------------------------------------------------------------

    /** @return live views of the nodes, in configured order, once for each event loop */
    public List<NodeStatus> nodes() {
        return nodes;
    }

    /** @return the client's counters, live */
    public RedlockCounters counters() {
        return counters;
    }

    /** @return which transport is used and why better ones were refused, one line */
    public String transportDescription() {
        return engine.transportDescription();
    }

    // ---- closing ----------------------------------------------------------------------------------------------------

    /**
     * Closes the client as {@link #closeWithin} does, within {@link RedlockContext#closeTimeout}; what could not be
     * released is logged. On the event loop it begins to close and does not wait. Closing twice is no error.
     */
    @Override
    public void close() {
        final CompletableFuture<CloseReport> report = engine.close(engine.config().closeTimeoutNs());
        if (engine.isOnLoop()) {
            report.thenAccept(Redlock::logUnreleased);
        } else {
            logUnreleased(engine.awaitClosed(report));
        }
    }

    /**
     * Ends acquisitions under way as {@link AcquireOutcome.Kind#CLOSED}, releases what is held, and closes the
     * connections.
     *
     * @param timeout how long the releases may take
     * @return what was released and what was not
     * @throws IllegalStateException on the client's event loop
     */
    public CloseReport closeWithin(final Duration timeout) {
        final long timeoutNs = Durations.nanosOf("close timeout", timeout);
        if (engine.isOnLoop()) {
            throw new IllegalStateException("blocking call closeWithin on the client's event loop: use close() there");
        }
        return engine.awaitClosed(engine.close(timeoutNs));
    }

    static void logUnreleased(final CloseReport report) {
        if (!report.isClean()) {
            Log.log(System.Logger.Level.WARNING,
                    "closed without confirmed release of {0}; their keys end with their ttl",
                    report.unreleasedText());
        }
    }

    @Override
    public String toString() {
        return "Redlock{nodes=" + nodes + ", " + counters + "}";
    }
}
