package dev.redlock.engine;

import dev.redlock.api.AcquireCallback;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.LocalLocks;
import dev.redlock.engine.callback.CallbackExecutor;
import dev.redlock.engine.key.KeyText;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.key.SetKey;
import dev.redlock.node.send.LockKind;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

/**
 * The client behind the public API: passes each acquisition to the conductor of its resource. {@link ClientLoops} has
 * the conductors.
 *
 * @threading any thread
 */
public final class LockEngine extends LeaseClient {

    /** Wait budget of one acquisition without a time limit, whose caller acquires again when it has passed: a day. */
    public static final long UNLIMITED_WAIT_NS = TimeUnit.DAYS.toNanos(1);

    /** The event loops. */
    public final ClientLoops loops;
    /** The holds of the client's lock views. */
    public final LocalHolds exclusiveHolds = new LocalHolds();
    /** The holds of the client's read-write lock views. */
    public final LocalHolds sharedHolds = new LocalHolds();
    /** The permits of the client's semaphore views. */
    public final PermitHolds permitHolds = new PermitHolds();
    /** Whether the masters of a cluster change the nodes of {@link #loops}. */
    public final boolean hasClusters;
    private final Conductor[] conductors;
    private final LeaseTerms terms;
    private final String keyPrefix;
    private final int resourceLengthMax;
    /** Any thread may write it. */
    private LeaseTimes lastTimes;

    /** A client that is not connected yet. */
    public LockEngine(ClientLoops loops) {
        super(loops.config, loops.conductors[0].clock());
        this.loops = loops;
        this.conductors = loops.conductors;
        this.terms = config.terms();
        this.hasClusters = config.nodes().hasClusters();
        this.keyPrefix = config.names().keyPrefix();
        this.resourceLengthMax = config.names().resourceLengthMax();
    }

    /**
     * Connects, and waits for the first reply or failure of each node, at most the connect timeout. On one of its event
     * loops it does not wait.
     */
    public void connect() {
        StartLine.log(config, loops.transportDescription());
        CompletableFuture<Void> settled = loops.start();
        if (!isOnLoop()) {
            loops.awaitSettled(settled);
        }
    }

    /**
     * Encodes the key of a resource.
     *
     * @throws IllegalArgumentException if the name is empty or too long, is not valid UTF-16, or names a counter
     */
    public LockKey key(String resource) {
        return new LockKey(KeyText.ofResource(keyPrefix, resource, resourceLengthMax));
    }

    /**
     * Encodes the key of a set of resources.
     *
     * @return the key; that of a plain lock if there is one name only
     * @throws IllegalArgumentException if there are no names, too many, or one twice, or as {@link #key}
     */
    public LockKey keyOfAll(Collection<String> resources) {
        return SetKey.of(keyPrefix, resources, resourceLengthMax);
    }

    /**
     * Acquires and blocks until the outcome.
     *
     * @throws InterruptedException     if interrupted; an attempt in progress is rolled back
     * @throws IllegalArgumentException if the ttl is out of range
     * @throws IllegalStateException    on the client's event loop
     */
    public AcquireOutcome acquireBlocking(LockKey key, AcquireSpec spec, long waitNs)
            throws InterruptedException {
        refuseOnLoop("acquire", "acquire(key, options, lease, callback) or acquireAsync");
        if (Thread.interrupted()) {
            throw new InterruptedException("interrupted before acquiring \"" + key + "\"; nothing was sent");
        }
        LeaseHandle lease = newLease();
        acquire(lease, key, spec, waitNs, null);
        return lease.awaitAcquired();
    }

    /**
     * Acquires without blocking; see {@link AcquireFuture}.
     *
     * @return completed with the outcome, by the {@link CallbackExecutor}
     * @throws IllegalArgumentException if the ttl is out of range
     */
    public CompletionStage<AcquireOutcome> acquireAsync(LockKey key, AcquireSpec spec, long waitNs) {
        LeaseHandle lease = newLease();
        AcquireFuture future = new AcquireFuture(lease);
        Runnable delivery = future::deliver;
        acquire(lease, key, spec, waitNs, outcome -> callbacks.execute(delivery));
        return future;
    }

    /**
     * Acquires with a given lease; allocates nothing.
     *
     * @param lease    a lease of this client, not in use
     * @param callback receives the outcome on the event loop, never during this call; null for none
     * @throws IllegalArgumentException if the ttl is out of range
     * @throws IllegalStateException    if the lease is in use
     */
    public void acquire(LeaseHandle lease, LockKey key, AcquireSpec spec, long waitNs,
            AcquireCallback callback) {
        LeaseTimes times = spec.times;
        if (times == null || times.terms != terms) {
            times = timesOf(spec);
        }
        LockKey lockKey = key;
        if (spec.kind != LockKind.PLAIN) {
            spec.check(key);
            lockKey = key.as(spec.kind, spec.permitCount);
        }
        if (hasClusters) {
            lockKey.checkSlots(spec.isFenced);
        }
        if (spec.retainNsMax > 0) {
            RetainedOptions.check(spec, lockKey, config, hasClusters);
        }
        lease.start(conductorOf(key), lockKey, spec, times, waitNs, callback);
    }

    /** Most options of a client have the same times, also where a caller makes them anew for each call. */
    private LeaseTimes timesOf(AcquireSpec spec) {
        LeaseTimes last = lastTimes;
        if (last == null || last.ttlMs != spec.ttlMs || last.ownMinValidityNs != spec.minValidityNs) {
            last = terms.timesOf(spec);
            lastTimes = last;
        }
        // Another client may overwrite the field.
        spec.times = last;
        return last;
    }

    /** @throws IllegalArgumentException if no acquisition of a view could use the options: the ttl is out of range */
    public void check(AcquireSpec spec) {
        terms.timesOf(spec);
    }

    /**
     * Rejects options for retained locks that no acquisition of a view could use.
     *
     * @param key the plain key of the resource, or that of a set
     * @throws IllegalArgumentException if they have {@code retain} together with what it excludes
     */
    public void checkRetained(AcquireSpec spec, LockKey key) {
        if (spec.retainNsMax > 0) {
            RetainedOptions.check(spec, key, config, hasClusters);
        }
    }

    /** A resource always maps to the same event loop, whose local queue serves all its waiters. */
    Conductor conductorOf(LockKey key) {
        if (conductors.length == 1) {
            return conductors[0];
        }
        int spread = key.resourceKey(0).hashCode() * 0x9E3779B9;
        return conductors[(spread >>> 1) % conductors.length];
    }

    /**
     * Runs a task on the event loop of a key after a delay, unless the loop ends before.
     *
     * @throws java.util.concurrent.RejectedExecutionException if the loop has ended
     */
    public void schedule(LockKey key, Runnable task, long delayNs) {
        conductorOf(key).services.loop.schedule(task, delayNs, TimeUnit.NANOSECONDS);
    }

    /** @return whether the event loop of a key has ended, or the client on it: it acquires nothing any more */
    public boolean isLoopClosed(LockKey key) {
        return conductorOf(key).isClosed();
    }

    /** @return a lease that has not been used */
    public LeaseHandle newLease() {
        return new LeaseHandle(this);
    }

    /**
     * Reads the held and the awaited locks of each event loop.
     *
     * @param countMax of each, at most; the oldest ones
     * @return a part for each event loop, which completes it
     */
    public List<CompletableFuture<LocalLocks>> localLocks(int countMax) {
        LocalLocksReader[] readers = new LocalLocksReader[conductors.length];
        for (int i = 0; i < readers.length; i++) {
            // At one moment, so that the ages of all loops can be compared.
            readers[i] = new LocalLocksReader(this, countMax, conductors[i].clock().nanoTime());
        }
        List<CompletableFuture<LocalLocks>> parts = new ArrayList<>();
        for (int i = 0; i < readers.length; i++) {
            parts.add(readers[i].start(conductors[i]));
        }
        return parts;
    }

    /** @return the configuration */
    public ClientConfig config() {
        return config;
    }

    @Override
    String problemOf(int nodeIndex) {
        return loops.problemOf(nodeIndex);
    }

    @Override
    String quarantineAdvice(int count) {
        return loops.quarantineAdvice(count);
    }

    /** @return monotonic time, nanoseconds */
    public long nowNs() {
        return clock.nanoTime();
    }

    /** @return true on one of the client's event loops */
    @Override
    public boolean isOnLoop() {
        for (Conductor conductor : conductors) {
            if (conductor.isOwnThread()) {
                return true;
            }
        }
        return false;
    }

    @Override
    public void refuseOnLoop(String call, String instead) {
        if (isOnLoop()) {
            throw new IllegalStateException("blocking call " + call
                    + " on the client's event loop, which must not block: use " + instead + " there");
        }
    }
}
