package dev.redlock.node;

import dev.redlock.quorum.SharedVotes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

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
    private final String[] names;
    private final List<Node> nodes = new ArrayList<>();
    private final List<ClusterVoter> clusters = new ArrayList<>();

    /**
     * No servers yet.
     *
     * @param votes gets the voters that share an identity
     * @param names the configured address of each voter
     */
    public SharedIdentities(SharedVotes votes, List<String> names) {
        this.votes = votes;
        this.names = names.toArray(String[]::new);
    }

    void add(Node node) {
        nodes.add(node);
    }

    void add(ClusterVoter cluster) {
        clusters.add(cluster);
    }

    void remove(Node node) {
        nodes.remove(node);
        if (votes.with(node.view().index()) != 0) {
            update();
        }
    }

    /** A server has shown another identity. */
    void update() {
        Map<String, Long> votersOf = new HashMap<>();
        for (Node node : nodes) {
            if (node.runId() != null) {
                votersOf.merge(node.runId(), 1L << node.view().index(), (one, other) -> one | other);
            }
        }
        // A run_id and the id of a cluster node are random numbers of one length, and no server has the same twice.
        for (ClusterVoter cluster : clusters) {
            for (String id : cluster.nodeIds()) {
                votersOf.merge(id, 1L << cluster.index(), (one, other) -> one | other);
            }
        }
        votes.clear();
        for (long voters : votersOf.values()) {
            if (Long.bitCount(voters) > 1) {
                votes.share(voters);
            }
        }
        String[] problems = new String[names.length];
        Arrays.setAll(problems, this::problemOf);
        nodes.forEach(node -> node.view().setIdentityProblem(problems[node.view().index()]));
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
        return text + ", so they have one vote together: configure each server once, or find the one that copies the"
                + " identity of the other";
    }
}
