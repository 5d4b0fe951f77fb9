package dev.redlock.node;

import dev.redlock.api.NodeState;
import dev.redlock.node.send.CommandSender;
import dev.redlock.node.send.FanOut;
import dev.redlock.node.send.LockRequest;
import dev.redlock.node.send.SlotKey;
import dev.redlock.node.send.UndeliveredRelease;
import dev.redlock.resp.RespValue;
import dev.redlock.transport.VoterAddress;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * One Redis or Valkey master on one event loop, as the engine sees it. {@link NodeLifecycle} connects it, and decides
 * whether it may vote.
 *
 * @threading event-loop-confined
 */
public final class Node extends NodeLifecycle {

    /**
     * A node that is not connected yet.
     *
     * @param index   the node's place in configured order, 0 to 62
     */
    public Node(int index, VoterAddress address, NodeContext context, FanOut fanOut) {
        this(index, address, context, fanOut, null);
        fanOut.add(sender);
    }

    /** A server of a cluster, which adds it to the fan-out. */
    public Node(int index, VoterAddress address, NodeContext context, FanOut fanOut, Membership member) {
        super(index, address, context, fanOut, member);
        context.group().identities().add(view);
    }

    // ---- for the engine ---------------------------------------------------------------------------------------------

    /** @return the node's state */
    public NodeState state() {
        return state;
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
        return state != NodeState.QUARANTINED;
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
        return sender.hasWakeUps();
    }

    /**
     * Keeps a release that the node could not be sent, until the node is connected again.
     *
     * @param command the key and the token that the node may hold
     */
    public void redeliverLater(LockRequest command) {
        redelivery.redeliverLater(command);
    }

    /**
     * Sends a command of the client itself.
     *
     * @param onReply gets the reply, which may be an error; null if there is none
     */
    public void ask(Consumer<RespValue> onReply, String... words) {
        if (!isConnected() || !sender.sendValue(sender.command(words), onReply)) {
            onReply.accept(null);
        }
    }

    @Override
    public boolean isVoting() {
        return view.isVoting();
    }

    // ---- for its cluster --------------------------------------------------------------------------------------------

    /** @return what sends its commands */
    public CommandSender sender() {
        return sender;
    }

    /** Moves the releases that this node could not be sent to other nodes. */
    public void moveUndelivered(Function<UndeliveredRelease, Node> newNode) {
        redelivery.moveAll(release -> newNode.apply(release).redelivery);
    }

    /** Sends the releases that an error of the cluster has stopped. */
    public void redeliver() {
        if (isConnected()) {
            redelivery.sendAll();
        }
    }

    @Override
    public String toString() {
        return view.toString();
    }
}
