package dev.redlock.loadtest.chaos;

import java.util.List;
import java.util.stream.Collectors;

/**
 * One fault of a plan.
 *
 * @param atMs      its start, from the start of the plan
 * @param targets   the indices of the nodes, or of the worker
 * @param healthyMs from the start of the fault until the target works again
 * @param amount    delay of each packet or step of the clock, ms; for a cluster, it chooses the resource
 * @threading immutable
 */
record ChaosStep(long atMs, Fault fault, List<Integer> targets, long lengthMs, long healthyMs, int amount) {

    /** The target of a fault of one node or worker. */
    int target() {
        return targets.get(0);
    }

    long endMs() {
        return atMs + lengthMs;
    }

    String begins() {
        return name() + ": " + fault.begin(amount) + " for " + lengthMs + " ms";
    }

    String ends() {
        return name() + ": " + fault.end();
    }

    String whole() {
        return begins() + ", then " + fault.end();
    }

    private String name() {
        return (fault.isOfWorker() ? "worker " : targets.size() > 1 ? "nodes " : "node ")
                + targets.stream().map(String::valueOf).collect(Collectors.joining(" "));
    }
}
