package dev.redlock.loadtest.chaos;

import java.time.Duration;
import java.util.List;

/**
 * The parameters of a plan. Equal terms and an equal seed give an equal plan.
 *
 * @param nodes         number of nodes
 * @param workers       number of worker processes
 * @param duration      of the faults
 * @param maxTtl        of the clients, which bounds the quarantine after a restart
 * @param faults        the faults to choose from
 * @param isMajorityLoss whether a majority of the nodes may be bad at once
 * @param isGuarded     whether clients quarantine restarted nodes
 * @param isClustered   whether the nodes are clusters, whose faults change the owners of slots
 * @param isListChanged whether clients change their list of nodes meanwhile
 * @threading immutable
 */
record ChaosTerms(int nodes, int workers, Duration duration, Duration maxTtl, List<Fault> faults,
        boolean isMajorityLoss, boolean isGuarded, boolean isClustered, boolean isListChanged) {

    int majority() {
        return nodes / 2 + 1;
    }

    /**
     * The clock watch detects a step at the next sample. Until then only the other nodes keep the lock, so with steps
     * one node is bad at a time: {@link ClockSteps}. Two bad nodes may be a majority of one of two lists.
     */
    int badNodesMax() {
        if (faults.contains(Fault.CLOCK_STEP)) {
            return 1;
        }
        return isMajorityLoss ? nodes : isListChanged ? 1 : (nodes - 1) / 2;
    }
}
