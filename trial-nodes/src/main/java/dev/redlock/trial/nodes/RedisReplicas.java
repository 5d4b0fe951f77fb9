package dev.redlock.trial.nodes;

import dev.redlock.cli.Counted;
import dev.redlock.transport.NodeAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Replicas of servers that {@link RedisNodes} has started: each server has as many of its own.
 *
 * @threading caller-confined
 */
public final class RedisReplicas implements AutoCloseable {

    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final long POLL_MS = 20;

    private final RedisNodes replicas;
    private final int each;

    private RedisReplicas(RedisNodes replicas, int each) {
        this.replicas = replicas;
        this.each = each;
    }

    /**
     * Starts replicas from the source of their primaries, and waits until all of them are in step.
     *
     * @param primaries processes on this machine without a password, which stay the caller's
     * @param options   of the replicas; their source and their number are those of this call
     * @param each      the number of replicas of each primary
     * @throws NodesUnavailableException if the primaries are no processes on this machine, or a replica does not
     *                                   synchronize
     */
    public static RedisReplicas attach(RedisNodes primaries, RedisNodesContext options, int each) {
        if (primaries.source() != Source.PATH && primaries.source() != Source.EMBEDDED) {
            throw new NodesUnavailableException("no replicas are started: the nodes are from the source "
                    + primaries.source().title() + ", and only processes on this machine get replicas");
        }
        RedisNodes nodes = RedisNodes.start(options.source(primaries.source()).count(each * primaries.size()));
        RedisReplicas started = new RedisReplicas(nodes, each);
        try {
            for (int i = 0; i < nodes.size(); i++) {
                RedisNode primary = primaries.node(i / each);
                // Otherwise a primary waits for 5 s in case other replicas come.
                primary.call("CONFIG", "SET", "repl-diskless-sync-delay", "0");
                NodeAddress place = primary.address();
                nodes.node(i).call("REPLICAOF", place.host(), Integer.toString(place.port()));
            }
            primaries.nodes().forEach(started::awaitInStep);
            return started;
        } catch (RuntimeException e) {
            started.close();
            throw e;
        }
    }

    /** The replicas that a primary sends its writes to now. */
    public static long inStep(String replicationInfo) {
        return replicationInfo.lines().filter(line -> line.matches("slave\\d+:.*\\bstate=online\\b.*")).count();
    }

    private void awaitInStep(RedisNode primary) {
        long startNs = System.nanoTime();
        while (inStep(String.valueOf(primary.call("INFO", "replication"))) < each) {
            if (System.nanoTime() - startNs > LIMIT.toNanos()) {
                throw new NodesUnavailableException("the replicas of " + primary + " are not in step after " + LIMIT);
            }
            try {
                TimeUnit.MILLISECONDS.sleep(POLL_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while the replicas of " + primary + " synchronize", e);
            }
        }
    }

    /** The replicas of the first primaries. */
    public List<NodeAddress> addresses(int primaryCount) {
        return replicas.nodes().subList(0, primaryCount * each).stream().map(RedisNode::address).toList();
    }

    @Override
    public String toString() {
        return Counted.of(each, "replica") + " for each node";
    }

    /** Ends the replicas. */
    @Override
    public void close() {
        replicas.close();
    }
}
