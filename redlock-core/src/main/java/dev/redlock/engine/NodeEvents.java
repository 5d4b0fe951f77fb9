package dev.redlock.engine;

import dev.redlock.api.NodeState;
import dev.redlock.telemetry.Log;
import dev.redlock.node.NodeListener;
import dev.redlock.node.NodeView;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.time.Durations;
import io.netty.buffer.ByteBuf;

/**
 * Passes the events of the nodes to the parts of an event loop.
 *
 * @threading event-loop-confined
 */
final class NodeEvents implements NodeListener {

    private final Conductor loop;
    private long settledMask;

    /** The parts of the loop exist before the first event. */
    NodeEvents(Conductor loop) {
        this.loop = loop;
    }

    @Override
    public void onStateChange(NodeView node, NodeState state) {
        loop.services.telemetry.rare.onNodeState(node, state);
        loop.quorumWatch.onChange();
        if (state != NodeState.READY) {
            loop.keeper.retention.onNodeLost();
        }
        if (state == NodeState.READY || state == NodeState.QUARANTINED || state == NodeState.WAITING) {
            // A restored copy of this process has to reconnect: new entropy keeps its tokens different from the
            // original's.
            loop.services.tokens.rekey();
        }
        if (state == NodeState.READY || state == NodeState.WAITING) {
            settle(node.index());
        }
        if (state == NodeState.READY) {
            loop.keeper.lossWatch.onReconnected(node.index());
            loop.scheduler.fencing.onVoting();
            loop.keeper.renewals.onExtending(node);
        }
        if (state == NodeState.WAITING) {
            loop.scheduler.queues.onDisconnected(node.index());
        }
        if (state == NodeState.CLOSED) {
            loop.shutdown.onProgress();
        }
    }

    @Override
    public void onHealthChange(NodeView node) {
        loop.quorumWatch.onChange();
    }

    @Override
    public void onInvalidated(NodeView node, ByteBuf key, int index, int length) {
        if (loop.keeper.retention.onInvalidated(node.index(), key, index, length)) {
            return;
        }
        loop.scheduler.queues.onInvalidated(node.index(), key, index, length);
        loop.keeper.lossWatch.onInvalidated(node.index(), key, index, length);
    }

    @Override
    public void onDeliveredLate(NodeView node, ByteBuf key, int index, int length) {
        loop.scheduler.queues.onDeliveredLate(node.index(), key, index, length);
    }

    @Override
    public void onFlushed(NodeView node) {
        revoke(node, VoteFailure.KEYS_LOST, LossCause.FLUSHED);
        loop.scheduler.queues.onAllInvalidated(node.index());
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
        loop.quorumWatch.onChange();
        settle(voterIndex);
    }

    private void settle(int voterIndex) {
        if (loop.services.voters[voterIndex].isSettled()) {
            settledMask |= 1L << voterIndex;
        }
        if (settledMask == loop.services.all && !loop.settled.isDone()) {
            loop.quorumWatch.onSettled();
            loop.settled.complete(null);
        }
    }

    @Override
    public void onClockJump(NodeView node, long aheadNsMax, int comparison) {
        loop.keeper.retention.onNodeLost();
        loop.scheduler.revoke(node, VoteFailure.CLOCK_JUMPED);
        loop.keeper.loss.onClockJump(node, aheadNsMax, comparison);
    }

    @Override
    public void onStoodStill(long stoodStillNs) {
        loop.services.counters.add(ConductorCounters.STOOD_STILL, 1);
        if (!loop.services.isClosing) {
            Log.later(loop.services.loop, System.Logger.Level.WARNING,
                    "this machine''s clock stood still for {0}, as in a suspend or a migration; {1}; the nodes vote"
                            + " again in a moment; keep processes with locks on machines that are not suspended",
                    Durations.textOf(stoodStillNs), loop.keeper.loss.jumpText());
        }
    }

    @Override
    public void onPromotion(NodeView node) {
        revoke(node, VoteFailure.PROMOTED, LossCause.PROMOTED);
    }

    @Override
    public void onReclaimable(NodeView node) {
        loop.keeper.renewals.onExtending(node);
    }

    @Override
    public void onSilenceOver(NodeView node) {
        loop.keeper.unclaimed.onSilenceOver(node);
    }

    private void revoke(NodeView node, VoteFailure failure, LossCause cause) {
        loop.keeper.retention.onNodeLost();
        loop.scheduler.revoke(node, failure);
        loop.keeper.loss.revoke(node, cause);
        loop.keeper.unclaimed.log(node);
    }

    @Override
    public void onLogLine(NodeView node, System.Logger.Level level, String line) {
        if (!loop.services.isClosing) {
            // The node is changing its state, and a log handler may re-enter the client.
            Log.later(loop.services.loop, level, "node {0} ({1}): {2}", node.index(), node.name(), line);
        }
    }
}
