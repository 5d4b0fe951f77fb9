package dev.redlock;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.NodeState;
import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.LockEngine;
import dev.redlock.engine.key.LockKey;
import dev.redlock.telemetry.Log;
import dev.redlock.time.Durations;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The part of a {@link Redlock} that acquires nothing itself: views of locks, monitoring, closing.
 *
 * @threading any thread
 */
abstract class ConnectedClient implements AutoCloseable {

    final LockEngine engine;
    private static final String PLAIN_INSTEAD = "use asReadWriteLock or asSemaphore, or options without forReading(),"
            + " forWriting() and forPermitOf()";

    private final List<NodeStatus> nodes;
    private final RedlockCounters counters;
    /** Null until they are asked for. */
    private final AtomicReference<AcquireTimes> acquireTimes = new AtomicReference<>();
    /** By name: meters refer to them weakly. */
    private final ConcurrentHashMap<String, LockGroup> groups = new ConcurrentHashMap<>();
    private final AtomicBoolean isReportLogged = new AtomicBoolean();
    final Set<Election> elections = ConcurrentHashMap.newKeySet();
    /** Set before the last terms end. */
    private volatile boolean isElectionClosed;

    ConnectedClient(LockEngine engine) {
        this.engine = engine;
        this.nodes = statusOf(engine);
        this.counters = new RedlockCounters(engine.loops);
    }

    final long waitNs(AcquireSpec spec) {
        return spec.waitNsOr(engine.config().attempts().defaultWaitNs());
    }

    // ---- views ------------------------------------------------------------------------------------------------------

    /**
     * A view of a resource as a {@link java.util.concurrent.locks.Lock}. All views of a resource by one client share
     * their hold: a thread that holds it through one view re-enters it through another.
     *
     * @param options  how; the wait budget is that of each method of the view
     * @throws IllegalArgumentException if the resource or the ttl is out of range, or the options are for reading,
     *                                  writing or a permit, or have {@link AcquireOptions#retain} with what it excludes
     */
    public RedlockLock asLock(String resource, AcquireOptions options) {
        AcquireSpec spec = AcquireOptions.specOf(options);
        engine.check(spec);
        spec.checkPlain("asLock", PLAIN_INSTEAD);
        LockKey key = engine.key(resource);
        engine.checkRetained(spec, key);
        return new RedlockLock(engine, key, spec);
    }

    /**
     * A view of a set of resources as a {@link java.util.concurrent.locks.Lock}, which acquires as
     * {@link Redlock#acquireAll} does. All views of equal sets by one client share their hold. A thread that holds one
     * set waits in vain for another that shares a resource with it.
     *
     * @param resources the names to lock, 1 to 64
     * @param options   how; the wait budget is that of each method of the view
     * @throws IllegalArgumentException as {@link Redlock#acquireAll}, and if the options are for reading, writing or a
     *                                  permit, also for one resource
     */
    public RedlockLock asLockOfAll(Collection<String> resources, AcquireOptions options) {
        AcquireSpec spec = AcquireOptions.specOf(options);
        engine.check(spec);
        // The key of one resource is plain, so the key alone would not exclude other kinds.
        spec.checkPlain("asLockOfAll", PLAIN_INSTEAD);
        LockKey key = engine.keyOfAll(resources);
        engine.checkRetained(spec, key);
        return new RedlockLock(engine, key, spec);
    }

    /**
     * A view of a resource as a {@link java.util.concurrent.locks.ReadWriteLock}. Views of a resource by one client
     * share their holds. {@link AcquireOptions#fenced} gives writers a fencing token.
     *
     * @param options  how; the wait budget is that of each method of the view
     * @throws IllegalArgumentException if the resource or the ttl is out of range, or the options are for reading,
     *                                  writing or a permit, or have {@link AcquireOptions#retain}
     */
    public RedlockReadWriteLock asReadWriteLock(String resource, AcquireOptions options) {
        AcquireSpec spec = AcquireOptions.specOf(options);
        engine.check(spec);
        spec.checkPlain("asReadWriteLock", "leave that out, the view has both locks");
        spec.checkNotRetained("asReadWriteLock");
        return new RedlockReadWriteLock(engine, engine.key(resource), options.forReader().spec,
                options.forWriting().spec);
    }

    /**
     * A view of a semaphore with the methods of {@link java.util.concurrent.Semaphore} that a lease allows. Views of a
     * semaphore by one client share their permits.
     *
     * @param resource    the name of the semaphore
     * @param permitCount its permits, as in {@link AcquireOptions#forPermitOf}
     * @param options     how; the wait budget is that of each method of the view
     * @throws IllegalArgumentException if the resource, the number of permits or the ttl is out of range, or the
     *                                  options have {@link AcquireOptions#fenced} or {@link AcquireOptions#retain}, or
     *                                  are for reading, writing or a permit
     */
    public RedlockSemaphore asSemaphore(String resource, int permitCount, AcquireOptions options) {
        AcquireSpec given = AcquireOptions.specOf(options);
        given.checkPlain("asSemaphore", "leave that out, the view has its number of permits");
        given.checkNotRetained("asSemaphore");
        AcquireSpec spec = options.forPermitOf(permitCount).spec;
        engine.check(spec);
        LockKey key = engine.key(resource);
        spec.check(key);
        return new RedlockSemaphore(engine, key, spec);
    }

    // ---- monitoring -------------------------------------------------------------------------------------------------

    /**
     * Live views of the nodes, in configured order, once for each event loop. A cluster has one for each master that
     * owns slots now, all with the cluster's index.
     */
    public List<NodeStatus> nodes() {
        return engine.hasClusters ? statusOf(engine) : nodes;
    }

    /**
     * The configured addresses of the nodes, without user and password. {@link NodeStatus#index} is a place in this
     * list. That of a cluster has its configured servers, {@code redis-cluster://host:port,host:port}, and that of a
     * node behind Sentinels has these.
     *
     * @return one address for each node, in configured order, also while none is connected
     */
    public List<String> nodeAddresses() {
        return engine.config().nodes().addresses().stream().map(Object::toString).toList();
    }

    private static List<NodeStatus> statusOf(LockEngine engine) {
        return engine.loops.nodes().stream().map(NodeStatus::new).toList();
    }

    /**
     * Whether a quorum of the nodes votes now, so that a lock that nobody holds can be acquired. For health checks: it
     * reads what the client knows and sends nothing. A node votes if it is {@link NodeState#READY} and does not answer
     * acquires with errors; a cluster, if all its masters do. The client finds a node that hangs within four seconds.
     *
     * @return false also while the client connects, and after it was closed. Allocates nothing
     */
    public boolean isQuorumAvailable() {
        return engine.loops.isQuorumAvailable();
    }

    /**
     * Whether a node does not vote now, so that fewer failures are tolerated than with all nodes. For health checks and
     * alerts, like {@link #isQuorumAvailable isQuorumAvailable}. {@link #nodes nodes} has the reasons.
     *
     * @return true also while the client connects, and after it was closed. Allocates nothing
     */
    public boolean isDegraded() {
        return engine.loops.isDegraded();
    }

    /**
     * The further failures that the nodes tolerate: if so many more nodes stop to vote, whichever, a quorum still
     * votes. With three nodes it is 1 while all vote, and 0 after one failure.
     *
     * @return -1 if no quorum votes now. Allocates nothing
     */
    public int toleratedFailureCount() {
        return Math.max(-1, engine.loops.toleratedFailureCount());
    }

    /**
     * The counts of one node, live. For meters: with a cluster, those of {@link #nodes} end when a master does.
     *
     * @param index a place in {@link #nodeAddresses}
     * @throws IndexOutOfBoundsException if there is no such node
     */
    public NodeCounters nodeCounters(int index) {
        int count = engine.config().nodes().addresses().size();
        if (index < 0 || index >= count) {
            throw new IndexOutOfBoundsException("node index " + index + " is out of range: 0 to " + (count - 1)
                    + " are the nodes in configured order");
        }
        return new NodeCounters(engine.loops, index);
    }

    /** @return the client's counters, live */
    public RedlockCounters counters() {
        return counters;
    }

    /**
     * The durations of the client's acquisitions. The first call starts to record them, which costs up to 56 KiB for
     * each event loop, and once up to 112 KiB, until the client ends.
     *
     * @return the same object for each call
     */
    public AcquireTimes acquireTimes() {
        AcquireTimes times = acquireTimes.get();
        if (times == null) {
            acquireTimes.compareAndSet(null, new AcquireTimes(engine.loops.startAcquireTimes()));
            times = acquireTimes.get();
        }
        return times;
    }

    /**
     * The {@linkplain AcquireOptions#group groups} of the client's acquisitions so far: one for each of the first 64
     * names, and {@code other} for all further ones. Each is counted from its first acquisition on. It costs 7 KiB for
     * each event loop and kind of outcome that it had.
     *
     * @return live views, sorted by name; the same object for a group in each list
     */
    public List<LockGroup> groups() {
        return engine.loops.groups()
                .stream()
                .map(group -> groups.computeIfAbsent(group.name(), name -> new LockGroup(group)))
                .toList();
    }

    /** @return the transport in use, and why better ones were rejected; one line */
    public String transportDescription() {
        return engine.loops.transportDescription();
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
        return engine.loops.flightRecord();
    }

    // ---- closing ----------------------------------------------------------------------------------------------------

    /**
     * Closes the client as {@link #closeWithin closeWithin} does, within {@link RedlockContext#closeTimeout}, and logs
     * once the resources that could not be released. On the event loop it starts to close and does not wait. Closing
     * twice is no error.
     */
    @Override
    public void close() {
        CompletableFuture<CloseReport> report = closeLoops(engine.config().loops().closeTimeoutNs());
        if (!engine.isOnLoop()) {
            engine.loops.awaitClosed(report);
        }
        if (!isReportLogged.getAndSet(true)) {
            report.thenAccept(ConnectedClient::logUnreleased);
        }
    }

    /**
     * Ends pending acquisitions as {@link AcquireOutcome.Kind#CLOSED}, releases held leases, and closes the
     * connections. Terms of elections end before that: this thread runs the functions of {@link Election.Term#ended}.
     * The timeout does not limit them, and until they have returned, all leases of the client stay held. If another
     * thread runs them, this call waits for them first, for the timeout at most; then it logs their resources.
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
        return engine.loops.awaitClosed(closeLoops(timeoutNs));
    }

    private CompletableFuture<CloseReport> closeLoops(long timeoutNs) {
        elections.forEach(Election::end);
        CompletableFuture<?>[] functions = elections.stream()
                .map(Election::functionsElsewhere)
                .toArray(CompletableFuture<?>[]::new);
        CompletableFuture<Void> ended = CompletableFuture.allOf(functions);
        if (ended.isDone()) {
            return closeAfterTerms(timeoutNs);
        }
        // A function may wait for the thread that closes, so the wait has an end.
        return ended.completeOnTimeout(null, timeoutNs, TimeUnit.NANOSECONDS)
                .thenComposeAsync(any -> closeAfterTerms(timeoutNs), this::executeClose);
    }

    /** On another thread, because this one may be a timer of the JVM. Without one, the leases would stay held. */
    private void executeClose(Runnable close) {
        try {
            engine.callbacks().executeElsewhere(close);
        } catch (RuntimeException | Error e) {
            close.run();
        }
    }

    private CompletableFuture<CloseReport> closeAfterTerms(long timeoutNs) {
        isElectionClosed = true;
        // Those that have joined meanwhile: no term ends after its lock is released.
        elections.forEach(Election::end);
        elections.forEach(Election::logIfFunctionsRun);
        return engine.loops.close(timeoutNs);
    }

    static IllegalStateException closed(LockKey key) {
        return new IllegalStateException("\"" + key + "\" gets no candidate: the client is closed, connect again");
    }

    /** A candidate that was added before this call either finds the close here, or the close finds it and ends it. */
    final void checkElects(LockKey key) {
        if (isElectionClosed || engine.loops.isClosing()) {
            throw closed(key);
        }
        if (engine.isLoopClosed(key)) {
            throw new IllegalStateException("\"" + key
                    + "\" gets no candidate: its event loop has ended, connect again on another one");
        }
    }

    private static void logUnreleased(CloseReport report) {
        if (!report.isClean()) {
            Log.log(System.Logger.Level.WARNING, "closed without confirmed release of {0}; their remaining keys expire",
                    report.unreleasedText());
        }
    }

    @Override
    public String toString() {
        return "Redlock{nodes=" + nodes + ", " + counters + "}";
    }
}
