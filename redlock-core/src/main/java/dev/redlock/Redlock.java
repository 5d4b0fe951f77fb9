package dev.redlock;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CheckReturnValue;
import dev.redlock.api.Lease;
import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.ClientConfig;
import dev.redlock.engine.ClientLoops;
import dev.redlock.engine.LockEngine;
import dev.redlock.engine.key.LockKey;
import dev.redlock.time.Durations;
import java.time.Duration;
import java.util.Collection;
import java.util.Objects;

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
 * {@link RedlockContext#defaultWait RedlockContext.defaultWait}. {@code tryAcquire} makes one attempt unless a wait
 * budget is given.
 *
 * <p>All calls throw {@link IllegalArgumentException} for a name that is empty or too long and for a ttl out of range.
 * Those that block throw {@link InterruptedException} if the thread is interrupted, and roll the attempt back; on an
 * event loop of the client they throw {@link IllegalStateException}. A task that throws releases its lock.
 *
 * @threading any thread
 */
public final class Redlock extends ScopedClient {

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
        super(engine);
    }

    /**
     * Connects with every option at its default.
     *
     * @param addresses one for each node; see {@link RedlockContext#nodes}
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
     * @param context the configuration; concluded by this call, unless it throws
     * @throws IllegalArgumentException if the configuration contradicts itself
     * @throws IllegalStateException    if Netty is older than 4.2.2
     */
    public static Redlock connect(RedlockContext context) {
        Objects.requireNonNull(context, "context is null");
        ClientConfig config = context.conclude();
        try {
            return connect(ClientLoops.create(config));
        } catch (Throwable e) {
            context.reopen();
            throw e;
        }
    }

    private static Redlock connect(ClientLoops loops) {
        try {
            LockEngine engine = new LockEngine(loops);
            engine.connect();
            return new Redlock(engine);
        } catch (Throwable e) {
            closeUnused(loops, e);
            throw e;
        }
    }

    /** Nobody else can close them. */
    private static void closeUnused(ClientLoops loops, Throwable thrown) {
        try {
            loops.close(0);
        } catch (Throwable e) {
            thrown.addSuppressed(e);
        }
    }

    // ---- blocking ---------------------------------------------------------------------------------------------------

    /**
     * Acquires a lock, and waits for it up to {@link RedlockContext#defaultWait RedlockContext.defaultWait}.
     *
     * @param ttl      time that the lock is held at most without an extension
     * @return the outcome; {@link AcquireOutcome#lease} returns the lease or throws
     */
    @CheckReturnValue
    public AcquireOutcome acquire(String resource, Duration ttl) throws InterruptedException {
        return acquireBlocking(engine.key(resource), specOfTtl(ttl));
    }

    /**
     * Acquires a lock, and waits for it up to {@link AcquireOptions#waitUpTo} or else
     * {@link RedlockContext#defaultWait RedlockContext.defaultWait}.
     */
    @CheckReturnValue
    public AcquireOutcome acquire(String resource, AcquireOptions options) throws InterruptedException {
        return acquireBlocking(engine.key(resource), AcquireOptions.specOf(options));
    }

    /**
     * Acquires a lock as {@link #acquire(String, AcquireOptions)} does. Allocates the lease and nothing else.
     *
     * @param key     the name to lock, encoded by {@link #key}
     * @throws IllegalArgumentException if the ttl is out of range, or the key has another prefix than this client's
     */
    @CheckReturnValue
    public AcquireOutcome acquire(ResourceKey key, AcquireOptions options) throws InterruptedException {
        return acquireBlocking(lockKey(key), AcquireOptions.specOf(options));
    }

    /**
     * Acquires a lock if it is free: one attempt.
     *
     * @param ttl      time that the lock is held at most without an extension
     */
    @CheckReturnValue
    public AcquireOutcome tryAcquire(String resource, Duration ttl) throws InterruptedException {
        return engine.acquireBlocking(engine.key(resource), specOfTtl(ttl), 0);
    }

    /**
     * Acquires a lock, and waits for it up to a budget.
     *
     * @param ttl      time that the lock is held at most without an extension
     * @param wait     wait budget; zero for one attempt
     * @throws IllegalArgumentException if the resource is empty or too long, the ttl out of range or the budget
     *                                  negative
     */
    @CheckReturnValue
    public AcquireOutcome tryAcquire(String resource, Duration ttl, Duration wait) throws InterruptedException {
        return engine.acquireBlocking(engine.key(resource), specOfTtl(ttl), Durations.nanosOf("wait", wait));
    }

    /** Acquires a lock if it is free: one attempt, or more if the options have a wait budget. */
    @CheckReturnValue
    public AcquireOutcome tryAcquire(String resource, AcquireOptions options) throws InterruptedException {
        AcquireSpec spec = AcquireOptions.specOf(options);
        return engine.acquireBlocking(engine.key(resource), spec, spec.waitNsOr(0));
    }

    /**
     * Acquires a lock as {@link #tryAcquire(String, AcquireOptions)} does. Allocates the lease and nothing else.
     *
     * @param key     the name to lock, encoded by {@link #key}
     * @throws IllegalArgumentException if the ttl is out of range, or the key has another prefix than this client's
     */
    @CheckReturnValue
    public AcquireOutcome tryAcquire(ResourceKey key, AcquireOptions options) throws InterruptedException {
        AcquireSpec spec = AcquireOptions.specOf(options);
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
     * @throws IllegalArgumentException if there are no resources, too many, or one twice; if a name is empty or too
     *                                  long, or the ttl out of range
     */
    @CheckReturnValue
    public AcquireOutcome acquireAll(Collection<String> resources, AcquireOptions options) throws InterruptedException {
        return acquireBlocking(engine.keyOfAll(resources), AcquireOptions.specOf(options));
    }

    /**
     * Acquires a set of resources as {@link #acquireAll} does, if all are free: one attempt, or more if the options
     * have a wait budget.
     *
     * @param resources the names to lock, 1 to 64
     * @throws IllegalArgumentException as {@link #acquireAll}
     */
    @CheckReturnValue
    public AcquireOutcome tryAcquireAll(Collection<String> resources, AcquireOptions options)
            throws InterruptedException {
        AcquireSpec spec = AcquireOptions.specOf(options);
        return engine.acquireBlocking(engine.keyOfAll(resources), spec, spec.waitNsOr(0));
    }

    private AcquireOutcome acquireBlocking(LockKey key, AcquireSpec spec) throws InterruptedException {
        return engine.acquireBlocking(key, spec, waitNs(spec));
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

    /** @return a lease handle that serves one acquisition after another */
    public Lease newLease() {
        return engine.newLease();
    }

    /**
     * Encodes the name of a lock. Keep the key if you lock the same resource often.
     *
     * @throws IllegalArgumentException if it is empty or too long, or contains {@code :redlock:fence},
     *                                  {@code :redlock:permit} or {@code :redlock:reservation} with the prefix, which
     *                                  name other keys of the client
     */
    public ResourceKey key(String resource) {
        return new ResourceKey(engine.key(resource));
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
        return new ResourceKey(engine.keyOfAll(resources));
    }
}
