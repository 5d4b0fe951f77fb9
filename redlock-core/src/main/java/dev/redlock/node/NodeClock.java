package dev.redlock.node;

import dev.redlock.node.guard.ClockWatch;
import dev.redlock.node.guard.OwnClockWatch;
import dev.redlock.node.guard.VoteGuard;
import dev.redlock.node.send.NodeCounter;

/**
 * The clock of one node as the guards see it: a jump takes the vote away, unless the comparison with the other nodes
 * shows that the clock of this machine stood still.
 *
 * @threading event-loop-confined
 */
final class NodeClock implements OwnClockWatch.Peer {

    final ClockWatch watch;
    private final NodeContext context;
    private final NodeView view;
    private final VoteGuard voteGuard;
    private final NodeMonitor monitor;
    private final Runnable onQuarantineChange;
    private boolean isStopped;
    /** The next sample is kept for later. */
    private boolean isHoldingBack;
    private Sample heldBack;

    /**
     * A reading of the node's clock, nanoseconds since the epoch, and the monotonic times around it.
     *
     * @threading immutable
     */
    record Sample(long sentNs, long receivedNs, long wallNs) {
    }

    NodeClock(NodeContext context, NodeView view, VoteGuard voteGuard, NodeMonitor monitor,
            Runnable onQuarantineChange) {
        this.watch = new ClockWatch(context.options().guards().drift());
        this.context = context;
        this.view = view;
        this.voteGuard = voteGuard;
        this.monitor = monitor;
        this.onQuarantineChange = onQuarantineChange;
    }

    /**
     * Keeps the sample of this handshake for later, if it is that of another process and its clock is not ahead: its
     * machine may have another clock, which concerns no lease that outlives the process before. A clock that is ahead
     * may have jumped before the restart, unseen, and have ended keys early: it shortens leases as any jump does.
     */
    void holdBack(boolean isWanted) {
        isHoldingBack = isWanted;
        heldBack = null;
    }

    /** Returns the sample that was kept, which has to be added now; null if there is none. */
    Sample heldBack() {
        Sample sample = heldBack;
        holdBack(false);
        return sample;
    }

    /** Adds a sample; returns whether the clock has jumped, and clocks are watched. */
    boolean onSample(long sentNs, long receivedNs, long wallNs) {
        if (isHoldingBack && !watch.isAhead(sentNs, receivedNs, wallNs)) {
            heldBack = new Sample(sentNs, receivedNs, wallNs);
            return false;
        }
        boolean isFirst = !watch.hasReference();
        boolean isJump = watch.onSample(sentNs, receivedNs, wallNs);
        if (context.options().guards().clockSampleMs() <= 0 || isStopped) {
            return false;
        }
        OwnClockWatch ownClock = context.group().ownClock();
        if (isFirst) {
            ownClock.add(this);
        } else if (isJump) {
            view.statistics.counters().add(NodeCounter.CLOCK_JUMPS.ordinal(), 1);
            ownClock.onJump(this, receivedNs, watch.jumpNsMin(), watch.jumpNsMax());
            voteGuard.onClockJump(ownClock.number());
        } else {
            ownClock.onSteady(this, sentNs, receivedNs);
        }
        return isJump;
    }

    /** Reports the jump of the last sample. */
    void report() {
        context.listener().onClockJump(view, watch.keyJumpNsMax(), context.group().ownClock().number());
    }

    /** The node is closed, and does not keep the comparison of the others back. */
    void stop() {
        isStopped = true;
        context.group().ownClock().remove(this);
    }

    @Override
    public int voterIndex() {
        return view.index();
    }

    @Override
    public void sampleSoon() {
        monitor.sampleSoon();
    }

    @Override
    public void onStoodStill(long endNs, long stoodStillNs) {
        voteGuard.onStoodStill(endNs, stoodStillNs);
        onQuarantineChange.run();
    }

    @Override
    public void reportStoodStill(long stoodStillNs) {
        context.listener().onStoodStill(stoodStillNs);
    }
}
