package dev.redlock.engine;

import dev.redlock.api.NodeState;
import dev.redlock.engine.watch.ConductorCounters;
import dev.redlock.engine.watch.LoopTelemetry;
import dev.redlock.engine.watch.TelemetrySetup;
import dev.redlock.node.Node;
import dev.redlock.node.NodeContext;
import dev.redlock.node.NodeListener;
import dev.redlock.node.NodeOptions;
import dev.redlock.node.NodeView;
import dev.redlock.node.SharedIdentities;
import dev.redlock.node.Voter;
import dev.redlock.node.cluster.ClusterVoter;
import dev.redlock.node.guard.FreshGroup;
import dev.redlock.node.guard.OwnClockWatch;
import dev.redlock.node.send.Arrivals;
import dev.redlock.node.send.DirectBuffers;
import dev.redlock.node.send.FanOut;
import dev.redlock.node.send.SlotKey;
import dev.redlock.node.send.WaiterName;
import dev.redlock.quorum.Majority;
import dev.redlock.quorum.SharedVotes;
import dev.redlock.quorum.Token;
import dev.redlock.quorum.TokenStream;
import dev.redlock.quorum.Validity;
import dev.redlock.telemetry.Log;
import dev.redlock.time.LoopTimers;
import dev.redlock.time.NanoClock;
import dev.redlock.time.TimerWheel;
import dev.redlock.transport.ClusterAddress;
import dev.redlock.transport.VoterAddress;
import io.netty.channel.EventLoop;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.LongConsumer;

/**
 * What all parts of one event loop share: the configuration, time, the nodes, the tokens and telemetry. It knows none
 * of the parts.
 *
 * @threading event-loop-confined, except {@link #isClosing}, {@link #isClosed}, {@link #clock} and {@link #counters}
 */
final class LoopServices {

    /** Objects that each pool keeps at least: about a megabyte of claims. */
    static final int POOLED_MIN = 1024;

    final ClientConfig config;
    final EventLoop loop;
    final NanoClock clock;
    final TimerWheel timers;
    final Voter[] voters;
    /** The nodes whose votes win. */
    final Majority majority;
    /** All nodes, as a mask. */
    final long all;
    final FanOut fanOut;
    final TokenStream tokens;
    /** The name of this loop among waiting clients. */
    final WaiterName waiterName;
    /** The bytes behind the token in the values of all keys. */
    final byte[] tokenLabel;
    final ConductorCounters counters = new ConductorCounters();
    final LoopTelemetry telemetry;
    final Coordinator coordinator;
    final ThriftyQuorum thriftyQuorum;
    final VirtualCallers callers;
    final UnsubmittedRequests unsubmitted = new UnsubmittedRequests();
    /** The client closes, or the loop ends: nothing new starts. */
    volatile boolean isClosing;
    /**
     * Everything has ended. A task submitted before still runs. A later one may not, because a terminated event loop
     * accepts tasks silently.
     */
    volatile boolean isClosed;
    private final LoopTimers loopTimers;

    LoopServices(ClientConfig config, LoopSetup setup, NodeListener listener, LongConsumer trim) {
        this.config = config;
        this.loop = setup.loop();
        this.callers = new VirtualCallers(loop);
        this.clock = setup.clock();
        this.tokens = setup.tokens();
        this.waiterName = setup.waiter();
        this.tokenLabel = Token.labelOf(config.names().nameInValues());
        Arrivals arrivals = new Arrivals();
        List<String> names = config.nodes().addresses().stream().map(Object::toString).toList();
        ClientConfig.Loops loops = config.loops();
        TelemetrySetup telemetrySetup = new TelemetrySetup(loops.telemetry(), names, loops.callbacks());
        this.telemetry = new LoopTelemetry(telemetrySetup, counters, clock, arrivals, this::executeUnlessEnding);
        this.loopTimers = new LoopTimers(clock, loop, trim,
                thrown -> Log.error("a timer threw or was not scheduled; the client continues", thrown),
                config.attempts().isThrifty());
        this.timers = loopTimers.wheel();
        telemetry.rare.useTimers(timers);
        this.voters = new Voter[config.nodes().addresses().size()];
        SharedVotes sharedVotes = new SharedVotes(voters.length);
        this.majority = config.nodes().majority().withShared(sharedVotes);
        this.all = majority.all();
        this.fanOut = new FanOut(loop, new DirectBuffers(loop, setup.transport().allocator(), clock), voters.length,
                config.nodes().options().limits().releaseBatchMax());
        NodeContext context = new NodeContext(
                new NodeContext.Platform(loop, setup.transport(), setup.random(), arrivals, waiterName), clock, timers,
                config.nodes().options(), listener, new NodeContext.Group(
                        new SharedIdentities(sharedVotes, majority,
                                config.nodes().addresses().stream().map(VoterAddress::toString).toList()),
                        new FreshGroup(majority.hasListOfOne()), ownClockWatch(config.nodes().options().guards())));
        for (int i = 0; i < voters.length; i++) {
            voters[i] = newVoter(i, config.nodes().addresses().get(i), context);
        }
        this.coordinator = new Coordinator(voters, fanOut);
        this.thriftyQuorum = new ThriftyQuorum(voters.length, fanOut, majority, coordinator,
                config.attempts().isThrifty() ? setup.random().nextInt(voters.length) : 0);
    }

    private OwnClockWatch ownClockWatch(NodeOptions.Guards guards) {
        long gapNs = (guards.clockSampleMs() + Validity.LATENESS_MS) * Validity.NS_PER_MS;
        return new OwnClockWatch(voters.length, guards.drift().constantNs() / 2, gapNs + guards.drift().ofNs(gapNs),
                clock);
    }

    private Voter newVoter(int index, VoterAddress address, NodeContext context) {
        return address instanceof ClusterAddress cluster
                ? new ClusterVoter(index, cluster, context, fanOut)
                : new Node(index, address, context, fanOut);
    }

    // ---- the loop ---------------------------------------------------------------------------------------------------

    /** Executes a task on the loop, unless the loop is ending, and {@link Shutdown} cleans up. */
    void executeUnlessEnding(Runnable task) {
        try {
            loop.execute(task);
        } catch (RejectedExecutionException e) {
            // See above.
        }
    }

    /** From now on timers fire, at most a second late, also if the loop has no memory for their alarm. */
    void startTimers() {
        loopTimers.start();
    }

    /** No timer fires any more. */
    void closeTimers() {
        loopTimers.close();
    }

    // ---- the nodes --------------------------------------------------------------------------------------------------

    /** The name of this loop in the queues of a node. */
    byte[] waiterBulk(int nodeIndex) {
        return fanOut.isSubscribed(nodeIndex) ? waiterName.bulk() : waiterName.silentBulk();
    }

    /** The node of a voter that gets the commands for a key. */
    Node node(int index, SlotKey key) {
        return voters[index].nodeFor(key);
    }

    /** Whether there is one voter, which is no cluster. */
    boolean isLoneNode() {
        return voters.length == 1 && voters[0] instanceof Node;
    }

    /** Whether a node gives the vote for a key, or may have given it before a change of the owner. */
    boolean isNodeOf(SlotKey key, NodeView node) {
        return node(node.index(), key).view() == node || voters[node.index()].isSilentFor(key);
    }

    /** The nodes of a mask that push changes of a key, as a mask. */
    long pushingMask(SlotKey key, long mask) {
        long pushing = 0;
        for (long left = mask; left != 0; left &= left - 1) {
            pushing |= node(Long.numberOfTrailingZeros(left), key).hasWakeUps() ? Long.lowestOneBit(left) : 0;
        }
        return pushing;
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

    /** The voters whose node for a key is ready, as a mask; also clusters that are silent for it. */
    long readyMask(SlotKey key) {
        long mask = 0;
        for (int i = 0; i < voters.length; i++) {
            if (node(i, key).state() == NodeState.READY) {
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
        return majority.isReachedBy(mask);
    }
}
