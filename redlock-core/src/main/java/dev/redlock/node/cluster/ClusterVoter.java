package dev.redlock.node.cluster;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.node.ConnectLimit;
import dev.redlock.node.LogLimit;
import dev.redlock.node.Node;
import dev.redlock.node.NodeContext;
import dev.redlock.node.NodeView;
import dev.redlock.node.ReplicationInfo;
import dev.redlock.node.Voter;
import dev.redlock.node.send.CommandSender;
import dev.redlock.node.send.ErrorAdvice;
import dev.redlock.node.send.FanOut;
import dev.redlock.node.send.KeySlot;
import dev.redlock.node.send.NodeCounter;
import dev.redlock.node.send.SlotKey;
import dev.redlock.node.send.SlotOwners;
import dev.redlock.resp.RespValue;
import dev.redlock.time.DeadlineTimer;
import dev.redlock.transport.ClusterAddress;
import dev.redlock.transport.NodeAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * A voter that is a Redis or Valkey Cluster. It has a {@link Node} for each master, and routes each key to the master
 * that owns the key's slot.
 *
 * <p>It learns the owners from {@code CLUSTER SLOTS}: at the start from a seed, then at regular intervals from any
 * master, and soon after a sign of a change. {@link ClusterRedirects} follow redirections, and {@link MasterNodes} has
 * the nodes of the masters of the map.
 *
 * <p>When the owner of a slot changes, or moves keys of the slot to another master, the voter is silent for that slot
 * until every lock that the former owner may have granted has expired: a failover loses writes, and a
 * {@link DeposedMaster} still serves clients.
 * {@code SlotSilenceSearch} visits all states of this rule.
 *
 * @threading event-loop-confined, except {@link #views}, {@link #isVoting} and {@link #count}
 */
public final class ClusterVoter extends Voter {

    /** A lossy change of an owner takes the node timeout, so the client sees the state in between. */
    private static final long REFRESH_NS_MAX = 5_000 * NS_PER_MS;
    private static final long REFRESH_SPACING_NS = 100 * NS_PER_MS;
    private static final long CHECK_PERIOD_NS = 1_000 * NS_PER_MS;
    /** Servers that are closed, or checked, at once. */
    private static final int HANDLED_MAX = 32;

    final int index;
    private final ClusterAddress address;
    private final NodeContext context;
    private final FanOut fanOut;
    /** Gets the commands of slots without a known owner: it never connects, so they fail. */
    final Node unrouted;
    private final Node[] owners = new Node[KeySlot.COUNT];
    final SlotOwners slots;
    private final ClusterProblems problems = new ClusterProblems(this);
    final List<ClusterMember> members = new ArrayList<>();
    private final ClusterNodeTimeout nodeTimeout;
    private final MasterNodes masters;
    private final DeadlineTimer refreshTimer = new DeadlineTimer(this::refresh);
    private final DeadlineTimer checkTimer = new DeadlineTimer(this::check);
    /** Limits the connects of all servers. */
    final ConnectLimit connects;
    private int nextChecked;
    private int nextSource;
    private boolean isRefreshing;
    private long refreshedNs;
    boolean isClosing;
    private final ClusterViews views = new ClusterViews();

    /**
     * A cluster that is not connected yet.
     *
     * @param index   the voter's place in configured order, 0 to 62
     */
    public ClusterVoter(int index, ClusterAddress address, NodeContext context, FanOut fanOut) {
        this.index = index;
        this.address = address;
        this.context = context;
        this.fanOut = fanOut;
        this.connects = new ConnectLimit(context, "cluster-" + index, "the map of the cluster",
                address.servers());
        this.nodeTimeout = new ClusterNodeTimeout(context.options(), members, this::prolongSilence);
        this.masters = new MasterNodes(this, context, members);
        this.unrouted = new ClusterMember(this, index, address.servers().get(0), context, fanOut).node;
        context.group().identities().remove(unrouted.view());
        Arrays.fill(owners, unrouted);
        this.slots = new SlotOwners(context.clock(), unrouted.sender());
        fanOut.add(slots, unrouted.sender());
        addSeeds();
    }

    // ---- for the engine ---------------------------------------------------------------------------------------------

    @Override
    public void open() {
        context.timers().start(checkTimer, nowNs() + CHECK_PERIOD_NS);
        for (ClusterMember member : List.copyOf(members)) {
            member.node.open();
        }
    }

    @Override
    public Node nodeFor(SlotKey key) {
        return owners[key.slot()];
    }

    @Override
    public boolean isSilentFor(SlotKey key) {
        return slots.isSilent(key.slot());
    }

    @Override
    public boolean isGrantCounted(SlotKey key) {
        return !isSilentFor(key) && nodeFor(key).isGrantCounted(key);
    }

    @Override
    public boolean isSettled() {
        if (masters.hasMore()) {
            return false;
        }
        return members.stream()
                .filter(member -> !masters.isKnown() || member.isOwner)
                .allMatch(member -> isSettled(member.node));
    }

    private boolean isSettled(Node node) {
        return switch (node.state()) {
            case READY -> masters.isKnown();
            case QUARANTINED -> masters.isKnown() && node.view().quarantineLeftNs() > 0;
            case WAITING, CLOSED -> true;
            case CONNECTING, HANDSHAKING, DRAINING -> false;
        };
    }

    @Override
    public boolean hasWakeUps() {
        for (ClusterMember member : members) {
            if (member.isOwner && member.node.hasWakeUps()) {
                return true;
            }
        }
        return false;
    }

    /** A message would go to all servers of the cluster. */
    @Override
    public boolean hasWakeChannel() {
        return false;
    }

    @Override
    public boolean mayVoteBy(long timeNs) {
        boolean hasOwner = false;
        for (ClusterMember member : members) {
            if (member.isOwner && member.node.mayVoteBy(timeNs)) {
                return true;
            }
            hasOwner |= member.isOwner;
        }
        return !hasOwner;
    }

    @Override
    public long wallUs(long nowNs) {
        long highestUs = 0;
        for (ClusterMember member : members) {
            highestUs = Math.max(highestUs, member.node.wallUs(nowNs));
        }
        return highestUs;
    }

    @Override
    public long roundTripNs() {
        return members.stream()
                .filter(member -> member.isOwner)
                .mapToLong(member -> member.node.roundTripNs())
                .max()
                .orElse(0);
    }

    /** The masters; the seeds until they are known. */
    @Override
    public NodeView[] views() {
        return views.masters();
    }

    @Override
    public boolean isVoting() {
        NodeView[] masters = views.masters();
        for (NodeView master : masters) {
            if (!master.isVoting()) {
                return false;
            }
        }
        return masters.length > 0;
    }

    @Override
    public long count(NodeCounter counter) {
        return views.count(counter);
    }

    @Override
    public void trim() {
        for (ClusterMember member : members) {
            member.node.trim();
        }
    }

    @Override
    public void drain() {
        stop(Node::drain);
    }

    @Override
    public void close() {
        stop(Node::close);
    }

    @Override
    public void end() {
        stop(Node::end);
    }

    private void stop(Consumer<Node> action) {
        isClosing = true;
        context.timers().stop(refreshTimer);
        context.timers().stop(checkTimer);
        masters.stop();
        connects.close();
        List.copyOf(members).forEach(member -> action.accept(member.node));
    }

    // ---- members ----------------------------------------------------------------------------------------------------

    /** Limits the log lines about all servers. */
    LogLimit logLimit() {
        return masters.logLimit;
    }

    /** How long a slot with a new owner, and a promoted server, give no vote. */
    long silenceNs() {
        return nodeTimeout.silenceNs();
    }

    /** The node timeout is read after the handshake that finds a promotion, and may be read after a slot has moved. */
    private void prolongSilence() {
        slots.prolong(silenceNs());
        members.forEach(member -> member.node.onServiceKnown());
    }

    private void addSeeds() {
        for (NodeAddress seed : address.servers()) {
            if (!hasServerAt(seed)) {
                add(seed);
            }
        }
        publish();
    }

    ClusterMember add(NodeAddress server) {
        ClusterMember member = new ClusterMember(this, index, server, context, fanOut);
        members.add(member);
        views.onServers(members);
        return member;
    }

    /** Closes servers that are no masters of the cluster any more. Their slots have no owner until the next map. */
    void remove(List<ClusterMember> removed) {
        if (removed.isEmpty()) {
            return;
        }
        Set<Node> gone = nodesOf(removed);
        removed.forEach(member -> member.isOwner = false);
        members.removeAll(removed);
        masters.forget(gone);
        for (int slot = 0; slot < owners.length; slot++) {
            if (gone.contains(owners[slot])) {
                setOwner(slot, null, true);
            }
        }
        publish();
        for (ClusterMember member : removed) {
            member.node.close();
            context.group().identities().remove(member.node.view());
            member.node.leaveUndelivered(this::nodeFor);
        }
        views.onServers(members);
    }

    void publish() {
        nodeTimeout.update();
        fanOut.setMembers(index,
                members.stream().map(member -> member.node.sender()).toArray(CommandSender[]::new));
        problems.show(masters.isKnown());
        views.onMasters(members.stream()
                .filter(member -> !masters.isKnown() || member.isOwner)
                .map(member -> member.node.view())
                .toArray(NodeView[]::new));
    }

    private boolean hasServerAt(NodeAddress server) {
        return members.stream().anyMatch(member -> member.isAt(server));
    }

    private ClusterMember connectedTwin(ClusterMember member, String id) {
        return members.stream()
                .filter(other -> other != member && id.equals(other.id) && other.node.isConnected())
                .findFirst()
                .orElse(null);
    }

    /** A server of the cluster has completed its handshake. */
    void onHandshake(ClusterMember member, String id) {
        if (isClosing || !members.contains(member)) {
            return;
        }
        nodeTimeout.ask(member);
        ClusterMember twin = connectedTwin(member, id);
        if (member.id != null && !member.id.equals(id) || twin != null && !member.isOwner) {
            // Another server has the address now, or two seeds are one server.
            remove(List.of(member));
        } else {
            // If a seed leads to a master that is not reachable where it was, the next maps decide which one stays.
            member.id = id;
            remove(twin == null ? List.of() : List.of(twin));
        }
        scheduleRefresh(!masters.isKnown() ? 0 : REFRESH_SPACING_NS);
    }

    /**
     * Checks the place of each server in the cluster once per period, some at a time, opens those that nothing else
     * connects, and connects to the seeds again if no server is connected.
     */
    private void check(long nowNs) {
        int turns = (members.size() + HANDLED_MAX - 1) / HANDLED_MAX;
        context.timers().start(checkTimer, nowNs + CHECK_PERIOD_NS / Math.max(1, turns));
        slots.trim();
        for (int i = Math.min(HANDLED_MAX, members.size()); i > 0; i--) {
            nextChecked = nextChecked + 1 < members.size() ? nextChecked + 1 : 0;
            if (nextChecked == 0) {
                problems.show(masters.isKnown());
            }
            check(members.get(nextChecked));
        }
        masters.removeAbsent();
        if (members.stream().noneMatch(member -> member.node.isConnected())) {
            int before = members.size();
            addSeeds();
            for (ClusterMember added : List.copyOf(members.subList(before, members.size()))) {
                added.node.open();
            }
        }
    }

    private void check(ClusterMember member) {
        if (member.node.isConnected()) {
            CommandSender sender = member.node.sender();
            sender.sendValue(sender.command("INFO", "replication"),
                    reply -> onReplication(member, reply));
            nodeTimeout.ask(member);
            member.node.redeliver();
        } else {
            // An exception may have kept it from being opened.
            member.node.open();
        }
    }

    private void onReplication(ClusterMember member, RespValue reply) {
        if (reply == null || reply.isError() || isClosing) {
            return;
        }
        ReplicationInfo replication = ReplicationInfo.of(reply.asText());
        if (replication.id() != null) {
            member.node.onReplication(replication);
        }
    }

    // ---- the map ----------------------------------------------------------------------------------------------------

    /** Asks for the map after a delay, unless it is asked for earlier. Signs of a change come in large numbers. */
    private void scheduleRefresh(long delayNs) {
        if (isClosing) {
            return;
        }
        scheduleRefresh(nowNs(), delayNs);
    }

    private void scheduleRefresh(long nowNs, long delayNs) {
        long jitterNs = delayNs == 0 ? 0 : context.platform().random().nextLong(delayNs / 2 + 1);
        long dueNs = nowNs + delayNs + jitterNs;
        if (!refreshTimer.isStarted() || refreshTimer.deadlineNs() - dueNs > 0) {
            context.timers().start(refreshTimer, dueNs);
        }
    }

    void onSignOfChange() {
        scheduleRefresh(Math.max(0, REFRESH_SPACING_NS - (nowNs() - refreshedNs)));
    }

    private void refresh(long nowNs) {
        scheduleRefresh(nowNs, Math.min(REFRESH_NS_MAX, nodeTimeout.timeoutMs() * NS_PER_MS) * 2 / 3);
        ClusterMember source = isRefreshing ? null : nextSource();
        if (source == null) {
            return;
        }
        refreshedNs = nowNs;
        CommandSender sender = source.node.sender();
        isRefreshing = sender.sendValue(sender.command("CLUSTER", "SLOTS"),
                reply -> onSlots(source, reply));
    }

    /** The next connected server, so that one with a wrong map is not asked alone. */
    private ClusterMember nextSource() {
        for (int i = 0; i < members.size(); i++) {
            ClusterMember member = members.get((nextSource + i) % members.size());
            if (member.node.isConnected() && member.id != null) {
                nextSource = (nextSource + i + 1) % members.size();
                return member;
            }
        }
        return null;
    }

    private void onSlots(ClusterMember source, RespValue reply) {
        isRefreshing = false;
        if (isClosing || reply == null || !members.contains(source)) {
            onSignOfChange();
            return;
        }
        if (reply.isError()) {
            String code = ErrorAdvice.codeOf(reply.asText());
            onMapProblem(source.node.view(), "CLUSTER SLOTS failed: " + ErrorAdvice.ofCommand(code, ""));
            context.listener().onSlotMap(index);
            return;
        }
        try {
            masters.adopt(SlotMap.parse(reply), source.node.view().address());
            onMapProblem(unrouted.view(), masters.problem());
        } catch (IllegalArgumentException e) {
            onMapProblem(source.node.view(), "CLUSTER SLOTS has an unusable reply: " + e.getMessage());
        }
        context.listener().onSlotMap(index);
    }

    private void onMapProblem(NodeView source, String problem) {
        problems.onMap(source, masters.isKnown(), problem);
    }

    void moveUndelivered() {
        unrouted.moveUndelivered(this::nodeFor);
        members.forEach(member -> member.node.moveUndelivered(this::nodeFor));
    }

    static Set<Node> nodesOf(List<ClusterMember> some) {
        Set<Node> found = Collections.newSetFromMap(new IdentityHashMap<>());
        some.forEach(member -> found.add(member.node));
        return found;
    }

    // ---- the owners of slots ----------------------------------------------------------------------------------------

    /** Changes the owner of a slot, null for none; false if it has not changed. */
    boolean setOwner(int slot, Node newOwner, boolean isSilenced) {
        Node owner = newOwner == null ? unrouted : newOwner;
        if (owners[slot] == owner) {
            return false;
        }
        owners[slot] = owner;
        slots.set(slot, owner.sender());
        if (isSilenced) {
            slots.silence(slot, nodeTimeout.silenceNs());
            problems.onSilence(slot);
        }
        return true;
    }

    /** The owner of a slot moves keys of it, as each of its replies may show. */
    void onMigration(int slot) {
        if (!slots.isSilent(slot)) {
            problems.onSilence(slot);
        }
        slots.silence(slot, nodeTimeout.silenceNs());
    }

    private long nowNs() {
        return context.clock().nanoTime();
    }

    @Override
    public String toString() {
        return "voter " + index + " (" + address + "), " + members.size() + " servers";
    }
}
