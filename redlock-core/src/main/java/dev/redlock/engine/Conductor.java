package dev.redlock.engine;

import dev.redlock.api.NodeState;
import dev.redlock.node.ClusterVoter;
import dev.redlock.node.DirectBuffers;
import dev.redlock.node.FanOut;
import dev.redlock.node.FreshGroup;
import dev.redlock.node.Log;
import dev.redlock.node.Node;
import dev.redlock.node.NodeContext;
import dev.redlock.node.NodeListener;
import dev.redlock.node.NodeView;
import dev.redlock.node.SharedIdentities;
import dev.redlock.node.VoteFailure;
import dev.redlock.node.Voter;
import dev.redlock.quorum.Majority;
import dev.redlock.quorum.SharedVotes;
import dev.redlock.quorum.Token;
import dev.redlock.quorum.TokenStream;
import dev.redlock.time.DeadlineTimer;
import dev.redlock.time.LoopTimers;
import dev.redlock.time.NanoClock;
import dev.redlock.time.TimerWheel;
import dev.redlock.transport.ClusterAddress;
import dev.redlock.transport.IoTransport;
import dev.redlock.transport.VoterAddress;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.random.RandomGenerator;

/**
 * Owns all state of one event loop. It wires the parts together and passes the events of the nodes to them:
 *
 * <ul>
 * <li>{@link AcquireScheduler} starts attempts;
 * <li>one operation for each command runs its rounds;
 * <li>{@link LeaseKeeper} watches held leases;
 * <li>{@link Shutdown} ends acquisitions, leases and nodes.
 * </ul>
 *
 * <p>Callers reach it through {@link LeaseHandle} alone.
 *
 * @threading event-loop-confined, except {@link #execute}, {@link #isOwnThread}, {@link #isClosed}, {@link #start},
 *            {@link #nowNs} and {@link #counters}
 */
final class Conductor implements NodeListener {

    /** Objects that each pool keeps at least: about a megabyte of claims. */
    static final int POOLED_MIN = 1024;
    private static final long TRIM_PERIOD_NS = 1_000_000_000;

    private final EventLoop loop;
    private final NanoClock clock;
    private final ClientConfig config;
    private final Voter[] voters;
    private final Majority majority;
    private final long all;
    private final FanOut fanOut;
    private final LoopTimers timers;
    private final TimerWheel wheel;
    private final TokenStream tokens;
    private final byte[] tokenLabel;
    private final ConductorCounters counters = new ConductorCounters();
    private final LoopTelemetry telemetry;
    private final ClaimPool claims;
    private final AcquireScheduler scheduler;
    private final AcquireOperation acquireOperation;
    private final HolderTtlQuery holderTtlQuery = new HolderTtlQuery(this);
    private final WatchOperation watchOperation = new WatchOperation(this);
    private final Intentions intentions = new Intentions(this);
    private final PermitOperation permits;
    private final ExtendOperation extendOperation;
    private final ReleaseOperation releaseOperation;
    private final LeaseKeeper keeper;
    private final LossWatch lossWatch = new LossWatch(this);
    private final QuorumWatch quorumWatch = new QuorumWatch(this);
    private final Fencing fencing;
    private final Doorkeeper doorkeeper;
    private final FirstVoters firstVoters;
    private final Shutdown shutdown;
    private final NextTurn nextTurn;
    private final CompletableFuture<Void> settled = new CompletableFuture<>();
    private long settledMask;
    private long trimmedNs;

    Conductor(ClientConfig config, EventLoop loop, IoTransport transport, NanoClock clock,
            TokenStream tokens, RandomGenerator random) {
        this.config = config;
        this.telemetry = new LoopTelemetry(this);
        this.loop = loop;
        this.clock = clock;
        this.tokens = tokens;
        this.tokenLabel = Token.labelOf(config.nameInValues());
        this.trimmedNs = clock.nanoTime();
        this.timers = new LoopTimers(clock, loop, this::trimIfDue,
                thrown -> Log.error("a timer threw; the client continues", thrown), config.isThrifty());
        this.wheel = timers.wheel();
        this.voters = new Voter[config.nodes().size()];
        SharedVotes sharedVotes = new SharedVotes(voters.length);
        this.majority = config.majority().withShared(sharedVotes);
        this.all = majority.all();
        this.fanOut = new FanOut(loop, new DirectBuffers(loop, transport.allocator(), clock), voters.length,
                config.nodeOptions().releaseBatchMax());
        NodeContext nodeContext = new NodeContext(loop, transport, clock, wheel, random,
                config.nodeOptions(), this,
                new SharedIdentities(sharedVotes, config.nodes().stream().map(VoterAddress::toString).toList()),
                new FreshGroup());
        for (int i = 0; i < voters.length; i++) {
            voters[i] = newVoter(i, config.nodes().get(i), nodeContext);
        }
        this.fencing = new Fencing(this);
        this.doorkeeper = new Doorkeeper(voters, fanOut);
        this.firstVoters = new FirstVoters(voters, fanOut, majority(), doorkeeper,
                config.isThrifty() ? random.nextInt(voters.length) : 0);
        this.claims = new ClaimPool(this);
        this.extendOperation = new ExtendOperation(this);
        this.keeper = new LeaseKeeper(this, new RenewalSpread(random));
        this.shutdown = new Shutdown(this, loop);
        this.acquireOperation = new AcquireOperation(this);
        this.releaseOperation = new ReleaseOperation(this);
        this.nextTurn = new NextTurn(loop, shutdown);
        this.permits = new PermitOperation(this, random);
        this.scheduler = new AcquireScheduler(this, loop, new RetryDelays(random, config.retryPolicy()));
    }

    private Voter newVoter(int index, VoterAddress address, NodeContext nodeContext) {
        return address instanceof ClusterAddress cluster
                ? new ClusterVoter(index, cluster, nodeContext, fanOut)
                : new Node(index, address.servers().get(0), nodeContext, fanOut);
    }

    // ---- connecting -------------------------------------------------------------------------------------------------

    /** Starts to connect to every node. The future completes after the first reply or failure of each node. */
    CompletableFuture<Void> start() {
        executeUnlessEnding(this::connect);
        if (loop.isShuttingDown()) {
            // A loop that is shutting down may not run the task.
            shutdown.markClosed();
            settle();
        }
        return settled;
    }

    private void connect() {
        if (loop.isShuttingDown()) {
            shutdown.onLoopEnding();
            return;
        }
        shutdown.watchLoop();
        quorumWatch.start();
        for (Voter voter : voters) {
            voter.open();
        }
    }

    /** Stops the wait for the first replies of the nodes. */
    void settle() {
        settled.complete(null);
    }

    // ---- events of the nodes ----------------------------------------------------------------------------------------

    @Override
    public void onStateChange(NodeView node, NodeState state) {
        telemetry.onNodeState(node, state);
        quorumWatch.onChange();
        if (state == NodeState.READY || state == NodeState.QUARANTINED || state == NodeState.WAITING) {
            // A restored copy of this process has to reconnect: new entropy keeps its tokens different from the
            // original's.
            tokens.rekey();
        }
        if (state == NodeState.READY || state == NodeState.WAITING) {
            settle(node.index());
        }
        if (state == NodeState.READY) {
            lossWatch.onReconnected(node.index());
        }
        if (state == NodeState.WAITING) {
            scheduler.queues().onDisconnected(node.index());
        }
        if (state == NodeState.CLOSED) {
            shutdown.onProgress();
        }
    }

    @Override
    public void onHealthChange(NodeView node) {
        quorumWatch.onChange();
    }

    @Override
    public void onReadStart() {
        telemetry.onReadStart();
    }

    @Override
    public void onInvalidated(NodeView node, ByteBuf key, int index, int length) {
        scheduler.queues().onInvalidated(node.index(), key, index, length);
        lossWatch.onInvalidated(node.index(), key, index, length);
    }

    @Override
    public void onDeliveredLate(NodeView node, ByteBuf key, int index, int length) {
        scheduler.queues().onDeliveredLate(node.index(), key, index, length);
    }

    @Override
    public void onFlushed(NodeView node) {
        revoke(node, VoteFailure.KEYS_LOST, LossCause.FLUSHED);
        scheduler.queues().onAllInvalidated(node.index());
    }

    @Override
    public void onRestarted(NodeView node) {
        revoke(node, VoteFailure.KEYS_LOST, LossCause.RESTARTED);
    }

    @Override
    public void onQuarantined(NodeView node) {
        settle(node.index());
    }

    @Override
    public void onSlotMap(int voterIndex) {
        quorumWatch.onChange();
        settle(voterIndex);
    }

    private void settle(int voterIndex) {
        if (voters[voterIndex].isSettled()) {
            settledMask |= 1L << voterIndex;
        }
        if (settledMask == all && !settled.isDone()) {
            quorumWatch.onSettled();
            settle();
        }
    }

    @Override
    public void onClockJump(NodeView node) {
        revoke(node, VoteFailure.CLOCK_JUMPED, LossCause.CLOCK_JUMPED);
    }

    @Override
    public void onPromotion(NodeView node) {
        revoke(node, VoteFailure.PROMOTED, LossCause.PROMOTED);
    }

    private void revoke(NodeView node, VoteFailure failure, LossCause cause) {
        scheduler.revoke(node, failure);
        keeper.revoke(node, cause);
    }

    /** Whether a node gives the vote for the key of a claim, or may have given it before a change of the owner. */
    boolean isNodeOf(Claim claim, NodeView node) {
        return node(node.index(), claim).view() == node || voters[node.index()].isSilentFor(claim);
    }

    @Override
    public void onLogLine(NodeView node, System.Logger.Level level, String line) {
        if (!shutdown.isClosing()) {
            // The node is changing its state, and a log handler may re-enter the client.
            Log.later(loop, level, "node {0} ({1}): {2}", node.index(), node.address(), line);
        }
    }

    // ---- the loop ---------------------------------------------------------------------------------------------------

    void execute(Runnable task) {
        loop.execute(task);
    }

    /**
     * As {@link #execute}, but ignores a rejection: the loop is ending, and {@link Shutdown#onLoopEnding} cleans up.
     */
    void executeUnlessEnding(Runnable task) {
        try {
            loop.execute(task);
        } catch (RejectedExecutionException e) {
            // See above.
        }
    }

    boolean isOwnThread() {
        return loop.inEventLoop();
    }

    boolean isClosed() {
        return shutdown.isClosed();
    }

    long nowNs() {
        return clock.nanoTime();
    }

    NanoClock clock() {
        return clock;
    }

    TimerWheel timerWheel() {
        return wheel;
    }

    void startTimer(DeadlineTimer timer, long deadlineNs) {
        wheel.start(timer, deadlineNs);
    }

    void stopTimer(DeadlineTimer timer) {
        wheel.stop(timer);
    }

    /** No timer fires any more. */
    void closeTimers() {
        timers.close();
    }

    /** Shrinks the pools after an outage. An idle client has timers too, because it watches its nodes. */
    private void trimIfDue(long nowNs) {
        if (nowNs - trimmedNs < TRIM_PERIOD_NS) {
            return;
        }
        trimmedNs = nowNs;
        claims.trim();
        fencing.trim();
        permits.trim();
        scheduler.trim();
        fanOut.trim();
        for (Voter voter : voters) {
            voter.trim();
        }
    }

    // ---- parts ------------------------------------------------------------------------------------------------------

    ClientConfig config() {
        return config;
    }

    ConductorCounters counters() {
        return counters;
    }

    LoopTelemetry telemetry() {
        return telemetry;
    }

    Voter[] voters() {
        return voters;
    }

    Voter voter(int index) {
        return voters[index];
    }

    /** The node of a voter that gets the commands of a claim. */
    Node node(int index, Claim claim) {
        return voters[index].nodeFor(claim);
    }

    /** The nodes whose votes win. */
    Majority majority() {
        return majority;
    }

    int nodeCount() {
        return voters.length;
    }

    /** All nodes, as a mask. */
    long all() {
        return all;
    }

    /** The nodes that push changes of keys, as a mask. */
    long wakeUpMask() {
        long mask = 0;
        for (int i = 0; i < voters.length; i++) {
            if (voters[i].hasWakeUps()) {
                mask |= 1L << i;
            }
        }
        return mask;
    }

    /** The voters whose node for a claim is ready, as a mask; also clusters that are silent for it. */
    long readyMask(Claim claim) {
        long mask = 0;
        for (int i = 0; i < voters.length; i++) {
            if (node(i, claim).state() == NodeState.READY) {
                mask |= 1L << i;
            }
        }
        return mask;
    }

    /** Whether enough nodes for a quorum may vote at a time; those in quarantine until then do not. */
    boolean isQuorumPossibleBy(long timeNs) {
        long mask = 0;
        for (int i = 0; i < voters.length; i++) {
            mask |= voters[i].mayVoteBy(timeNs) ? 1L << i : 0;
        }
        return majority().isReachedBy(mask);
    }

    FanOut fanOut() {
        return fanOut;
    }

    TokenStream tokens() {
        return tokens;
    }

    /** The bytes behind the token in the values of all keys; borrowed. */
    byte[] tokenLabel() {
        return tokenLabel;
    }

    ClaimPool claims() {
        return claims;
    }

    AcquireScheduler scheduler() {
        return scheduler;
    }

    AcquireOperation acquireOperation() {
        return acquireOperation;
    }

    Intentions intentions() {
        return intentions;
    }

    PermitOperation permits() {
        return permits;
    }

    WatchOperation watchOperation() {
        return watchOperation;
    }

    HolderTtlQuery holderTtlQuery() {
        return holderTtlQuery;
    }

    ExtendOperation extendOperation() {
        return extendOperation;
    }

    ReleaseOperation releaseOperation() {
        return releaseOperation;
    }

    LossWatch lossWatch() {
        return lossWatch;
    }

    LeaseKeeper keeper() {
        return keeper;
    }

    QuorumWatch quorumWatch() {
        return quorumWatch;
    }

    Fencing fencing() {
        return fencing;
    }

    Doorkeeper doorkeeper() {
        return doorkeeper;
    }

    FirstVoters firstVoters() {
        return firstVoters;
    }

    Shutdown shutdown() {
        return shutdown;
    }

    NextTurn nextTurn() {
        return nextTurn;
    }
}
