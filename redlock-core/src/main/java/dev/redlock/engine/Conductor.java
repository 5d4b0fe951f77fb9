package dev.redlock.engine;

import dev.redlock.time.NanoClock;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/**
 * Wires the parts of one event loop together, and passes them the requests of leases. {@link ClaimRouter} passes them
 * the events of claims, and {@link NodeEvents} those of nodes.
 *
 * <ul>
 * <li>{@link LoopServices} is what all of them share;
 * <li>{@link AcquireScheduler} starts attempts, and owns everything about acquiring and waiting;
 * <li>{@link LeaseKeeper} watches held leases, and owns everything about extending and releasing;
 * <li>{@link Shutdown} ends acquisitions, leases and nodes.
 * </ul>
 *
 * @threading event-loop-confined, except {@link #execute(Runnable)}, {@link #addUnsubmitted},
 *            {@link #isOwnThread}, {@link #isClosed}, {@link #start} and the methods for the client
 */
final class Conductor implements LeaseLoop {

    final LoopServices services;
    final ClaimPool claims;
    final AcquireScheduler scheduler;
    final KeyChanges keyChanges;
    final LeaseKeeper keeper;
    final QuorumWatch quorumWatch;
    final Shutdown shutdown;
    private final NextTurn nextTurn;
    private final StartSteps startSteps;
    final CompletableFuture<Void> settled = new CompletableFuture<>();

    private Conductor(ClientConfig config, LoopSetup setup) {
        NodeEvents nodeEvents = new NodeEvents(settled);
        PoolTrimmer trimmer = new PoolTrimmer();
        this.services = new LoopServices(config, setup, nodeEvents, trimmer);
        this.quorumWatch = new QuorumWatch(services);
        ClaimRouter router = new ClaimRouter();
        this.claims = new ClaimPool(services, router);
        ReleaseTally tally = new ReleaseTally();
        this.keeper = LeaseKeeper.create(services, claims, tally, setup.random());
        this.scheduler = AcquireScheduler.create(services, claims, keeper, setup.random());
        this.keyChanges = new KeyChanges(services, scheduler);
        keeper.waiters = scheduler;
        this.shutdown = new Shutdown(services, scheduler, keeper, tally, claims, settled);
        this.nextTurn = shutdown.nextTurn();
        router.connect(claims, scheduler, keyChanges, keeper, shutdown);
        nodeEvents.connect(services, scheduler, keyChanges, keeper, quorumWatch, shutdown);
        Stream<Runnable> watches = Stream.of(shutdown::watchLoop, services::startTimers, quorumWatch::start);
        Stream<Runnable> nodes = Stream.of(services.voters).map(voter -> voter::open);
        this.startSteps = new StartSteps(services, Stream.concat(watches, nodes).toArray(Runnable[]::new));
        trimmer.connect(services, claims, scheduler, keeper, nextTurn, startSteps,
                new UnlimitedWaits(scheduler, quorumWatch, services.clock.nanoTime()));
    }

    /** Wires an event loop. The locks that stay for the next caller submit requests to it, so they come last. */
    static Conductor create(ClientConfig config, LoopSetup setup) {
        Conductor created = new Conductor(config, setup);
        LeaseKeeper keeper = created.keeper;
        keeper.retention = new RetainedLocks(created.services, created.scheduler, keeper, created);
        return created;
    }

    // ---- connecting -------------------------------------------------------------------------------------------------

    /** Starts to connect to every node. The future completes after the first reply or failure of each node. */
    CompletableFuture<Void> start() {
        services.executeUnlessEnding(this::connect);
        if (services.loop.isShuttingDown()) {
            // A loop that is shutting down may not run the task.
            shutdown.markClosed();
            settled.complete(null);
        }
        return settled;
    }

    private void connect() {
        if (services.loop.isShuttingDown()) {
            shutdown.onLoopEnding();
            return;
        }
        startSteps.run();
    }

    // ---- requests of the leases -------------------------------------------------------------------------------------

    @Override
    public void execute(LeaseHandle lease, int request) {
        switch (request) {
            case RequestMailbox.ACQUIRE -> scheduler.acquire(lease);
            case RequestMailbox.DELIVER -> lease.deliver();
            case RequestMailbox.CANCEL -> scheduler.retries.cancel(lease);
            case RequestMailbox.EXTEND -> keeper.extend(lease);
            case RequestMailbox.HOLD -> keeper.kept.change(lease);
            default -> keeper.releases.release(lease);
        }
    }

    @Override
    public boolean grant(LeaseHandle lease) {
        return keeper.retention.grant(lease);
    }

    @Override
    public void abortAfterFailure(LeaseHandle lease) {
        scheduler.retries.abortAfterFailure(lease);
    }

    @Override
    public void endAfterFailure(LeaseHandle lease) {
        keeper.loss.endAfterFailure(lease);
    }

    @Override
    public boolean enterCall() {
        return nextTurn.enterCall();
    }

    @Override
    public void leaveCall() {
        nextTurn.leaveCall();
    }

    @Override
    public void addToNextTurn(RequestMailbox lease) {
        nextTurn.add(lease);
    }

    @Override
    public void addUnsubmitted(RequestMailbox lease) {
        services.unsubmitted.add(lease);
    }

    // ---- the loop ---------------------------------------------------------------------------------------------------

    @Override
    public NanoClock clock() {
        return services.clock;
    }

    @Override
    public void execute(Runnable task) {
        services.loop.execute(task);
    }

    @Override
    public void wake(Thread blocked) {
        services.callers.wake(blocked);
    }

    @Override
    public boolean isOwnThread() {
        return services.loop.inEventLoop();
    }

    @Override
    public boolean isClosed() {
        return services.isClosed;
    }
}
