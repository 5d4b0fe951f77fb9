package dev.redlock.engine;

import dev.redlock.api.CloseReport;
import dev.redlock.node.CommandKind;
import dev.redlock.node.VoteFailure;
import dev.redlock.node.Voter;
import dev.redlock.quorum.Vote;
import dev.redlock.telemetry.AcquireTimes;
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
final class Conductor implements ClaimEvents, LeaseLoop {

    private static final long TRIM_PERIOD_NS = 1_000_000_000;

    final LoopServices services;
    final ClaimPool claims;
    final LeaseKeeper keeper;
    final AcquireScheduler scheduler;
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
            case ACQUIRE_WITH_TICKET, ACQUIRE_FENCED_WITH_TICKET ->
                scheduler.operation.onReply(claim, nodeIndex,
                        value > 0 ? value : scheduler.registrations.onTicket(claim, nodeIndex, value));
            case RAISE -> claim.guest.onReply(nodeIndex, value);
            case REMAINING_TTL -> onRemainingTtl(claim, nodeIndex, value);
            case TICKETS -> scheduler.queues.fairness.onTickets(claim.key, value);
            case KEY_TYPE -> scheduler.holderQuery.onType(claim, nodeIndex, sequence, value);
            case EXTEND, EXTEND_MANY -> keeper.extensions.onReply(claim, nodeIndex, sequence, value);
            case CHECK -> keeper.lossWatch.onReply(claim, nodeIndex, value);
            case SHORTEN -> {
                // Without effect on a node, its key expires later.
            }
            case RELEASE, RELEASE_FENCED, RELEASE_MANY, RELEASE_MANY_FENCED -> {
                if (claim.phase == Claim.Phase.QUERYING_TTL) {
                    onRolledBack(claim, nodeIndex, sequence);
                } else {
                    keeper.releases.onReply(claim, nodeIndex, sequence, value);
                }
            }
        }
    }

    private void onRemainingTtl(Claim claim, int nodeIndex, long value) {
        LockKey key = claim.key;
        if (claim.phase == Claim.Phase.SEARCHING) {
            claim.guest.onReply(nodeIndex, value);
        } else if (key.lock() != key) {
            scheduler.queues.marks.onAnswer(key.lock(), value);
        } else {
            scheduler.holderQuery.onReply(claim, value);
        }
    }

    private void onRolledBack(Claim claim, int nodeIndex, int sequence) {
        if (sequence != ReleaseOperation.COUNTER_ONLY_SEQUENCE) {
            scheduler.holderQuery.onReleased(claim, nodeIndex);
        }
    }

    @Override
    public void onNoReply(Claim claim, int nodeIndex, CommandKind kind, int sequence, Vote vote,
            VoteFailure failure) {
        switch (kind) {
            case ACQUIRE, ACQUIRE_FENCED, ACQUIRE_WITH_TICKET, ACQUIRE_FENCED_WITH_TICKET ->
                scheduler.operation.onNoReply(claim, nodeIndex, vote, failure);
            case RAISE -> claim.guest.onNoReply(nodeIndex, vote);
            case REMAINING_TTL -> {
                if (claim.phase == Claim.Phase.SEARCHING) {
                    claim.guest.onNoReply(nodeIndex, vote);
                }
            }
            case EXTEND, EXTEND_MANY -> keeper.extensions.onNoReply(claim, nodeIndex, sequence, vote, failure);
            case CHECK -> keeper.lossWatch.onNoReply(claim, nodeIndex, failure);
            case KEY_TYPE -> scheduler.holderQuery.onNoType(claim, nodeIndex, sequence);
            case TICKETS -> {
                // The next release asks again.
            }
            case SHORTEN -> {
                // The key expires with its ttl.
            }
            case RELEASE, RELEASE_FENCED, RELEASE_MANY, RELEASE_MANY_FENCED ->
                onNotReleased(claim, nodeIndex, kind, sequence, vote, failure);
        }
    }

    private void onNotReleased(Claim claim, int nodeIndex, CommandKind kind, int sequence, Vote vote,
            VoteFailure failure) {
        boolean isNotHeld = isNotHeld(kind, failure);
        if (isNotHeld && scheduler.holderQuery.onWrongType(claim, nodeIndex)) {
            return;
        }
        boolean isRolledBack = claim.phase == Claim.Phase.QUERYING_TTL;
        keeper.releases.onNoReply(claim, nodeIndex, sequence, isNotHeld ? Vote.REFUSED : vote);
        if (isRolledBack) {
            onRolledBack(claim, nodeIndex, sequence);
        }
    }

    /** A key of another type has no token. With a counter, the counter may be of that type instead. */
    private static boolean isNotHeld(CommandKind kind, VoteFailure failure) {
        return failure == VoteFailure.WRONGTYPE && (kind == CommandKind.RELEASE || kind == CommandKind.RELEASE_MANY);
    }

    @Override
    public void onRefusedAhead(Claim claim, int nodeIndex) {
        keeper.extensions.onNotHeld(claim, nodeIndex);
    }

    @Override
    public void onRoundTimeout(Claim claim) {
        switch (claim.phase) {
            case ACQUIRING -> scheduler.operation.onTimeout(claim);
            case RAISING, SEARCHING -> claim.guest.onTimeout();
            case QUERYING_TTL -> scheduler.holderQuery.end(claim);
            default -> keeper.releases.onTimeout(claim);
        }
    }

    @Override
    public void onExtendTimeout(Claim claim) {
        keeper.extensions.onTimeout(claim);
    }

    @Override
    public void onHoldTimer(Claim claim, long nowNs) {
        keeper.renewals.onHoldTimer(claim, nowNs);
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
            case RequestMailbox.CANCEL -> scheduler.cancel(lease);
            case RequestMailbox.EXTEND -> keeper.extend(lease);
            default -> keeper.releases.release(lease);
        }
    }

    @Override
    public void abortAfterFailure(LeaseHandle lease) {
        scheduler.abortAfterFailure(lease);
    }

    @Override
    public void endAfterFailure(LeaseHandle lease) {
        keeper.releases.endAfterFailure(lease);
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
        claims.trim();
        scheduler.trim();
        services.fanOut.trim();
        for (Voter voter : services.voters) {
            voter.trim();
        }
    }

    // ---- for the client ---------------------------------------------------------------------------------------------

    Voter[] voters() {
        return services.voters;
    }

    /** Whether a quorum of the nodes votes now. Any thread. */
    boolean isQuorumAvailable() {
        return quorumWatch.isAvailable();
    }

    /** The event loops of one client log a loss once. Before the start. */
    void shareQuorumWatch(Conductor other) {
        quorumWatch.shareWith(other.quorumWatch);
    }

    long count(int counter) {
        return services.counters.read(counter);
    }

    AcquireTimes startAcquireTimes() {
        return services.telemetry.rare.startAcquireTimes();
    }

    FlightRecord flightRecord() {
        return services.telemetry.rare.flightRecord();
    }

    /** Starts to close, from any thread. */
    void close(long timeoutNs, CompletableFuture<CloseReport> report) {
        shutdown.start(timeoutNs, report);
    }
}
