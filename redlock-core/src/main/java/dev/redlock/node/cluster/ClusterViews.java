package dev.redlock.node.cluster;

import dev.redlock.node.NodeView;
import dev.redlock.node.send.NodeCounter;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The visible parts of the servers of a cluster, and their counts. Those of servers that it had before are included, so
 * that none falls.
 *
 * @threading event-loop-confined, except {@link #masters()} and {@link #count}
 */
final class ClusterViews {

    /**
     * The servers now, and by {@link NodeCounter} the counts of the former ones.
     *
     * @threading immutable
     */
    private record Servers(Set<NodeView> views, long[] former) {
    }

    private volatile NodeView[] masters = {};
    /** One object, so that no reader counts a server twice or not at all. */
    private volatile Servers servers = new Servers(Set.of(), new long[NodeCounter.values().length]);

    /** The masters; the seeds until they are known. Any thread. */
    NodeView[] masters() {
        return masters;
    }

    void onMasters(NodeView[] newMasters) {
        masters = newMasters;
    }

    /** Servers were added, or closed, so that their counts do not change any more. */
    void onServers(List<ClusterMember> members) {
        Set<NodeView> views = members.stream().map(member -> member.node.view()).collect(Collectors.toSet());
        long[] former = servers.former.clone();
        for (NodeView view : servers.views) {
            for (NodeCounter counter : NodeCounter.values()) {
                former[counter.ordinal()] += views.contains(view) ? 0 : view.count(counter);
            }
        }
        // The releases of a closed server wait for others.
        former[NodeCounter.UNDELIVERED.ordinal()] = 0;
        servers = new Servers(views, former);
    }

    /** A recent count. Any thread. */
    long count(NodeCounter counter) {
        Servers seen = servers;
        long sum = seen.former[counter.ordinal()];
        for (NodeView view : seen.views) {
            sum += view.count(counter);
        }
        return sum;
    }
}
