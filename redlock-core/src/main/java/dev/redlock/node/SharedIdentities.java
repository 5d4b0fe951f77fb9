package dev.redlock.node;

import dev.redlock.quorum.Majority;
import dev.redlock.quorum.SharedVotes;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The identities of all servers: the {@code run_id} of each process, and the ids that the map of each cluster has.
 * Voters that show the same one have one vote together ({@link SharedVotes}), and a problem that names the others.
 * Neither is preferred: which one was first proves nothing.
 *
 * <p>A node keeps its identity while it is not connected.
 *
 * @threading event-loop-confined
 */
public final class SharedIdentities {

    private final SharedVotes votes;
    private final Majority majority;
    private final String[] names;
    /** The {@code run_id} of each server; null before its first handshake. */
    private final Map<NodeView, String> runIds = new LinkedHashMap<>();
    /** The ids in the map of each cluster, by voter. */
    private final Map<Integer, Set<String>> idsOfClusters = new LinkedHashMap<>();

    /** No servers yet. */
    public SharedIdentities(SharedVotes votes, Majority majority, List<String> names) {
        this.votes = votes;
        this.majority = majority;
        this.names = names.toArray(String[]::new);
    }

    void add(NodeView node) {
        runIds.put(node, null);
    }

    public void remove(NodeView node) {
        runIds.remove(node);
        if (votes.with(node.index()) != 0) {
            update();
        }
    }

    /** A server has shown another {@code run_id}. */
    void onRunId(NodeView node, String runId) {
        runIds.replace(node, runId);
        update();
    }

    /** The map of a cluster has other servers. */
    public void onNodeIds(int voter, Set<String> ids) {
        idsOfClusters.put(voter, ids);
        update();
    }

    private void update() {
        Map<String, Long> votersOf = new HashMap<>();
        runIds.forEach((node, runId) -> {
            if (runId != null) {
                add(votersOf, runId, node.index());
            }
        });
        // A run_id and the id of a cluster node are random numbers of one length, and no server has the same twice.
        idsOfClusters.forEach((voter, ids) -> ids.forEach(id -> add(votersOf, id, voter)));
        votes.clear();
        for (long voters : votersOf.values()) {
            if (Long.bitCount(voters) > 1) {
                votes.share(voters);
            }
        }
        String[] problems = new String[names.length];
        Arrays.setAll(problems, this::problemOf);
        runIds.keySet().forEach(node -> node.setIdentityProblem(problems[node.index()]));
    }

    private static void add(Map<String, Long> votersOf, String id, int voter) {
        votersOf.merge(id, 1L << voter, (one, other) -> one | other);
    }

    private String problemOf(int voter) {
        long others = votes.with(voter);
        if (others == 0) {
            return null;
        }
        StringBuilder text = new StringBuilder("it has the identity of ");
        for (long left = others; left != 0; left &= left - 1) {
            int other = Long.numberOfTrailingZeros(left);
            text.append(left == others ? "" : " and ")
                    .append("node ")
                    .append(other)
                    .append(" (")
                    .append(names[other])
                    .append(')');
        }
        text.append(", so they have one vote together: ");
        return majority.hasTwoOfOneList(others | 1L << voter)
                ? text + "configure each server once, or find the one that copies the identity of the other"
                : text + "nodes and nextNodes name one server by two addresses; write it in the same way in both, or,"
                        + " to change only its address, roll out the new one without nextNodes";
    }
}
