package dev.redlock.node.cluster;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.node.LogLimit;
import dev.redlock.node.Node;
import dev.redlock.node.NodeContext;
import dev.redlock.node.send.KeySlot;
import dev.redlock.time.DeadlineTimer;
import dev.redlock.transport.NodeAddress;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * The nodes of the masters in the map of a cluster. It finds them among the servers, adds the missing ones, some at a
 * time, and gives each slot to the node of its master.
 *
 * @threading event-loop-confined
 */
final class MasterNodes {

    /** A server that is missing in so many maps is closed. */
    static final int ABSENT_MAX = 3;
    /** The most servers, with those that are about to be closed. */
    static final int MEMBERS_MAX = SlotMap.MASTERS_MAX;
    /** New servers at once; the next ones follow after a pause, so that a map occupies the loop for a moment only. */
    static final int ADDED_MAX = 16;
    static final long ADD_PERIOD_NS = 100 * NS_PER_MS;
    private static final int LOGGED_HOSTS_MAX = 4 * MEMBERS_MAX;
    /** Servers that are closed at once. */
    private static final int CLOSED_MAX = 32;

    private final ClusterVoter voter;
    private final NodeContext context;
    private final List<ClusterMember> members;
    private final DeadlineTimer addTimer = new DeadlineTimer(nowNs -> addMasters());
    private SlotMap map;
    /** The address of each master of the map, and its node, which is null until it is added. */
    private NodeAddress[] addresses = {};
    private Node[] nodes = {};
    /** Slots that had no owner yet: their first one was not added so far. */
    private final BitSet newSlots = new BitSet(KeySlot.COUNT);
    /** Masters of the map are not added yet. */
    private boolean hasMoreMasters;
    /** Limits the log lines about all servers. */
    final LogLimit logLimit = new LogLimit();
    private final Set<String> loggedHosts = new HashSet<>();

    /** The masters of no map yet, among servers that are borrowed. */
    MasterNodes(ClusterVoter voter, NodeContext context, List<ClusterMember> members) {
        this.voter = voter;
        this.context = context;
        this.members = members;
    }

    /** Whether a map has been received. */
    boolean isKnown() {
        return map != null;
    }

    /** Whether masters of the map are not added yet. */
    boolean hasMore() {
        return hasMoreMasters;
    }

    /** What the map lacks; null if nothing. */
    String problem() {
        int count = map.unownedCount();
        return count == 0
                ? null
                : count + " slots have no master, so the cluster does not vote for their locks: assign them, for"
                        + " example with redis-cli --cluster fix";
    }

    void stop() {
        context.timers().stop(addTimer);
    }

    /** Servers are closed. If another one has the address of a master, only a new map leads to the master. */
    void forget(Set<Node> gone) {
        for (int i = 0; i < nodes.length; i++) {
            if (gone.contains(nodes[i])) {
                nodes[i] = null;
                addresses[i] = null;
            }
        }
    }

    /** Uses a map that a server has sent. */
    void adopt(SlotMap newMap, NodeAddress source) {
        if (newMap.masters().isEmpty()) {
            throw new IllegalArgumentException("no slot has a master");
        }
        NodeAddress[] newAddresses = new NodeAddress[newMap.masters().size()];
        for (int i = 0; i < newAddresses.length; i++) {
            SlotMap.Master master = newMap.masters().get(i);
            newAddresses[i] = source.peer(master.host(), master.port());
        }
        addresses = newAddresses;
        findNewSlots(newMap);
        boolean isFirst = map == null;
        boolean areIdsNew = isFirst || !map.nodeIds().equals(newMap.nodeIds());
        map = newMap;
        if (areIdsNew) {
            context.group().identities().onNodeIds(voter.index, map.nodeIds());
        }
        matchMembers(isFirst);
        route();
        removeAbsent();
        if (!addTimer.isStarted()) {
            addMasters();
        }
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
        Map<String, ClusterMember> twins = new HashMap<>();
        Map<NodeAddress, ClusterMember> seeds = new HashMap<>();
        for (ClusterMember member : members) {
            boolean isTwin = member.id != null && byId.containsKey(member.id);
            member.isOwner = false;
            // One map may be out of date, so a master without slots stays for a while. Seeds have served their purpose.
            member.absentCount += isFirst ? ABSENT_MAX : 1;
            if (isTwin && member.node.isConnected()) {
                // A seed that has led to a master that was not reachable where it was.
                twins.put(member.id, member);
            } else if (member.id != null) {
                byId.putIfAbsent(member.id, member);
            } else {
                // It has not completed its handshake.
                seeds.put(member.node.view().address(), member);
            }
        }
        List<ClusterMember> moved = new ArrayList<>();
        nodes = new Node[addresses.length];
        for (int i = 0; i < nodes.length; i++) {
            String id = map.masters().get(i).id();
            ClusterMember member = byId.get(id);
            ClusterMember twin = twins.get(id);
            if (member != null && member.hasMovedTo(addresses[i], twin)) {
                moved.add(member);
                member = twin;
            }
            member = member == null ? seeds.remove(addresses[i]) : member;
            if (member != null) {
                setMaster(i, member, id);
            }
        }
        voter.remove(moved);
        voter.publish();
    }

    private void setMaster(int i, ClusterMember member, String id) {
        member.id = id;
        member.mapAddress = member.mapAddress == null ? addresses[i] : member.mapAddress;
        member.isOwner = true;
        member.absentCount = 0;
        nodes[i] = member.node;
    }

    /** Closes servers that too many maps did not have. */
    void removeAbsent() {
        voter.remove(members.stream()
                .filter(member -> !member.isOwner && member.absentCount >= ABSENT_MAX)
                .limit(CLOSED_MAX)
                .toList());
    }

    /** Adds masters of the map. The others follow after a pause. */
    private void addMasters() {
        if (map == null) {
            return;
        }
        Map<NodeAddress, ClusterMember> taken = new HashMap<>();
        members.forEach(member -> taken.put(member.node.view().address(), member));
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
            }
            while (members.size() - replaced.size() >= MEMBERS_MAX) {
                replaced.add(mostAbsent(replaced));
            }
            ClusterMember member = voter.add(addresses[i]);
            taken.put(addresses[i], member);
            setMaster(i, member, map.masters().get(i).id());
            added.add(member);
        }
        hasMoreMasters = i < nodes.length;
        logNewHosts(added);
        voter.remove(replaced);
        if (added.isEmpty()) {
            return;
        }
        context.timers().start(addTimer, context.clock().nanoTime() + ADD_PERIOD_NS);
        voter.publish();
        route(added);
        added.forEach(member -> member.node.open());
        context.listener().onSlotMap(voter.index);
    }

    private void logNewHosts(List<ClusterMember> added) {
        StringBuilder names = new StringBuilder();
        for (ClusterMember member : added) {
            NodeAddress server = member.node.view().address();
            if (!voter.connects.isSeedHost(server)
                    && loggedHosts.add(server.host().toLowerCase(Locale.ROOT))) {
                names.append(names.isEmpty() ? "" : ", ").append(server);
            }
        }
        if (loggedHosts.size() > LOGGED_HOSTS_MAX) {
            loggedHosts.clear();
        }
        String text = "the map of the cluster names new hosts: " + names;
        String line = names.isEmpty() ? null : logLimit.lineFor(text, context.clock().nanoTime());
        if (line != null) {
            context.listener().onLogLine(voter.unrouted.view(), Level.INFO, line);
        }
    }

    private ClusterMember mostAbsent(List<ClusterMember> replaced) {
        return members.stream()
                .filter(member -> !member.isOwner && !replaced.contains(member))
                .max(Comparator.comparingInt(member -> member.absentCount))
                .orElseThrow();
    }

    /** Gives each slot of the map to the node of its master. */
    private void route() {
        boolean isChanged = false;
        for (int slot = 0; slot < KeySlot.COUNT; slot++) {
            isChanged |= route(slot);
        }
        if (isChanged) {
            voter.moveUndelivered();
        }
    }

    private boolean route(int slot) {
        int master = map.ownerOf(slot);
        Node owner = master == SlotMap.NONE ? null : nodes[master];
        boolean isChanged = voter.setOwner(slot, owner, !newSlots.get(slot));
        if (owner != null || master == SlotMap.NONE) {
            newSlots.clear(slot);
        }
        return isChanged;
    }

    /** Routes the slots of masters that were added. The others may have lost slots since the map. */
    private void route(List<ClusterMember> added) {
        Set<Node> owned = ClusterVoter.nodesOf(added);
        for (int slot = 0; slot < KeySlot.COUNT; slot++) {
            int master = map.ownerOf(slot);
            if (master != SlotMap.NONE && owned.contains(nodes[master])) {
                route(slot);
            }
        }
        voter.moveUndelivered();
    }
}
