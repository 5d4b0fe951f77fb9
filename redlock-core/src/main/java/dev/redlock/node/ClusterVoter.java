package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.resp.RespValue;
import dev.redlock.time.DeadlineTimer;
import dev.redlock.transport.ClusterAddress;
import dev.redlock.transport.NodeAddress;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * A voter that is a Redis or Valkey Cluster. It has a {@link Node} for each master, and routes each key to the master
 * that owns the key's slot.
 *
 * <p>It learns the owners from {@code CLUSTER SLOTS}: at the start from a seed, then at regular intervals from any
 * master, and soon after a sign of a change. A redirection changes the owner of its slot at once.
 *
 * <p>When the owner of a slot changes, or moves keys of the slot to another master, the voter is silent for that slot
 * until every lock that the former owner may have granted has expired: a failover loses writes, and a
 * {@link DeposedMaster} still serves clients.
 * {@code SlotSilenceSearch} visits all states of this rule.
 *
 * @threading event-loop-confined, except {@link #views} and {@link #isVoting}
 */
public final class ClusterVoter extends Voter implements CommandRetries.Cluster {

    /** A lossy change of an owner takes the node timeout, so the client sees the state in between. */
    private static final long REFRESH_NS_MAX = 5_000 * NS_PER_MS;
    private static final long REFRESH_SPACING_NS = 100 * NS_PER_MS;
    private static final long CHECK_PERIOD_NS = 1_000 * NS_PER_MS;
    /** A server that is missing in so many maps is closed. */
    private static final int ABSENT_MAX = 3;
    private static final long NODE_TIMEOUT_MS_MAX = 86_400_000;
    /** The least value of the option. The client asks for the map more than once in this time. */
    private static final long NODE_TIMEOUT_MS_MIN = 100;
    /** The most servers, with those that are about to be closed. */
    static final int MEMBERS_MAX = SlotMap.MASTERS_MAX;
    /** New servers at once; the next ones follow after a pause, so that a map occupies the loop for a moment only. */
    static final int ADDED_MAX = 16;
    static final long ADD_PERIOD_NS = 100 * NS_PER_MS;
    private static final int LOGGED_HOSTS_MAX = 4 * MEMBERS_MAX;
    /** Servers that are closed, or checked, at once. */
    private static final int HANDLED_MAX = 32;

    private final int index;
    private final ClusterAddress address;
    private final NodeContext context;
    private final FanOut fanOut;
    /** Gets the commands of slots without a known owner: it never connects, so they fail. */
    private final Node unrouted;
    private final Node[] owners = new Node[KeySlot.COUNT];
    private final SlotOwners slots;
    private final List<ClusterMember> members = new ArrayList<>();
    private final DeadlineTimer refreshTimer = new DeadlineTimer(nowNs -> refresh());
    private final DeadlineTimer checkTimer = new DeadlineTimer(nowNs -> check());
    private final DeadlineTimer addTimer = new DeadlineTimer(nowNs -> addMasters());
    private final ConnectLimit connects;
    private final LogLimit logLimit = new LogLimit();
    private SlotMap map;
    /** The address of each master of the map, and its node, which is null until it is added. */
    private NodeAddress[] addresses = {};
    private Node[] nodes = {};
    /** Slots that had no owner yet: their first one was not added so far. */
    private final BitSet newSlots = new BitSet(KeySlot.COUNT);
    /** Masters of the map are not added yet. */
    private boolean hasMoreMasters;
    private final Set<String> loggedHosts = new HashSet<>();
    private int nextChecked;
    /** The longest of its servers: each has its own setting, and that of a deposed master counts. */
    private long nodeTimeoutMs;
    private int nextSource;
    private boolean isRefreshing;
    private long refreshedNs;
    private boolean isClosing;
    private volatile NodeView[] views = {};

    /**
     * A cluster that is not connected yet.
     *
     * @param index   the voter's place in configured order, 0 to 62
     * @param address its seeds
     * @param context the parts that all nodes share
     * @param fanOut  writes the commands for all voters
     */
    public ClusterVoter(int index, ClusterAddress address, NodeContext context, FanOut fanOut) {
        this.index = index;
        this.address = address;
        this.context = context;
        this.fanOut = fanOut;
        this.connects = new ConnectLimit(context, "cluster-" + index, address.servers());
        this.unrouted = new ClusterMember(this, index, address.servers().get(0), context, fanOut).node();
        context.identities().remove(unrouted.view());
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
            member.node().open();
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
        if (hasMoreMasters) {
            return false;
        }
        for (ClusterMember member : members) {
            if ((map == null || member.isOwner) && !isSettled(member.node())) {
                return false;
            }
        }
        return true;
    }

    private boolean isSettled(Node node) {
        return switch (node.state()) {
            case READY -> map != null;
            case QUARANTINED -> map != null && node.view().quarantineLeftNs() > 0;
            case WAITING, CLOSED -> true;
            case CONNECTING, HANDSHAKING, DRAINING -> false;
        };
    }

    @Override
    public boolean hasWakeUps() {
        for (ClusterMember member : members) {
            if (member.isOwner && member.node().hasWakeUps()) {
                return true;
            }
        }
        return false;
    }

    @Override
    public boolean mayVoteBy(long timeNs) {
        boolean hasOwner = false;
        for (ClusterMember member : members) {
            if (member.isOwner && member.node().mayVoteBy(timeNs)) {
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
            highestUs = Math.max(highestUs, member.node().wallUs(nowNs));
        }
        return highestUs;
    }

    @Override
    public long roundTripNs() {
        long longestNs = 0;
        for (ClusterMember member : members) {
            longestNs = Math.max(longestNs, member.isOwner ? member.node().roundTripNs() : 0);
        }
        return longestNs;
    }

    /** The masters; the seeds until they are known. */
    @Override
    public NodeView[] views() {
        return views;
    }

    @Override
    public boolean isVoting() {
        NodeView[] masters = views;
        for (NodeView master : masters) {
            if (!master.isVoting()) {
                return false;
            }
        }
        return masters.length > 0;
    }

    @Override
    public void trim() {
        for (ClusterMember member : members) {
            member.node().trim();
        }
    }

    @Override
    public void drain() {
        stop();
        for (ClusterMember member : List.copyOf(members)) {
            member.node().drain();
        }
    }

    @Override
    public void close() {
        stop();
        for (ClusterMember member : List.copyOf(members)) {
            member.node().close();
        }
    }

    @Override
    public void end() {
        stop();
        for (ClusterMember member : List.copyOf(members)) {
            member.node().end();
        }
    }

    private void stop() {
        isClosing = true;
        context.timers().stop(refreshTimer);
        context.timers().stop(checkTimer);
        context.timers().stop(addTimer);
        connects.close();
    }

    // ---- members ----------------------------------------------------------------------------------------------------

    /** Limits the connects of all servers. */
    ConnectLimit connects() {
        return connects;
    }

    /** Limits the log lines about all servers. */
    LogLimit logLimit() {
        return logLimit;
    }

    private void addSeeds() {
        for (NodeAddress seed : address.servers()) {
            if (find(seed) == null) {
                add(seed);
            }
        }
        publish();
    }

    private ClusterMember add(NodeAddress server) {
        ClusterMember member = new ClusterMember(this, index, server, context, fanOut);
        members.add(member);
        return member;
    }

    /** Closes servers that are no masters of the cluster any more. Their slots have no owner until the next map. */
    private void remove(List<ClusterMember> removed) {
        if (removed.isEmpty()) {
            return;
        }
        Set<Node> gone = nodesOf(removed);
        removed.forEach(member -> member.isOwner = false);
        members.removeAll(removed);
        for (int i = 0; i < nodes.length; i++) {
            if (gone.contains(nodes[i])) {
                nodes[i] = null;
                // Another server has the address: only a new map leads to this master.
                addresses[i] = null;
            }
        }
        for (int slot = 0; slot < owners.length; slot++) {
            if (gone.contains(owners[slot])) {
                setOwner(slot, unrouted, true);
            }
        }
        publish();
        for (ClusterMember member : removed) {
            member.node().close();
            context.identities().remove(member.node().view());
            member.node().moveUndelivered(this::nodeFor);
        }
    }

    private void publish() {
        updateNodeTimeout();
        fanOut.setMembers(index,
                members.stream().map(member -> member.node().sender()).toArray(CommandSender[]::new));
        views = members.stream()
                .filter(member -> map == null || member.isOwner)
                .map(member -> member.node().view())
                .toArray(NodeView[]::new);
    }

    private ClusterMember find(NodeAddress server) {
        for (ClusterMember member : members) {
            if (member.isAt(server)) {
                return member;
            }
        }
        return null;
    }

    private ClusterMember findId(String id) {
        for (ClusterMember member : members) {
            if (id.equals(member.id)) {
                return member;
            }
        }
        return null;
    }

    /** A server of the cluster has completed its handshake. */
    void onHandshake(ClusterMember member, String id) {
        if (isClosing || !members.contains(member)) {
            return;
        }
        askNodeTimeout(member);
        ClusterMember known = findId(id);
        if (member.id != null && !member.id.equals(id) || known != null && known != member) {
            // Another server has the address now, or two seeds are one server.
            remove(List.of(member));
        } else {
            member.id = id;
        }
        scheduleRefresh(map == null ? 0 : REFRESH_SPACING_NS);
    }

    /**
     * Checks the place of each server in the cluster once per period, some at a time, and connects to the seeds again
     * if no server is connected.
     */
    private void check() {
        int turns = (members.size() + HANDLED_MAX - 1) / HANDLED_MAX;
        context.timers().start(checkTimer, nowNs() + CHECK_PERIOD_NS / Math.max(1, turns));
        slots.trim();
        for (int i = Math.min(HANDLED_MAX, members.size()); i > 0; i--) {
            nextChecked = nextChecked + 1 < members.size() ? nextChecked + 1 : 0;
            check(members.get(nextChecked));
        }
        removeAbsent();
        if (members.stream().noneMatch(member -> member.node().isConnected())) {
            int before = members.size();
            addSeeds();
            for (ClusterMember added : List.copyOf(members.subList(before, members.size()))) {
                added.node().open();
            }
        }
    }

    private void check(ClusterMember member) {
        if (member.node().isConnected()) {
            CommandSender sender = member.node().sender();
            sender.sendValue(sender.newCommand("INFO", "replication"),
                    new ValueRequest(reply -> onReplication(member, reply)));
            askNodeTimeout(member);
            member.node().redeliver();
        }
    }

    private void onReplication(ClusterMember member, RespValue reply) {
        if (reply == null || reply.isError() || isClosing) {
            return;
        }
        MemberIdentity identity = MemberIdentity.of(null, reply.asText());
        if (identity != null) {
            member.node().onMemberIdentity(identity);
        }
    }

    // ---- the map ----------------------------------------------------------------------------------------------------

    /** Asks for the map after a delay, unless it is asked for earlier. Signs of a change come in large numbers. */
    private void scheduleRefresh(long delayNs) {
        if (isClosing) {
            return;
        }
        long jitterNs = delayNs == 0 ? 0 : context.random().nextLong(delayNs / 2 + 1);
        long dueNs = nowNs() + delayNs + jitterNs;
        if (!refreshTimer.isStarted() || refreshTimer.deadlineNs() - dueNs > 0) {
            context.timers().start(refreshTimer, dueNs);
        }
    }

    private void onSignOfChange() {
        scheduleRefresh(Math.max(0, REFRESH_SPACING_NS - (nowNs() - refreshedNs)));
    }

    private void refresh() {
        scheduleRefresh(Math.min(REFRESH_NS_MAX, nodeTimeoutMs * NS_PER_MS) * 2 / 3);
        ClusterMember source = isRefreshing ? null : nextSource();
        if (source == null) {
            return;
        }
        refreshedNs = nowNs();
        CommandSender sender = source.node().sender();
        isRefreshing = sender.sendValue(sender.newCommand("CLUSTER", "SLOTS"),
                new ValueRequest(reply -> onSlots(source, reply)));
    }

    private void askNodeTimeout(ClusterMember member) {
        CommandSender sender = member.node().sender();
        if (member.node().isConnected()) {
            sender.sendValue(sender.newCommand("CONFIG", "GET", "cluster-node-timeout"),
                    new ValueRequest(reply -> onNodeTimeout(member, reply)));
        }
    }

    /** The next connected server, so that one with a wrong map is not asked alone. */
    private ClusterMember nextSource() {
        for (int i = 0; i < members.size(); i++) {
            ClusterMember member = members.get((nextSource + i) % members.size());
            if (member.node().isConnected() && member.id != null) {
                nextSource = (nextSource + i + 1) % members.size();
                return member;
            }
        }
        return null;
    }

    /** Without the permission for CONFIG the configured time counts. */
    private void onNodeTimeout(ClusterMember member, RespValue reply) {
        if (reply == null || reply.isError() || reply.isNull()) {
            return;
        }
        RespValue value = reply.find("cluster-node-timeout");
        if (value == null && reply.elements().size() == 2) {
            value = reply.elements().get(1);
        }
        String text = value == null || value.isNull() ? "" : value.asText();
        if (!text.matches("[0-9]{1,18}")) {
            return;
        }
        long timeoutMs = Math.min(Long.parseLong(text), NODE_TIMEOUT_MS_MAX);
        if (timeoutMs < NODE_TIMEOUT_MS_MIN) {
            member.node()
                    .view()
                    .log(Level.WARNING, "cluster-node-timeout is " + timeoutMs + " ms, with which no"
                            + " cluster works: the client uses RedlockContext.clusterNodeTimeout;"
                            + " set it to 100 ms or more");
        } else if (timeoutMs != member.nodeTimeoutMs) {
            member.nodeTimeoutMs = timeoutMs;
            updateNodeTimeout();
        }
    }

    private void updateNodeTimeout() {
        nodeTimeoutMs = members.stream()
                .mapToLong(member -> member.nodeTimeoutMs)
                .filter(known -> known >= 0)
                .max()
                .orElse(context.options().clusterNodeTimeoutMs());
    }

    private void onSlots(ClusterMember source, RespValue reply) {
        isRefreshing = false;
        if (isClosing || reply == null || !members.contains(source)) {
            onSignOfChange();
            return;
        }
        if (reply.isError()) {
            onMapProblem(source, "CLUSTER SLOTS failed: " + ServerReply.codeOf(reply.asText()) + "; allow the command");
            return;
        }
        try {
            adopt(SlotMap.parse(reply), source);
        } catch (IllegalArgumentException e) {
            onMapProblem(source, "CLUSTER SLOTS has an unusable reply: " + e.getMessage());
        }
    }

    private void onMapProblem(ClusterMember source, String problem) {
        source.node().view().log(Level.WARNING, problem);
        context.listener().onSlotMap(index);
    }

    private void adopt(SlotMap newMap, ClusterMember source) {
        if (newMap.masters().isEmpty()) {
            throw new IllegalArgumentException("no slot has a master");
        }
        NodeAddress[] newAddresses = new NodeAddress[newMap.masters().size()];
        for (int i = 0; i < newAddresses.length; i++) {
            SlotMap.Master master = newMap.masters().get(i);
            newAddresses[i] = source.node().view().address().peer(master.host(), master.port());
        }
        addresses = newAddresses;
        findNewSlots(newMap);
        boolean isFirst = map == null;
        boolean areIdsNew = isFirst || !map.nodeIds().equals(newMap.nodeIds());
        map = newMap;
        if (areIdsNew) {
            context.identities().onNodeIds(index, map.nodeIds());
        }
        matchMembers(isFirst);
        int changedCount = route();
        if (!isFirst && changedCount > 0) {
            logSilence(changedCount);
        }
        removeAbsent();
        if (!addTimer.isStarted()) {
            addMasters();
        }
        context.listener().onSlotMap(index);
    }

    private void findNewSlots(SlotMap newMap) {
        if (map == null) {
            newSlots.set(0, KeySlot.COUNT);
        } else {
            // A slot whose first owner was not added yet: another owner now is a change like any other.
            for (int slot = newSlots.nextSetBit(0); slot >= 0; slot = newSlots.nextSetBit(slot + 1)) {
                newSlots.set(slot, newMap.hasSameOwner(map, slot));
            }
        }
    }

    /** Finds the node of each master of the map. */
    private void matchMembers(boolean isFirst) {
        Map<String, ClusterMember> byId = new HashMap<>();
        Map<NodeAddress, ClusterMember> seeds = new HashMap<>();
        for (ClusterMember member : members) {
            member.isOwner = false;
            // One map may be out of date, so a master without slots stays for a while. Seeds have served their purpose.
            member.absentCount += isFirst ? ABSENT_MAX : 1;
            if (member.id != null) {
                byId.put(member.id, member);
            } else {
                // It has not completed its handshake.
                seeds.put(member.node().view().address(), member);
            }
        }
        List<ClusterMember> moved = new ArrayList<>();
        nodes = new Node[addresses.length];
        for (int i = 0; i < nodes.length; i++) {
            String id = map.masters().get(i).id();
            ClusterMember member = byId.get(id);
            if (member != null && member.hasMovedTo(addresses[i])) {
                moved.add(member);
                member = null;
            }
            member = member == null ? seeds.remove(addresses[i]) : member;
            if (member != null) {
                setMaster(i, member, id);
            }
        }
        remove(moved);
        publish();
    }

    private void setMaster(int i, ClusterMember member, String id) {
        member.id = id;
        member.mapAddress = member.mapAddress == null ? addresses[i] : member.mapAddress;
        member.isOwner = true;
        member.absentCount = 0;
        nodes[i] = member.node();
    }

    /** Closes servers that too many maps did not have. */
    private void removeAbsent() {
        remove(members.stream()
                .filter(member -> !member.isOwner && member.absentCount >= ABSENT_MAX)
                .limit(HANDLED_MAX)
                .toList());
    }

    /** Adds masters of the map. The others follow after a pause. */
    private void addMasters() {
        if (map == null) {
            return;
        }
        Map<NodeAddress, ClusterMember> taken = new HashMap<>();
        members.forEach(member -> taken.put(member.node().view().address(), member));
        List<ClusterMember> added = new ArrayList<>();
        List<ClusterMember> replaced = new ArrayList<>();
        int i = -1;
        while (++i < nodes.length && added.size() < ADDED_MAX) {
            ClusterMember former = taken.get(addresses[i]);
            if (nodes[i] != null || addresses[i] == null || former != null && former.isOwner) {
                // Only one of two masters can be at an address.
                continue;
            }
            if (former != null) {
                replaced.add(former);
            } else if (members.size() - replaced.size() >= MEMBERS_MAX) {
                replaced.add(mostAbsent(replaced));
            }
            ClusterMember member = add(addresses[i]);
            taken.put(addresses[i], member);
            setMaster(i, member, map.masters().get(i).id());
            added.add(member);
        }
        hasMoreMasters = i < nodes.length;
        logNewHosts(added);
        remove(replaced);
        if (added.isEmpty()) {
            return;
        }
        context.timers().start(addTimer, nowNs() + ADD_PERIOD_NS);
        publish();
        route(added);
        added.forEach(member -> member.node().open());
        context.listener().onSlotMap(index);
    }

    private void logNewHosts(List<ClusterMember> added) {
        StringBuilder names = new StringBuilder();
        for (ClusterMember member : added) {
            NodeAddress server = member.node().view().address();
            if (!connects.servers().isSeedHost(server) && loggedHosts.add(server.host().toLowerCase(Locale.ROOT))) {
                names.append(names.isEmpty() ? "" : ", ").append(server);
            }
        }
        if (loggedHosts.size() > LOGGED_HOSTS_MAX) {
            loggedHosts.clear();
        }
        String text = "the map of the cluster names new hosts: " + names;
        String line = names.isEmpty() ? null : logLimit.lineFor(text, nowNs());
        if (line != null) {
            context.listener().onLogLine(unrouted.view(), Level.INFO, line);
        }
    }

    private ClusterMember mostAbsent(List<ClusterMember> replaced) {
        return members.stream()
                .filter(member -> !member.isOwner && !replaced.contains(member))
                .max(Comparator.comparingInt(member -> member.absentCount))
                .orElseThrow();
    }

    /** Gives each slot of the map to the node of its master. Returns how many slots have changed. */
    private int route() {
        int changedCount = 0;
        for (int slot = 0; slot < owners.length; slot++) {
            changedCount += route(slot) ? 1 : 0;
        }
        if (changedCount > 0) {
            moveUndelivered();
        }
        return changedCount;
    }

    private boolean route(int slot) {
        int master = map.ownerOf(slot);
        Node owner = master == SlotMap.NONE || nodes[master] == null ? unrouted : nodes[master];
        boolean isChanged = setOwner(slot, owner, !newSlots.get(slot));
        if (owner != unrouted || master == SlotMap.NONE) {
            newSlots.clear(slot);
        }
        return isChanged;
    }

    /** As above for masters that were added. The others may have lost slots since the map. */
    private void route(List<ClusterMember> added) {
        Set<Node> owned = nodesOf(added);
        for (int slot = 0; slot < owners.length; slot++) {
            int master = map.ownerOf(slot);
            if (master != SlotMap.NONE && owned.contains(nodes[master])) {
                route(slot);
            }
        }
        moveUndelivered();
    }

    private void moveUndelivered() {
        unrouted.moveUndelivered(this::nodeFor);
        members.forEach(member -> member.node().moveUndelivered(this::nodeFor));
    }

    private static Set<Node> nodesOf(List<ClusterMember> some) {
        Set<Node> found = Collections.newSetFromMap(new IdentityHashMap<>());
        some.forEach(member -> found.add(member.node()));
        return found;
    }

    // ---- the owners of slots ----------------------------------------------------------------------------------------

    /** How long a slot with a new owner, and a promoted server, give no vote. */
    long silenceNs() {
        NodeOptions options = context.options();
        // If the master is paused, a request is in its socket until the client closes the connection.
        long servedMs = DeposedMaster.servedMsMax(nodeTimeoutMs) + options.unansweredTimeoutMs()
                + options.clockSampleMs();
        return RestartGuard.neededUptimeMs(options.maxTtlMs() + servedMs, options.drift()) * NS_PER_MS;
    }

    private boolean setOwner(int slot, Node owner, boolean isSilenced) {
        if (owners[slot] == owner) {
            return false;
        }
        owners[slot] = owner;
        slots.set(slot, owner.sender());
        if (isSilenced) {
            slots.silence(slot, silenceNs());
        }
        return true;
    }

    private void logSilence(int slotCount) {
        unrouted.view()
                .log(Level.INFO, slotCount + " slots have a new owner: the cluster does not vote for them in the next "
                        + silenceNs() / NS_PER_MS + " ms");
    }

    // ---- redirections -----------------------------------------------------------------------------------------------

    @Override
    public boolean redirect(CommandSender from, LockRequest request, int tag, SlotRedirect redirect) {
        CommandKind kind = RequestRing.kindOf(tag);
        Node target = targetOf(from, request, tag, redirect);
        boolean isFollowed = kind.isRelease() || kind == CommandKind.CHECK && !redirect.isAsk();
        return target != null && isFollowed && target.sender()
                .retries()
                .sendRedirected(request, kind, RequestRing.sequenceOf(tag), redirect.isAsk());
    }

    @Override
    public boolean redirect(CommandSender from, UndeliveredRelease release, int tag, SlotRedirect redirect) {
        Node target = targetOf(from, release, tag, redirect);
        if (target == null) {
            return false;
        }
        target.own(release);
        if (!target.sender().retries().sendRedirected(release, redirect.isAsk())) {
            target.adopt(release);
        }
        return true;
    }

    private Node targetOf(CommandSender from, SlotKey key, int tag, SlotRedirect redirect) {
        if (isClosing || redirect.slot() != key.slot()) {
            return null;
        }
        Node named = named(from, redirect);
        if (redirect.isAsk()) {
            onMigration(from, key);
        } else {
            onMoved(from, redirect.slot(), named);
        }
        boolean isFirst = !RequestRing.isSecondTry(tag);
        return isFirst && named != null && named.sender() != from ? named : null;
    }

    private Node named(CommandSender from, SlotRedirect redirect) {
        try {
            NodeAddress named = from.view().address().peer(redirect.host(), redirect.port());
            for (ClusterMember member : members) {
                if (member.isAt(named) || named.equals(member.mapAddress)) {
                    return member.node();
                }
            }
            return null;
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    @Override
    public void onMigration(CommandSender from, SlotKey key) {
        if (slots.of(key.slot()) == from) {
            slots.silence(key.slot(), silenceNs());
        }
    }

    /** A former owner may redirect late: then the map is newer. */
    private void onMoved(CommandSender from, int slot, Node named) {
        if (slots.of(slot) == from) {
            setOwner(slot, named == null || named.sender() == from ? unrouted : named, true);
        }
        onSignOfChange();
    }

    private long nowNs() {
        return context.clock().nanoTime();
    }

    @Override
    public String toString() {
        return "voter " + index + " (" + address + "), " + members.size() + " servers";
    }
}
