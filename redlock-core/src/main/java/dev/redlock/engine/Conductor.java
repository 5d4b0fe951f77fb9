package dev.redlock.engine;

import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.CommandKind;
import dev.redlock.node.Voter;
import dev.redlock.time.NanoClock;
import java.util.concurrent.CompletableFuture;

/**
 * Wires the parts of one event loop together, and passes them the events of claims and the requests of leases.
 * {@link NodeEvents} passes them the events of nodes.
 *
 * <ul>
 * <li>{@link LoopServices} is what all of them share;
 * <li>{@link AcquireScheduler} starts attempts, and owns everything about acquiring and waiting;
 * <li>{@link LeaseKeeper} watches held leases, and owns everything about extending and releasing;
 * <li>{@link Shutdown} ends acquisitions, leases and nodes.
 * </ul>
 *
 * @threading event-loop-confined, except {@link #execute(Runnable)}, {@link #isOwnThread}, {@link #isClosed},
 *            {@link #start} and the methods for the client
 */
final class Conductor extends ClaimFailures implements LeaseLoop {

    private static final long TRIM_PERIOD_NS = 1_000_000_000;

    final LoopServices services;
    final ClaimPool claims;
    final QuorumWatch quorumWatch;
    final Shutdown shutdown;
    private final NextTurn nextTurn;
    final CompletableFuture<Void> settled = new CompletableFuture<>();
    private long trimmedNs;

    Conductor(ClientConfig config, LoopSetup setup) {
        this.services = new LoopServices(config, setup, new NodeEvents(this), this::trimIfDue);
        this.trimmedNs = services.clock.nanoTime();
        this.quorumWatch = new QuorumWatch(services);
        this.claims = new ClaimPool(services, this, this::onIdle);
        ReleaseTally tally = new ReleaseTally();
        this.keeper = new LeaseKeeper(services, claims, tally, setup.random());
        this.scheduler = new AcquireScheduler(services, claims, keeper, setup.random());
        keeper.waiters = scheduler;
        keeper.retention = new RetainedLocks(services, scheduler, keeper, this);
        this.shutdown = new Shutdown(services, scheduler, keeper, tally, claims, settled);
        this.nextTurn = shutdown.nextTurn();
    }

    private void onIdle() {
        shutdown.onProgress();
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
        shutdown.watchLoop();
        quorumWatch.start();
        for (Voter voter : services.voters) {
            voter.open();
        }
    }

    // ---- events of the claims ---------------------------------------------------------------------------------------

    @Override
    public void onReply(Claim claim, int nodeIndex, CommandKind kind, int sequence, long value) {
        if (scheduler.registrations.count != 0) {
            scheduler.queues.onOwnReply(claim, nodeIndex, kind, value);
        }
        switch (kind) {
            case ACQUIRE, ACQUIRE_FENCED -> scheduler.operation.onReply(claim, nodeIndex, value);
            case EXTEND, EXTEND_MANY -> keeper.extensions.onReply(claim, nodeIndex, sequence, value);
            case RELEASE, RELEASE_FENCED, RELEASE_MANY, RELEASE_MANY_FENCED -> {
                if (claim.phase == Claim.Phase.QUERYING_HOLDER) {
                    onRolledBack(claim, nodeIndex, sequence);
                } else {
                    keeper.releases.onReply(claim, nodeIndex, sequence, value);
                }
            }
            default -> onRareReply(claim, nodeIndex, kind, sequence, value);
        }
    }

    private void onRareReply(Claim claim, int nodeIndex, CommandKind kind, int sequence, long value) {
        switch (kind) {
            case ACQUIRE_WITH_TICKET, ACQUIRE_FENCED_WITH_TICKET ->
                scheduler.operation.onReply(claim, nodeIndex,
                        value > 0 ? value : scheduler.registrations.onTicket(claim, nodeIndex, value));
            case RAISE -> claim.fenceOrSearch.onReply(nodeIndex, value);
            case REMAINING_TTL -> onRemainingTtl(claim, nodeIndex, value);
            case TICKETS -> scheduler.queues.fairness.onTickets(claim.key, value);
            case KEY_TYPE -> scheduler.holderQuery.onType(claim, nodeIndex, sequence, value);
            case CHECK -> keeper.lossWatch.onReply(claim, nodeIndex, value);
            default -> {
                // SHORTEN: without effect on a node, its key expires later.
            }
        }
    }

    private void onRemainingTtl(Claim claim, int nodeIndex, long value) {
        LockKey key = claim.key;
        if (claim.phase == Claim.Phase.SEARCHING) {
            claim.fenceOrSearch.onReply(nodeIndex, value);
        } else if (key.lock() != key) {
            scheduler.queues.marks.onAnswer(key.lock(), value);
        } else if (claim.phase == Claim.Phase.ABANDONED) {
            scheduler.queues.marks.onChecked(claim, value);
        } else {
            scheduler.holderQuery.onReply(claim, value);
        }
    }

    @Override
    public void onLastReply(Claim claim) {
        claims.recycle(claim);
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

    /** Shrinks the pools after an outage. An idle client has timers too, because it watches its nodes. */
    private void trimIfDue(long nowNs) {
        if (nowNs - trimmedNs < TRIM_PERIOD_NS) {
            return;
        }
        trimmedNs = nowNs;
        services.config.loops().callbacks().poll(nowNs);
        claims.trim();
        scheduler.trim();
        keeper.retention.trim();
        services.fanOut.trim();
        for (Voter voter : services.voters) {
            voter.trim();
        }
    }
}
