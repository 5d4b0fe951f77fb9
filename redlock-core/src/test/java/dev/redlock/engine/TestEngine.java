package dev.redlock.engine;

import dev.redlock.api.AcquireCallback;
import dev.redlock.api.CloseReport;
import dev.redlock.api.IdlePolicy;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RetentionEnd;
import dev.redlock.engine.key.KeyText;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.watch.ConductorCounters;
import dev.redlock.node.send.WaiterName;
import dev.redlock.quorum.TokenStream;
import dev.redlock.time.DeadlineTimer;
import dev.redlock.time.NanoClock;
import dev.redlock.transport.IoTransport;
import io.netty.channel.EventLoop;
import io.netty.channel.IoHandlerFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Runs an engine on given loops, transports, a clock and a seed, and gives tests access to its internal state. */
public final class TestEngine {

    private final Conductor[] conductors;
    private final LockEngine engine;
    private final Random tokenSeeds;

    public TestEngine(ClientConfig config, Supplier<IoTransport> transports, NanoClock clock,
            long seed, EventLoop... loops) {
        tokenSeeds = new Random(seed);
        conductors = new Conductor[loops.length];
        // Not the seeds of the tokens: a name takes nothing from them.
        Random names = new Random(~seed);
        for (int i = 0; i < loops.length; i++) {
            byte[] name = new byte[WaiterName.LENGTH];
            names.nextBytes(name);
            conductors[i] = Conductor.create(config, new LoopSetup(loops[i], transports.get(), clock,
                    new TokenStream(tokenSeeds::nextBytes, () -> seed, clock.nanoTime()), new WaiterName(name),
                    new SplittableRandom(seed)));
        }
        engine = new LockEngine(new ClientLoops(config, conductors, List.of(), "given"));
    }

    /** An event loop as clients run it. */
    public static final class RunningLoop {

        private final EventLoopRunner runner;

        private RunningLoop(EventLoopRunner runner) {
            this.runner = runner;
        }

        public static RunningLoop start(IoHandlerFactory factory, IdlePolicy idlePolicy,
                String name) {
            return new RunningLoop(EventLoopRunner.start(factory, idlePolicy, name));
        }

        public EventLoop loop() {
            return runner.loop();
        }

        /** Shuts the loop down and waits for the end of its thread. */
        public void shutDown() {
            runner.shutDown();
        }
    }

    public LockEngine lockEngine() {
        return engine;
    }

    /** Starts to connect. */
    public CompletableFuture<Void> open() {
        return conductors[0].start();
    }

    /** Runs a task on the loop. */
    public void execute(Runnable task) {
        conductors[0].execute(task);
    }

    /** Starts to close. */
    public CompletableFuture<CloseReport> close(Duration timeout) {
        CompletableFuture<CloseReport> report = new CompletableFuture<>();
        execute(() -> conductors[0].shutdown.close(timeout.toNanos(), report));
        return report;
    }

    /** @return claims that are not in their pool */
    public int claimsOut() {
        return conductors[0].claims.outCount();
    }

    /**
     * @return whether nothing waits or is retained, and no resource has a queue, a registration, a used permit or a
     *         place in a limit
     */
    public boolean isIdle() {
        AcquireScheduler scheduler = conductors[0].scheduler;
        return scheduler.firstActive == null && scheduler.waiterCount == 0 && scheduler.inFlight.count == 0
                && conductors[0].keeper.extendableCount == 0 && conductors[0].keeper.retention.count == 0
                && scheduler.queues.count == 0
                && scheduler.queues.resourceQueues.isEmpty()
                && scheduler.registrations.count == 0 && conductors[0].scheduler.permits.isIdle();
    }

    /** @return whether a resource has a queue, with a waiter or without */
    public boolean hasQueues() {
        return conductors[0].scheduler.queues.count != 0;
    }

    /** @return queues with a registration on any node */
    public int registeredCount() {
        return conductors[0].scheduler.registrations.count;
    }

    /** @return the queue of a resource, to be compared by identity; null if nobody waits */
    public Object queueOf(String resource) {
        return conductors[0].scheduler.queues.get(new LockKey(KeyText.ofResource("", resource, resource.length())));
    }

    /** @return leases that a clock jump has shortened */
    public int shortenedLeases() {
        return conductors[0].keeper.loss.shortened.count();
    }

    RetainedLocks retainedLocks() {
        return (RetainedLocks) conductors[0].keeper.retention;
    }

    /** @return locks that were retained until something ended it, by the name of a {@link RetentionEnd} */
    public long retentionEnds(String cause) {
        return conductors[0].services.counters
                .read(ConductorCounters.RETENTION_END_FIRST + RetentionEnd.valueOf(cause).ordinal());
    }

    /** @return claims in the pool */
    public int pooledClaims() {
        return conductors[0].claims.pooledCount();
    }

    /** Returns a coordinator of the nodes that has seen no attempt. */
    Coordinator newCoordinator() {
        return new Coordinator(conductors[0].services.voters, conductors[0].services.fanOut);
    }

    ThriftyQuorum thriftyQuorum() {
        return conductors[0].services.thriftyQuorum;
    }

    /** @return pending acquires in the pool */
    public int pooledAcquires() {
        return conductors[0].scheduler.pooledCount();
    }

    /** @return queues in the pool, and buckets of the tables of queues */
    public int queueCapacity() {
        return conductors[0].scheduler.queues.capacity();
    }

    /**
     * Checks the states of all pending acquires and held leases.
     *
     * @param  leases leases to check too, whatever their state; the first conductor was the last that they used
     * @return        what contradicts the table of states; empty if nothing does
     */
    public List<String> stateViolations(Iterable<? extends Lease> leases) {
        return StateTable.violations(conductors[0], leases);
    }

    /** @return a voter as text: a cluster has the number of its servers, also of those that no map has any more */
    public String voter(int index) {
        return conductors[0].services.voters[index].toString();
    }

    LeaseKeeper keeper() {
        return conductors[0].keeper;
    }

    /** @return leases that the keeper tracks */
    public int heldCount() {
        return conductors[0].keeper.heldCount();
    }

    /** @return one of the held leases; null if there is none */
    public Lease anyHeld() {
        return conductors[0].keeper.firstHeld;
    }

    /** Calls with each held lease, those without a caller included. */
    public void forEachHeld(Consumer<Lease> visitor) {
        for (LeaseHandle lease = conductors[0].keeper.firstHeld; lease != null; lease = lease.nextHeld) {
            visitor.accept(lease);
        }
    }

    /** @return what a lease is held by, until it ends: an object for each token */
    public static Object claimOf(Lease lease) {
        return ((LeaseHandle) lease).claim;
    }

    /** @return whether a lease is still the use of its handle that a claim was acquired for, and looks held */
    public static boolean looksHeld(Lease lease, int use) {
        LeaseHandle handle = (LeaseHandle) lease;
        return handle.useCount() == use && handle.storedState() == LeaseState.HELD;
    }

    /** @return whether a lease has ended for its holder, and its lock is kept */
    public static boolean isKept(Lease lease, int use) {
        LeaseHandle handle = (LeaseHandle) lease;
        return handle.useCount() == use && handle.releaseOutcome == ReleaseOutcome.KEPT;
    }

    public static int useOf(Lease lease) {
        return ((LeaseHandle) lease).useCount();
    }

    /** @return the nodes whose votes have acquired a lease, as a mask */
    public static long grantedMask(Lease lease) {
        return ((LeaseHandle) lease).grantedMask;
    }

    /** @return the number of the last extension round of a claim; 0 before the first */
    public static int extensionOf(Object claim) {
        Extension extension = ((Claim) claim).extension;
        return extension == null ? 0 : extension.number;
    }

    /** @return the votes for the last extension round of a claim, as a mask */
    public static long extensionVotes(Object claim) {
        return ((Claim) claim).extension.round.granted();
    }

    /** @return whether a held lease must have a fencing token */
    public static boolean isFenced(Lease lease) {
        return ((LeaseHandle) lease).spec.isFenced;
    }

    /** @return the fencing token of a held lease; 0 for none */
    public static long fenceOf(Lease lease) {
        LeaseHandle handle = (LeaseHandle) lease;
        return handle.spec.isFenced ? handle.fencingToken : 0;
    }

    /** The claim of a lease, or of the retained lock whose local holder has it; null for none. */
    private static Claim lockedClaimOf(Lease lease) {
        LeaseHandle handle = (LeaseHandle) lease;
        return handle.claim == null && handle.loop() instanceof RetainedLease retained && retained.isHolder(handle)
                ? retained.claim
                : handle.claim;
    }

    /** @return whether the client retains a lock that no local lease has */
    public boolean isRetained(String resource) {
        return ((RetainedLocks) conductors[0].keeper.retention)
                .isFree(new LockKey(KeyText.ofResource("", resource, resource.length())));
    }

    /** @return the value of the keys of a held lease, bytes as chars; empty without a claim */
    public static String valueOf(Lease lease) {
        Claim claim = lockedClaimOf(lease);
        if (claim == null) {
            return "";
        }
        String bulk = new String(claim.token.bulk, StandardCharsets.ISO_8859_1);
        return bulk.substring(bulk.indexOf('\n') + 1, bulk.length() - 2);
    }

    /** @return the resource of the keys of a held lease: of a permit, its permit; empty without a claim */
    public static String lockedResource(Lease lease) {
        Claim claim = lockedClaimOf(lease);
        return claim == null ? "" : claim.key.resource();
    }

    /** Cancels the acquisition of a lease, as its caller does that is interrupted. */
    public static void cancel(Lease lease) {
        ((LeaseHandle) lease).cancel();
    }

    /** Starts an acquisition that throws before the scheduler has it, because it has no key, on a used lease. */
    public static void acquireWithoutKey(Lease lease, AcquireSpec spec, AcquireCallback callback) {
        LeaseHandle handle = (LeaseHandle) lease;
        handle.start(handle.loop(), null, spec, handle.times, spec.ttlMs, callback);
    }

    /** Runs a task while leases that the client extends cannot start their timers. */
    public void withoutRenewals(Runnable task) {
        Renewals renewals = conductors[0].keeper.renewals;
        conductors[0].keeper.renewals = null;
        try {
            task.run();
        } finally {
            conductors[0].keeper.renewals = renewals;
        }
    }

    /** Makes each attempt of a lease throw that records votes of nodes that have failed. */
    public static void failAtVotes(Lease lease) {
        ((LeaseHandle) lease).failures = new byte[Long.SIZE];
    }

    /** Makes a lease as if there was no memory for the reasons of its votes. */
    public static void forgetFailures(Lease lease) {
        ((LeaseHandle) lease).failures = null;
    }

    /** @return the monotonic time at which a lease was acquired */
    public static long acquiredNs(Lease lease) {
        return ((LeaseHandle) lease).acquiredNs;
    }

    /** @return the monotonic time at which the validity of a lease ends, whatever its state */
    public static long validUntilNs(Lease lease) {
        return ((LeaseHandle) lease).validUntilNs;
    }

    /** Starts a timer of the conductor. */
    public void startTimer(DeadlineTimer timer, long deadlineNs) {
        conductors[0].services.timers.start(timer, deadlineNs);
    }

    /** Reseeds the random source of tokens, as the system does for a copied process. */
    public void reseed(long seed) {
        tokenSeeds.setSeed(seed);
    }
}
