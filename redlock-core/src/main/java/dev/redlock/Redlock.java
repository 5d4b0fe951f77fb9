package dev.redlock;

import dev.redlock.api.AcquireCallback;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseAction;
import dev.redlock.api.LeaseTask;
import dev.redlock.api.NodeState;
import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.LeaseHandle;
import dev.redlock.engine.LockEngine;
import dev.redlock.engine.LockKey;
import dev.redlock.engine.SetKey;
import dev.redlock.node.Log;
import dev.redlock.time.Durations;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A client that takes locks on a majority of independent Redis or Valkey masters: the Redlock algorithm.
 *
 * <pre>{@code
 * try (Redlock redlock = Redlock.connect("10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379")) {
 *     try (Lease lease = redlock.acquire("orders/42", Duration.ofSeconds(10)).lease()) {
 *         // no other client holds orders/42 while lease.isHeld()
 *     }
 * }
 * }</pre>
 *
 * <p>One client serves a process. It runs one event loop (or more, or the user's) with one connection to each node, and
 * asks all nodes at once, or one of them first if the lock is contended. Locks are not reentrant: the lease is the
 * proof of ownership.
 *
 * <p>{@code acquire} and {@code acquireAsync} wait up to the wait budget of the options, or else up to
 * {@link RedlockContext#defaultWait}. {@code tryAcquire} makes one attempt unless a wait budget is given.
 *
 * @threading any thread
 */
public final class Redlock implements AutoCloseable {

    private final LockEngine engine;
    private final String keyPrefix;
    private final int resourceLengthMax;
    private final List<NodeStatus> nodes;
    private final RedlockCounters counters;
    /** Any thread may write it. */
    private TtlOptions lastTtl;

    /**
     * The options of calls that have a ttl only.
     *
     * @threading immutable
     */
    private record TtlOptions(Duration ttl, AcquireSpec spec) {
    }

    Redlock(LockEngine engine) {
        this.engine = engine;
        this.keyPrefix = engine.config().keyPrefix();
        this.resourceLengthMax = engine.config().resourceLengthMax();
        this.nodes = statusOf(engine);
        this.counters = new RedlockCounters(engine);
    }

    /**
     * Connects with every option at its default.
     *
     * @param addresses one for each node; see {@link RedlockContext#nodes}
     * @return the client
     * @throws IllegalArgumentException if an address is malformed or given twice, or there is none
     * @throws IllegalStateException    if Netty is older than 4.2.2
     */
    public static Redlock connect(String... addresses) {
        return connect(new RedlockContext().nodes(addresses));
    }

    /**
     * Connects. Waits until each node has answered or failed once, at most the connect timeout. Nodes that are down are
     * no error: they join when they come up. On a given event loop it does not wait.
     *
     * @param context the configuration; concluded by this call
     * @return the client
     * @throws IllegalArgumentException if the configuration contradicts itself
     * @throws IllegalStateException    if Netty is older than 4.2.2
     */
    public static Redlock connect(RedlockContext context) {
        Objects.requireNonNull(context, "context is null");
        LockEngine engine = LockEngine.create(context.conclude());
        engine.connect();
        return new Redlock(engine);
    }

    // ---- blocking ---------------------------------------------------------------------------------------------------

    /**
     * Acquires a lock, and waits for it up to {@link RedlockContext#defaultWait}.
     *
     * @param resource the name to lock
     * @param ttl      time that the lock is held at most without an extension
     * @return the outcome; {@link AcquireOutcome#lease} returns the lease or throws
     * @throws InterruptedException     if interrupted; the attempt is rolled back
     * @throws IllegalArgumentException if the resource is empty or too long, or the ttl out of range
     * @throws IllegalStateException    on the client's event loop
     */
    public AcquireOutcome acquire(String resource, Duration ttl) throws InterruptedException {
        return acquireBlocking(lockKey(resource), specOfTtl(ttl));
    }

    /**
     * Acquires a lock, and waits for it up to {@link AcquireOptions#waitUpTo} or else
     * {@link RedlockContext#defaultWait}.
     *
     * @param resource the name to lock
     * @param options  how
     * @return the outcome
     * @throws InterruptedException     if interrupted; the attempt is rolled back
     * @throws IllegalArgumentException if the resource is empty or too long, or the ttl out of range
     * @throws IllegalStateException    on the client's event loop
     */
    public AcquireOutcome acquire(String resource, AcquireOptions options) throws InterruptedException {
        return acquireBlocking(lockKey(resource), specOf(options));
    }

    /**
     * Acquires a lock as {@link #acquire(String, AcquireOptions)} does. Allocates the lease and nothing else.
     *
     * @param key     the name to lock, encoded by {@link #key}
     * @param options how
     * @return the outcome
     * @throws InterruptedException     if interrupted; the attempt is rolled back
     * @throws IllegalArgumentException if the ttl is out of range, or the key has another prefix than this client's
     * @throws IllegalStateException    on the client's event loop
     */
    public AcquireOutcome acquire(ResourceKey key, AcquireOptions options) throws InterruptedException {
        return acquireBlocking(lockKey(key), specOf(options));
    }

    /**
     * Acquires a lock if it is free: one attempt.
     *
     * @param resource the name to lock
     * @param ttl      time that the lock is held at most without an extension
     * @return the outcome
     * @throws InterruptedException     if interrupted; the attempt is rolled back
     * @throws IllegalArgumentException if the resource is empty or too long, or the ttl out of range
     * @throws IllegalStateException    on the client's event loop
     */
    public AcquireOutcome tryAcquire(String resource, Duration ttl) throws InterruptedException {
        return engine.acquireBlocking(lockKey(resource), specOfTtl(ttl), 0);
    }

    /**
     * Acquires a lock, and waits for it up to a budget.
     *
     * @param resource the name to lock
     * @param ttl      time that the lock is held at most without an extension
     * @param wait     wait budget; zero for one attempt
     * @return the outcome
     * @throws InterruptedException     if interrupted; the attempt is rolled back
     * @throws IllegalArgumentException if the resource is empty or too long, the ttl out of range or the budget
     *                                  negative
     * @throws IllegalStateException    on the client's event loop
     */
    public AcquireOutcome tryAcquire(String resource, Duration ttl, Duration wait)
            throws InterruptedException {
        return engine.acquireBlocking(lockKey(resource), specOfTtl(ttl), Durations.nanosOf("wait", wait));
    }

    /**
     * Acquires a lock if it is free: one attempt, or more if the options have a wait budget.
     *
     * @param resource the name to lock
     * @param options  how
     * @return the outcome
     * @throws InterruptedException     if interrupted; the attempt is rolled back
     * @throws IllegalArgumentException if the resource is empty or too long, or the ttl out of range
     * @throws IllegalStateException    on the client's event loop
     */
    public AcquireOutcome tryAcquire(String resource, AcquireOptions options)
            throws InterruptedException {
        AcquireSpec spec = specOf(options);
        return engine.acquireBlocking(lockKey(resource), spec, spec.waitNsOr(0));
    }

    /**
     * Acquires a lock as {@link #tryAcquire(String, AcquireOptions)} does. Allocates the lease and nothing else.
     *
     * @param key     the name to lock, encoded by {@link #key}
     * @param options how
     * @return the outcome
     * @throws InterruptedException     if interrupted; the attempt is rolled back
     * @throws IllegalArgumentException if the ttl is out of range, or the key has another prefix than this client's
     * @throws IllegalStateException    on the client's event loop
     */
    public AcquireOutcome tryAcquire(ResourceKey key, AcquireOptions options)
            throws InterruptedException {
        AcquireSpec spec = specOf(options);
        return engine.acquireBlocking(lockKey(key), spec, spec.waitNsOr(0));
    }

    /**
     * Acquires a set of resources: all of them or none, with one lease. It waits as
     * {@link #acquire(String, AcquireOptions)} does. Sets that overlap exclude each other and the plain locks of their
     * resources. The order of the resources does not matter, so sets cannot deadlock.
     *
     * <p>{@link AcquireOptions#fenced} gives one fencing token, which is valid for each resource of the set.
     *
     * @param resources the names to lock, 1 to 64
     * @param options   how
     * @return the outcome
     * @throws InterruptedException     if interrupted; the attempt is rolled back
     * @throws IllegalArgumentException if there are no resources, too many, or one twice; if a name is empty or too
     *                                  long, or the ttl out of range
     * @throws IllegalStateException    on the client's event loop
     */
    public AcquireOutcome acquireAll(Collection<String> resources, AcquireOptions options)
            throws InterruptedException {
        return acquireBlocking(lockKeyOfAll(resources), specOf(options));
    }

    /**
     * Acquires a set of resources as {@link #acquireAll} does, if all are free: one attempt, or more if the options
     * have a wait budget.
     *
     * @param resources the names to lock, 1 to 64
     * @param options   how
     * @return the outcome
     * @throws InterruptedException     if interrupted; the attempt is rolled back
     * @throws IllegalArgumentException as {@link #acquireAll}
     * @throws IllegalStateException    on the client's event loop
     */
    public AcquireOutcome tryAcquireAll(Collection<String> resources, AcquireOptions options)
            throws InterruptedException {
        AcquireSpec spec = specOf(options);
        return engine.acquireBlocking(lockKeyOfAll(resources), spec, spec.waitNsOr(0));
    }

    /**
     * Runs a task if its lock is free, and releases the lock afterwards. It acquires as
     * {@link #tryAcquire(String, AcquireOptions)} does.
     *
     * <p>For a job that several instances schedule: {@link AcquireOptions#autoExtend()} holds the lock while the job
     * runs, and {@link AcquireOptions#holdAtLeast} keeps it for a time after the start, also if the job is shorter or
     * throws.
     *
     * <pre>{@code
     * AcquireOptions once = AcquireOptions.ofTtl(Duration.ofSeconds(30)).autoExtend()
     *         .holdAtLeast(Duration.ofSeconds(30));
     * redlock.tryRun("jobs/report", once, lease -> report());
     * }</pre>
     *
     * @param resource the name to lock
     * @param options  how
     * @param task     runs on the calling thread while the lock is held; it checks {@link Lease#isHeld()} before steps
     *                 that matter
     * @param <X>      what the task throws
     * @return the outcome; the task has run if {@link AcquireOutcome#isAcquired()}
     * @throws X                        from the task; the lock is released, or kept
     * @throws InterruptedException     if interrupted before the lock is acquired; the attempt is rolled back
     * @throws IllegalArgumentException if the resource is empty or too long, or the ttl out of range
     * @throws IllegalStateException    on the client's event loop
     */
    public <X extends Exception> AcquireOutcome tryRun(String resource, AcquireOptions options, LeaseTask<X> task)
            throws X, InterruptedException {
        Objects.requireNonNull(task, "task is null");
        AcquireOutcome outcome = tryAcquire(resource, options);
        if (outcome.isAcquired()) {
            try (Lease lease = outcome.lease()) {
                task.run(lease);
            }
        }
        return outcome;
    }

    /**
     * Runs a task as {@link #tryRun(String, AcquireOptions, LeaseTask)} does. Java selects that method for a lambda,
     * and Kotlin this one.
     *
     * @param resource the name to lock
     * @param options  how
     * @param action   runs on the calling thread while the lock is held
     * @return the outcome; the task has run if {@link AcquireOutcome#isAcquired()}
     * @throws Exception from the task, or as the other method
     */
    public AcquireOutcome tryRun(String resource, AcquireOptions options, LeaseAction action) throws Exception {
        LeaseTask<Exception> task = Objects.requireNonNull(action, "task is null")::run;
        return tryRun(resource, options, task);
    }

    private AcquireOutcome acquireBlocking(LockKey key, AcquireSpec spec) throws InterruptedException {
        return engine.acquireBlocking(key, spec, waitNs(spec));
    }

    private long waitNs(AcquireSpec spec) {
        return spec.waitNsOr(engine.config().defaultWaitNs());
    }

    /** Callers mostly pass the same ttl again. */
    private AcquireSpec specOfTtl(Duration ttl) {
        TtlOptions last = lastTtl;
        if (last == null || !last.ttl.equals(ttl)) {
            last = new TtlOptions(ttl, new AcquireSpec(Durations.millisOf("ttl", ttl)));
            lastTtl = last;
        }
        return last.spec;
    }

    private static AcquireSpec specOf(AcquireOptions options) {
        return Objects.requireNonNull(options, "options are null").spec;
    }

    // ---- asynchronous -----------------------------------------------------------------------------------------------

    /**
     * Acquires a lock without blocking, and waits for it as {@link #acquire(String, AcquireOptions)} does. Dependent
     * stages run on the event loop, or on the calling thread if the stage is complete already.
     *
     * <p>{@code toCompletableFuture().cancel}, {@code completeExceptionally} and {@code orTimeout} cancel the
     * acquisition. If it has acquired the lock already, they release the lock, unless it is taken: a call of
     * {@code isAcquired}, {@code kind} or {@code lease} of the {@link AcquireOutcome} takes it. They return false if
     * it is taken. The same methods of a dependent stage do the same, if its function has not taken the lock and all
     * other dependent stages are given up too. {@code copy()} protects the acquisition from that.
     *
     * <p>The caller must release a lock that it has taken, and must cancel a stage that it does not need any more, for
     * example after {@code get} has timed out. The client cannot detect a stage that is dropped: its lock stays until
     * the ttl ends, or with {@link AcquireOptions#autoExtend()} until the client is closed.
     *
     * @param resource the name to lock
     * @param options  how
     * @return completed with the outcome
     * @throws IllegalArgumentException if the resource or the ttl is out of range
     */
    public CompletionStage<AcquireOutcome> acquireAsync(String resource, AcquireOptions options) {
        AcquireSpec spec = specOf(options);
        return engine.acquireAsync(lockKey(resource), spec, waitNs(spec));
    }

    /**
     * Acquires a lock without blocking; see {@link #acquireAsync(String, AcquireOptions)}.
     *
     * @param key     the name to lock, encoded by {@link #key}
     * @param options how
     * @return completed with the outcome
     * @throws IllegalArgumentException if the ttl is out of range, or the key has another prefix than this client's
     */
    public CompletionStage<AcquireOutcome> acquireAsync(ResourceKey key, AcquireOptions options) {
        LockKey lockKey = lockKey(key);
        AcquireSpec spec = specOf(options);
        return engine.acquireAsync(lockKey, spec, waitNs(spec));
    }

    /**
     * Acquires a set of resources as {@link #acquireAll} does, without blocking; see
     * {@link #acquireAsync(String, AcquireOptions)}. For a callback, pass {@link #keyOfAll} to
     * {@link #acquire(ResourceKey, AcquireOptions, Lease, AcquireCallback)}.
     *
     * @param resources the names to lock, 1 to 64
     * @param options   how
     * @return completed with the outcome
     * @throws IllegalArgumentException as {@link #acquireAll}
     */
    public CompletionStage<AcquireOutcome> acquireAllAsync(Collection<String> resources, AcquireOptions options) {
        AcquireSpec spec = specOf(options);
        return engine.acquireAsync(lockKeyOfAll(resources), spec, waitNs(spec));
    }

    /**
     * Acquires a lock without blocking and without allocating: with a lease, a key and options that are used again and
     * again, and a callback that is not created for each call. It waits as {@link #acquire(String, AcquireOptions)}
     * does; {@link AcquireOptions#tryOnce} makes one attempt.
     *
     * @param key      the name to lock, encoded by {@link #key}
     * @param options  how
     * @param lease    from {@link #newLease} of this client, not in use
     * @param callback receives the outcome on the event loop, never inside this call
     * @throws IllegalArgumentException if the ttl is out of range, the lease is another client's, or the key has
     *                                  another prefix than this client's
     * @throws IllegalStateException    if the lease is in use
     */
    public void acquire(ResourceKey key, AcquireOptions options, Lease lease,
            AcquireCallback callback) {
        AcquireSpec spec = specOf(options);
        Objects.requireNonNull(callback, "acquire callback is null");
        if (!(lease instanceof LeaseHandle handle) || !handle.isOf(engine)) {
            throw new IllegalArgumentException("the lease was not made by this client: use its newLease()");
        }
        engine.acquire(handle, lockKey(key), spec, waitNs(spec), callback);
    }

    /** @return a lease handle that serves one acquisition after another */
    public Lease newLease() {
        return engine.newLease();
    }

    /**
     * A view of a resource as a {@link java.util.concurrent.locks.Lock}. All views of a resource by one client share
     * their hold: a thread that holds it through one view re-enters it through another.
     *
     * @param resource the name to lock
     * @param options  how; the wait budget is that of each method of the view
     * @return the view
     * @throws IllegalArgumentException if the resource or the ttl is out of range, or the options are for reading,
     *                                  writing or a permit
     */
    public RedlockLock asLock(String resource, AcquireOptions options) {
        AcquireSpec spec = specOf(options);
        engine.check(spec);
        spec.checkPlain("asLock", "use asReadWriteLock or asSemaphore, or options without forReading(), forWriting()"
                + " and forPermitOf()");
        return new RedlockLock(engine, lockKey(resource), spec);
    }

    /**
     * A view of a set of resources as a {@link java.util.concurrent.locks.Lock}, which acquires as {@link #acquireAll}
     * does. All views of equal sets by one client share their hold. A thread that holds one set waits in vain for
     * another that shares a resource with it.
     *
     * @param resources the names to lock, 1 to 64
     * @param options   how; the wait budget is that of each method of the view
     * @return the view
     * @throws IllegalArgumentException as {@link #acquireAll}, and if the options are for reading, writing or a permit
     */
    public RedlockLock asLockOfAll(Collection<String> resources, AcquireOptions options) {
        AcquireSpec spec = specOf(options);
        engine.check(spec);
        LockKey key = lockKeyOfAll(resources);
        spec.check(key);
        return new RedlockLock(engine, key, spec);
    }

    /**
     * A view of a resource as a {@link java.util.concurrent.locks.ReadWriteLock}. Views of a resource by one client
     * share their holds. {@link AcquireOptions#fenced} gives writers a fencing token.
     *
     * @param resource the name to lock
     * @param options  how; the wait budget is that of each method of the view
     * @return the view
     * @throws IllegalArgumentException if the resource or the ttl is out of range, or the options are for reading,
     *                                  writing or a permit
     */
    public RedlockReadWriteLock asReadWriteLock(String resource, AcquireOptions options) {
        AcquireSpec spec = specOf(options);
        engine.check(spec);
        spec.checkPlain("asReadWriteLock", "leave that out, the view has both locks");
        return new RedlockReadWriteLock(engine, lockKey(resource), options.forReader().spec, options.forWriting().spec);
    }

    /**
     * A view of a semaphore with the methods of {@link java.util.concurrent.Semaphore} that a lease allows. Views of a
     * semaphore by one client share their permits.
     *
     * @param resource    the name of the semaphore
     * @param permitCount its permits, as in {@link AcquireOptions#forPermitOf}
     * @param options     how; the wait budget is that of each method of the view
     * @return the view
     * @throws IllegalArgumentException if the resource, the number of permits or the ttl is out of range, or the
     *                                  options have {@link AcquireOptions#fenced}, or are for reading, writing or a
     *                                  permit
     */
    public RedlockSemaphore asSemaphore(String resource, int permitCount, AcquireOptions options) {
        specOf(options).checkPlain("asSemaphore", "leave that out, the view has its number of permits");
        AcquireSpec spec = options.forPermitOf(permitCount).spec;
        engine.check(spec);
        LockKey key = lockKey(resource);
        spec.check(key);
        return new RedlockSemaphore(engine, key, spec);
    }

    /**
     * Encodes the name of a lock. Keep the key if you lock the same resource often.
     *
     * @param resource the name to lock
     * @return its key
     * @throws IllegalArgumentException if it is empty or too long, or contains {@code :redlock:fence} with the prefix,
     *                                  which names fencing counters
     */
    public ResourceKey key(String resource) {
        return new ResourceKey(lockKey(resource));
    }

    /**
     * Encodes the names of a set of resources. Keep the key if you lock the same set often: all methods with a
     * {@link ResourceKey} accept it, and acquire as {@link #acquireAll} does.
     *
     * @param resources the names to lock, 1 to 64
     * @return the key of the set; that of a plain lock if there is one name only
     * @throws IllegalArgumentException as {@link #acquireAll}
     */
    public ResourceKey keyOfAll(Collection<String> resources) {
        return new ResourceKey(lockKeyOfAll(resources));
    }

    private LockKey lockKeyOfAll(Collection<String> resources) {
        return SetKey.of(keyPrefix, resources, resourceLengthMax);
    }

    private LockKey lockKey(String resource) {
        return LockKey.of(keyPrefix, resource, resourceLengthMax);
    }

    private LockKey lockKey(ResourceKey key) {
        LockKey lockKey = Objects.requireNonNull(key, "resource key is null").lockKey();
        lockKey.checkPrefix(keyPrefix);
        return lockKey;
    }

    // ---- monitoring -------------------------------------------------------------------------------------------------

    /**
     * Live views of the nodes, in configured order, once for each event loop. A cluster has one for each master that
     * owns slots now, all with the cluster's index.
     *
     * @return the views
     */
    public List<NodeStatus> nodes() {
        return engine.hasClusters() ? statusOf(engine) : nodes;
    }

    private static List<NodeStatus> statusOf(LockEngine engine) {
        return engine.nodes().stream().map(NodeStatus::new).toList();
    }

    /**
     * Whether a quorum of the nodes votes now, so that a lock that nobody holds can be acquired. For health checks: it
     * reads what the client knows and sends nothing. A node votes if it is {@link NodeState#READY} and does not answer
     * acquires with errors; a cluster, if all its masters do. The client finds a node that hangs within two seconds.
     *
     * @return false also while the client connects, and after it was closed. Allocates nothing
     */
    public boolean isQuorumAvailable() {
        return engine.isQuorumAvailable();
    }

    /** @return the client's counters, live */
    public RedlockCounters counters() {
        return counters;
    }

    /** @return the transport in use, and why better ones were rejected; one line */
    public String transportDescription() {
        return engine.transportDescription();
    }

    /**
     * The last events of the client's flight recorder as text: attempts, votes with their times and errors, outcomes,
     * releases, extensions, pushes and states of nodes, one line each and oldest first. It works at any time, also
     * while the client closes and afterwards, and never waits for an event loop.
     *
     * @return the text, without tokens and passwords; empty if {@link RedlockContext#flightRecorderEvents} is 0.
     *         Allocates some 100 bytes for each event
     */
    public String flightRecord() {
        return engine.flightRecord();
    }

    LockEngine engine() {
        return engine;
    }

    // ---- closing ----------------------------------------------------------------------------------------------------

    /**
     * Closes the client as {@link #closeWithin} does, within {@link RedlockContext#closeTimeout}, and logs the
     * resources that could not be released. On the event loop it starts to close and does not wait. Closing twice is no
     * error.
     */
    @Override
    public void close() {
        CompletableFuture<CloseReport> report = engine.close(engine.config().closeTimeoutNs());
        if (engine.isOnLoop()) {
            report.thenAccept(Redlock::logUnreleased);
        } else {
            logUnreleased(engine.awaitClosed(report));
        }
    }

    /**
     * Ends pending acquisitions as {@link AcquireOutcome.Kind#CLOSED}, releases held leases, and closes the
     * connections.
     *
     * @param timeout time that the releases may take
     * @return the released and the unreleased resources
     * @throws IllegalArgumentException if the timeout is negative
     * @throws IllegalStateException    on the client's event loop
     */
    public CloseReport closeWithin(Duration timeout) {
        long timeoutNs = Durations.nanosOf("close timeout", timeout);
        if (engine.isOnLoop()) {
            throw new IllegalStateException("blocking call closeWithin on the client's event loop: use close() there");
        }
        return engine.awaitClosed(engine.close(timeoutNs));
    }

    static void logUnreleased(CloseReport report) {
        if (!report.isClean()) {
            Log.log(System.Logger.Level.WARNING,
                    "closed without confirmed release of {0}; their remaining keys expire",
                    report.unreleasedText());
        }
    }

    @Override
    public String toString() {
        return "Redlock{nodes=" + nodes + ", " + counters + "}";
    }
}
