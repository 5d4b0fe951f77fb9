package dev.redlock.engine;

import dev.redlock.api.NodeState;
import dev.redlock.engine.watch.ConductorCounters;
import dev.redlock.engine.watch.LossCause;
import dev.redlock.node.NodeListener;
import dev.redlock.node.NodeView;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.telemetry.Log;
import dev.redlock.time.Durations;
import io.netty.buffer.ByteBuf;
import java.util.concurrent.CompletableFuture;

/**
 * Passes the events of the nodes to the parts of an event loop.
 *
 * @threading event-loop-confined
 */
final class NodeEvents implements NodeListener {

    /** Completes when each node has replied or failed once. */
    private final CompletableFuture<Void> settled;
    private LoopServices services;
    private AcquireScheduler scheduler;
    private KeyChanges keyChanges;
    private LeaseKeeper keeper;
    private QuorumWatch quorumWatch;
    private Shutdown shutdown;
    private long settledMask;

    NodeEvents(CompletableFuture<Void> settled) {
        this.settled = settled;
    }

    /** The parts need the nodes, whose listener this is: it knows them before the first event. */
    void connect(LoopServices ofLoop, AcquireScheduler acquiring, KeyChanges changes, LeaseKeeper held,
            QuorumWatch quorum, Shutdown ending) {
        services = ofLoop;
        scheduler = acquiring;
        keyChanges = changes;
        keeper = held;
        quorumWatch = quorum;
        shutdown = ending;
    }

    @Override
    public void onStateChange(NodeView node, NodeState before, NodeState state) {
        services.telemetry.rare.onNodeState(node, before, state);
        quorumWatch.onChange();
        if (state != NodeState.READY) {
            keeper.retention.onNodeLost();
        }
        if (state == NodeState.READY || state == NodeState.QUARANTINED || state == NodeState.WAITING) {
            // A restored copy of this process has to reconnect: new entropy keeps its tokens different from the
            // original's.
            services.tokens.rekey();
        }
        if (state == NodeState.READY || state == NodeState.WAITING) {
            settle(node.index());
        }
        if (state == NodeState.READY) {
            keeper.lossWatch.onReconnected(node.index());
            scheduler.fencing.onVoting();
            keeper.renewals.onExtending(node);
        }
        if (state == NodeState.WAITING) {
            keyChanges.onDisconnected(node.index());
        }
        keyChanges.onNodesChanged();
        if (state == NodeState.CLOSED) {
            shutdown.onProgress();
        }
    }

    @Override
    public void onHealthChange(NodeView node) {
        quorumWatch.onChange();
    }

    @Override
    public void onInvalidated(NodeView node, ByteBuf key, int index, int length) {
        if (keeper.retention.onInvalidated(node.index(), key, index, length)) {
            return;
        }
        keyChanges.onInvalidated(node.index(), key, index, length);
        keeper.lossWatch.onInvalidated(node.index(), key, index, length);
    }

    @Override
    public void onMessage(NodeView node, byte word, ByteBuf key, int index, int length) {
        scheduler.crowd.onMessage(node.index(), word, key, index, length);
    }

    @Override
    public void onDeliveredLate(NodeView node, ByteBuf key, int index, int length) {
        keyChanges.onDeliveredLate(node.index(), key, index, length);
    }

    @Override
    public void onFlushed(NodeView node) {
        revoke(node, VoteFailure.KEYS_LOST, LossCause.FLUSHED);
        keyChanges.onAllInvalidated(node.index());
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
        if (services.voters[voterIndex].isSettled()) {
            settledMask |= 1L << voterIndex;
        }
        if (settledMask == services.all && !settled.isDone()) {
            quorumWatch.onSettled();
            settled.complete(null);
        }
    }

    @Override
    public void onClockJump(NodeView node, long aheadNsMax, int comparison) {
        keeper.retention.onNodeLost();
        scheduler.revoke(node, VoteFailure.CLOCK_JUMPED);
        keeper.loss.onClockJump(node, aheadNsMax, comparison);
    }

    @Override
    public void onStoodStill(long stoodStillNs) {
        services.counters.add(ConductorCounters.STOOD_STILL, 1);
        if (!services.isClosing) {
            Log.later(services.loop, System.Logger.Level.WARNING,
                    "this machine''s clock stood still for {0}, as in a suspend or a migration; {1}; the nodes vote"
                            + " again in a moment; keep processes with locks on machines that are not suspended",
                    Durations.textOf(stoodStillNs), keeper.loss.jumpText());
        }
    }

    @Override
    public void onPromotion(NodeView node) {
        revoke(node, VoteFailure.PROMOTED, LossCause.PROMOTED);
    }

    @Override
    public void onReclaimable(NodeView node) {
        keeper.renewals.onExtending(node);
    }

    @Override
    public void onSilenceOver(NodeView node) {
        keeper.unclaimed.onSilenceOver(node);
    }

    private void revoke(NodeView node, VoteFailure failure, LossCause cause) {
        keeper.retention.onNodeLost();
        scheduler.revoke(node, failure);
        keeper.loss.revoke(node, cause);
        keeper.unclaimed.log(node);
    }

    @Override
    public void onLogLine(NodeView node, System.Logger.Level level, String line) {
        if (!services.isClosing) {
            // The node is changing its state, and a log handler may re-enter the client.
            Log.later(services.loop, level, "node {0} ({1}): {2}", node.index(), node.name(), line);
        }
    }
}
