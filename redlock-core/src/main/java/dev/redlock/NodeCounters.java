package dev.redlock;

import dev.redlock.engine.ClientLoops;
import dev.redlock.node.send.NodeCounter;

/**
 * The counts of one configured node since the client was connected, summed over its event loops. Those of a cluster are
 * sums over its masters, also those that it had before, so no count ever falls; those of {@link NodeStatus} leave the
 * list with their master. Two calls are not one snapshot.
 *
 * @threading any thread
 */
public final class NodeCounters {

    private final ClientLoops loops;
    private final int index;

    NodeCounters(ClientLoops loops, int index) {
        this.loops = loops;
        this.index = index;
    }

    /** @return acquires that it granted */
    public long grantedCount() {
        return loops.count(index, NodeCounter.GRANTED);
    }

    /** @return acquires that it refused */
    public long refusedCount() {
        return loops.count(index, NodeCounter.REFUSED);
    }

    /** @return error replies that it gave to lock commands */
    public long errorCount() {
        return loops.count(index, NodeCounter.ERRORS);
    }

    /** @return connections to it that were lost */
    public long disconnectCount() {
        return loops.count(index, NodeCounter.DISCONNECTS);
    }

    /** @return jumps of its clock */
    public long clockJumpCount() {
        return loops.count(index, NodeCounter.CLOCK_JUMPS);
    }

    /** @return retained releases that were discarded; their keys expire */
    public long undeliveredReleaseDroppedCount() {
        return loops.count(index, NodeCounter.UNDELIVERED_DROPPED);
    }

    /** @return retained releases that it has executed later */
    public long undeliveredReleaseDeliveredCount() {
        return loops.count(index, NodeCounter.UNDELIVERED_DELIVERED);
    }

    /** @return retained releases that it answered with an error that lasts; their keys expire */
    public long undeliveredReleaseRefusedCount() {
        return loops.count(index, NodeCounter.UNDELIVERED_REFUSED);
    }

    @Override
    public String toString() {
        return "NodeCounters{granted=" + grantedCount() + ", refused=" + refusedCount() + ", errors=" + errorCount()
                + ", disconnects=" + disconnectCount() + ", clockJumps=" + clockJumpCount() + "}";
    }
}
