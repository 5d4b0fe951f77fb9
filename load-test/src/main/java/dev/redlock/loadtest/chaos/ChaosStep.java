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
        return name() + ": " + switch (fault) {
            case KILL, WIPE, WIPE_MAJORITY, WORKER_KILL -> "kill -9";
            case FAIL_OVER -> "kill -9 of a master, its replica is promoted";
            case MOVE_SLOT -> "a slot moves between two masters";
            case CLUSTER_DOWN -> "kill -9 of the whole cluster";
            case PAUSE, WORKER_PAUSE -> "SIGSTOP";
            case STALL -> "network silent, connections open";
            case SLOW -> "network slow, " + amount + " ms each way";
            case MUTE -> "replies lost, requests arrive";
            case CUT -> "connections cut and refused";
            case LINK_DOWN -> "device down";
            case BLACKHOLE -> "route back is a black hole";
            case NARROW -> "path narrow";
            case NETEM_DELAY, NETEM_LOSS, NETEM_REORDER -> "netem " + String.join(" ", fault.netem());
            case CLOCK_STEP -> "wall clock jumps by " + amount + " ms";
        } + " for " + lengthMs + " ms";
    }

    String ends() {
        return name() + ": " + undoing();
    }

    private String undoing() {
        return switch (fault) {
            case KILL -> "started again with its data";
            case WIPE, WIPE_MAJORITY, CLUSTER_DOWN -> "started again EMPTY";
            case FAIL_OVER -> "the lost master started again EMPTY";
            case MOVE_SLOT -> "the slot has its next owner";
            case WORKER_KILL -> "a new process in its place";
            case PAUSE, WORKER_PAUSE -> "SIGCONT";
            case STALL, SLOW, MUTE, CUT, LINK_DOWN, BLACKHOLE, NARROW, NETEM_DELAY, NETEM_LOSS, NETEM_REORDER ->
                "network in order";
            case CLOCK_STEP -> "wall clock jumps back to the right time";
        };
    }

    String whole() {
        return begins() + ", then " + undoing();
    }

    private String name() {
        return (fault.isOfWorker() ? "worker " : targets.size() > 1 ? "nodes " : "node ")
                + targets.stream().map(String::valueOf).collect(Collectors.joining(" "));
    }
}
