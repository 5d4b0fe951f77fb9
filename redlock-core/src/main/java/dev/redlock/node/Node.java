package dev.redlock.node;

import dev.redlock.api.NodeState;
import dev.redlock.transport.NodeAddress;
import java.util.function.Function;

/**
 * One Redis or Valkey master on one event loop, as the engine sees it. {@link NodeLifecycle} connects it, and decides
 * whether it may vote.
 *
 * @threading event-loop-confined
 */
public final class Node extends Voter {

    private final NodeLifecycle life;
    private final NodeView view;
    private final CommandSender sender;
    private final ReleaseRedelivery redelivery;

    /**
     * A node that is not connected yet.
     *
     * @param index   the node's place in configured order, 0 to 62
     * @param address the node's address
     * @param context the parts that all nodes share
     * @param fanOut  writes the commands for all nodes
     */
    public Node(int index, NodeAddress address, NodeContext context, FanOut fanOut) {
        this(index, address, context, fanOut, null);
        fanOut.add(sender);
    }

    /** As above for a server of a cluster, which the cluster adds to the fan-out. */
    Node(int index, NodeAddress address, NodeContext context, FanOut fanOut, ClusterMember member) {
        this.view = new NodeView(index, address, context.clock(), context.listener(),
                member == null ? null : member.voter().logLimit());
        this.sender = new CommandSender(view, context, fanOut, member == null ? null : member.voter().redirects);
        this.redelivery = new ReleaseRedelivery(view, context, sender);
        this.life = new NodeLifecycle(view, sender, redelivery, context, fanOut, member);
        context.group().identities().add(view);
    }

    // ---- for the engine ---------------------------------------------------------------------------------------------

    @Override
    public void open() {
        life.open();
    }

    /** @return the node's state */
    public NodeState state() {
        return life.state;
    }

    /** @return state, problem and counters */
    public NodeView view() {
        return view;
    }

    @Override
    public Node nodeFor(SlotKey key) {
        return this;
    }

    @Override
    public boolean isSilentFor(SlotKey key) {
        return false;
    }

    @Override
    public boolean isGrantCounted(SlotKey key) {
        return life.state != NodeState.QUARANTINED;
    }

    /** The engine asks after a change of the state that settles a node. */
    @Override
    public boolean isSettled() {
        return true;
    }

    @Override
    public NodeView[] views() {
        return new NodeView[]{view};
    }

    @Override
    public long roundTripNs() {
        return view.roundTripNs();
    }

    @Override
    public boolean hasWakeUps() {
        return sender.isPushing;
    }

    /**
     * Keeps a release that the node could not be sent, until the node is connected again.
     *
     * @param command the key and the token that the node may hold
     * @param untilNs monotonic time after which the key has expired
     */
    public void retainRelease(LockRequest command, long untilNs) {
        redelivery.retain(command, untilNs);
    }

    @Override
    public long wallUs(long nowNs) {
        return life.wallUs(nowNs);
    }

    @Override
    public boolean mayVoteBy(long timeNs) {
        return life.mayVoteBy(timeNs);
    }

    @Override
    public boolean isVoting() {
        return view.isVoting();
    }

    @Override
    public void trim() {
        life.trim();
    }

    @Override
    public void drain() {
        life.drain();
    }

    @Override
    public void close() {
        life.close();
    }

    @Override
    public void end() {
        life.end();
    }

    // ---- for the other nodes ----------------------------------------------------------------------------------------

    boolean isConnected() {
        return life.state.isConnected();
    }

    // ---- for its cluster --------------------------------------------------------------------------------------------

    CommandSender sender() {
        return sender;
    }

    /** Moves the releases that this node could not be sent to other nodes. */
    void moveUndelivered(Function<UndeliveredRelease, Node> newNode) {
        redelivery.moveAll(release -> newNode.apply(release).redelivery);
    }

    /** Gets the outcome of a release that another server of the cluster has redirected here. */
    void own(UndeliveredRelease release) {
        release.moveTo(redelivery);
    }

    /** Keeps a release that another server of the cluster could not be sent, or has redirected. */
    void adopt(UndeliveredRelease release) {
        redelivery.adopt(release);
    }

    /** Sends the releases that an error of the cluster has stopped. */
    void redeliver() {
        if (isConnected()) {
            redelivery.sendAll();
        }
    }

    /** A check has shown the server's place in its cluster. */
    void onMemberIdentity(MemberIdentity shown) {
        life.onMemberIdentity(shown);
    }

    @Override
    public String toString() {
        return view.toString();
    }
}
