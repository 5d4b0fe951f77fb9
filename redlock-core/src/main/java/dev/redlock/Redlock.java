package dev.redlock;

import dev.redlock.node.Log;
import dev.redlock.quorum.SeedSource;
import dev.redlock.quorum.TokenStream;
import dev.redlock.time.NanoClock;
import dev.redlock.transport.IoTransport;
import dev.redlock.transport.IoTransports;
import io.netty.channel.EventLoop;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;

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

    private final RedlockContext context;
    private final Conductor[] conductors;
    private final List<LoopThread> ownThreads = new ArrayList<>();
    private final List<NodeStatus> nodes = new ArrayList<>();
    private final RedlockCounters counters;
    private final String transportDescription;
    private final AtomicReference<CompletableFuture<CloseReport>> closing = new AtomicReference<>();

    private Redlock(final RedlockContext context) {
        this.context = context;
        this.conductors = new Conductor[context.eventLoopCount()];
        this.counters = new RedlockCounters(conductors);
        final boolean needsUnixSockets = context.nodes().stream().anyMatch(address -> address.isUnixSocket());
        if (context.givenEventLoops().isEmpty()) {
            final IoTransports.Choice choice = chooseTransport(context.transport(), needsUnixSockets);
            transportDescription = choice.description();
            for (int i = 0; i < conductors.length; i++) {
                final LoopThread thread = LoopThread.start(choice.transport().newIoHandlerFactory(),
                        context.idlePolicy(), "redlock-" + i);
                ownThreads.add(thread);
                conductors[i] = newConductor(thread.loop(), choice.transport());
            }
        } else {
            final IoTransports transport = IoTransports.of(context.givenEventLoops().get(0));
            transportDescription = transport.description() + " of the given event loops";
            for (int i = 0; i < conductors.length; i++) {
                final EventLoop loop = context.givenEventLoops().get(i);
                conductors[i] = newConductor(loop, IoTransports.of(loop));
            }
        }
        listNodes();
    }

    /** A client over conductors that somebody else has made and runs: for the simulator, and to measure loops alone. */
    Redlock(final RedlockContext context, final Conductor... conductors) {
        this.context = context;
        this.conductors = conductors;
        this.counters = new RedlockCounters(conductors);
        this.transportDescription = "given";
        listNodes();
    }

    private void listNodes() {
        for (final Conductor conductor : conductors) {
            for (int i = 0; i < context.nodes().size(); i++) {
                nodes.add(new NodeStatus(conductor.node(i)));
            }
        }
    }

    private static IoTransports.Choice chooseTransport(final TransportKind kind, final boolean needsUnixSockets) {
        if (kind == TransportKind.AUTO) {
            return IoTransports.best(needsUnixSockets);
        }
        final IoTransports transport = IoTransports.valueOf(kind.name());
        final String refusal = transport.refusal(needsUnixSockets);
        if (refusal != null) {
            throw new IllegalArgumentException("transport " + kind + " cannot be used here: " + refusal
                    + "; use AUTO or another one");
        }
        return new IoTransports.Choice(transport, transport + " as configured");
    }

    private Conductor newConductor(final EventLoop loop, final IoTransport transport) {
        final NanoClock clock = NanoClock.system();
        final TokenStream tokens = new TokenStream(SeedSource.system(), System::currentTimeMillis, clock.nanoTime());
        return new Conductor(context, loop, transport, clock, tokens,
                new SplittableRandom(new SecureRandom().nextLong()));
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
        final Redlock redlock = new Redlock(context.conclude());
        redlock.open();
        return redlock;
    }

    private void open() {
        final CompletableFuture<?>[] settled = new CompletableFuture<?>[conductors.length];
        boolean isOnLoop = false;
        for (int i = 0; i < conductors.length; i++) {
            settled[i] = conductors[i].open();
            isOnLoop |= conductors[i].isOwnThread();
        }
        if (!isOnLoop) {
            awaitSettled(CompletableFuture.allOf(settled));
        }
    }

    private void awaitSettled(final CompletableFuture<Void> settled) {
        try {
            settled.get(context.nodeOptions().connectTimeoutMs(), TimeUnit.MILLISECONDS);
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (final TimeoutException | ExecutionException e) {
            Log.log(System.Logger.Level.DEBUG, "not every node has answered yet: {0}", nodes);
        }
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
        return acquireBlocking(key(resource), AcquireOptions.ofTtl(ttl), context.defaultWaitNs());
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
        return acquireBlocking(key(resource), AcquireOptions.ofTtl(ttl), 0);
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
        return acquireBlocking(key(resource), AcquireOptions.ofTtl(ttl), AcquireOptions.nanosOf("wait", wait));
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
        return acquireBlocking(key, options, options.waitNs);
    }

    private AcquireOutcome acquireBlocking(final ResourceKey key, final AcquireOptions options, final long waitNs)
            throws InterruptedException {
        refuseOnLoop("acquire", "acquire(key, options, lease, callback) or acquireAsync");
        if (Thread.interrupted()) {
            throw new InterruptedException("interrupted before acquiring \"" + key + "\"; nothing was sent");
        }
        final Conductor conductor = conductorOf(key);
        final LeaseSlot lease = new LeaseSlot(this);
        begin(conductor, lease, key, options, waitNs, null);
        return lease.awaitAcquired();
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
        final LeaseSlot lease = new LeaseSlot(this);
        final CompletableFuture<AcquireOutcome> future = new CompletableFuture<>();
        begin(conductorOf(key), lease, key, options, options.waitNs, outcome -> {
            if (!future.complete(outcome) && outcome.isAcquired()) {
                lease.close();
            }
        });
        future.whenComplete((outcome, failure) -> {
            if (future.isCancelled()) {
                lease.cancel();
            }
        });
        return future;
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
        if (!(lease instanceof LeaseSlot slot) || !slot.isOf(this)) {
            throw new IllegalArgumentException("the lease was not made by this client: use its newLease()");
        }
        begin(conductorOf(key), slot, key, options, options.waitNs, callback);
    }

    private void begin(final Conductor conductor, final LeaseSlot lease, final ResourceKey key,
            final AcquireOptions options, final long waitNs, final AcquireCallback callback) {
        context.checkedTtlMs(options.ttlMs, options.minValidityNs);
        lease.begin(conductor, key, options, waitNs, callback);
    }

    /** @return a lease handle to be used for one acquisition after another */
    public Lease newLease() {
        return new LeaseSlot(this);
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
        context.checkedTtlMs(options.ttlMs, options.minValidityNs);
        return new RedlockLock(this, key(resource), options);
    }

    long nowNs() {
        return conductors[0].nowNs();
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
        return ResourceKey.of(context.keyPrefix(), resource, context.resourceLengthMax());
    }

    private Conductor conductorOf(final ResourceKey key) {
        Objects.requireNonNull(key, "resource key is null");
        if (conductors.length == 1) {
            return conductors[0];
        }
        final int spread = key.hashCode() * 0x9E3779B9;
        return conductors[(spread >>> 1) % conductors.length];
    }

    // ---- what others see --------------------------------------------------------------------------------------------

    /** @return live views of the nodes, in configured order, once for each event loop */
    public List<NodeStatus> nodes() {
        return List.copyOf(nodes);
    }

    /** @return the client's counters, live */
    public RedlockCounters counters() {
        return counters;
    }

    /** @return which transport is used and why better ones were refused, one line */
    public String transportDescription() {
        return transportDescription;
    }

    int nodeCount() {
        return context.nodes().size();
    }

    // ---- closing ----------------------------------------------------------------------------------------------------

    /**
     * Closes the client as {@link #closeWithin} does, within {@link RedlockContext#closeTimeout}; what could not be
     * released is logged. On the event loop it begins to close and does not wait. Closing twice is no error.
     */
    @Override
    public void close() {
        final CompletableFuture<CloseReport> report = beginClose(context.closeTimeoutNs());
        if (isOnLoop()) {
            report.thenAccept(Redlock::logUnreleased);
        } else {
            logUnreleased(awaitClosed(report));
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
        final long timeoutNs = AcquireOptions.nanosOf("close timeout", timeout);
        if (isOnLoop()) {
            throw new IllegalStateException("blocking call closeWithin on the client's event loop: use close() there");
        }
        return awaitClosed(beginClose(timeoutNs));
    }

    /** A blocked loop would stall every resource that maps to it, also where the call is about another one's. */
    void refuseOnLoop(final String call, final String instead) {
        if (isOnLoop()) {
            throw new IllegalStateException(
                    "blocking call " + call + " on the client's event loop, which nothing may block:"
                            + " use " + instead + " there");
        }
    }

    boolean isOnLoop() {
        for (final Conductor conductor : conductors) {
            if (conductor.isOwnThread()) {
                return true;
            }
        }
        return false;
    }

    private CompletableFuture<CloseReport> beginClose(final long timeoutNs) {
        final CompletableFuture<CloseReport> report = new CompletableFuture<>();
        if (!closing.compareAndSet(null, report)) {
            return closing.get();
        }
        final List<CompletableFuture<CloseReport>> parts = new ArrayList<>();
        for (final Conductor conductor : conductors) {
            final CompletableFuture<CloseReport> part = new CompletableFuture<>();
            parts.add(part);
            conductor.beginClose(timeoutNs, part);
        }
        CompletableFuture.allOf(parts.toArray(new CompletableFuture<?>[0]))
                .thenRun(() -> report.complete(sumOf(parts)));
        report.thenRun(() -> ownThreads.forEach(thread -> thread.loop().shutdownGracefully(0, 1, TimeUnit.SECONDS)));
        return report;
    }

    private static CloseReport sumOf(final List<CompletableFuture<CloseReport>> parts) {
        int releasedCount = 0;
        final List<String> unreleased = new ArrayList<>();
        for (final CompletableFuture<CloseReport> part : parts) {
            releasedCount += part.join().releasedCount();
            unreleased.addAll(part.join().unreleased());
        }
        return new CloseReport(releasedCount, List.copyOf(unreleased));
    }

    private CloseReport awaitClosed(final CompletableFuture<CloseReport> report) {
        final CloseReport result = report.join();
        ownThreads.forEach(LoopThread::shutDown);
        return result;
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
