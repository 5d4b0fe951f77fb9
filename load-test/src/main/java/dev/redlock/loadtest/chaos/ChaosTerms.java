package dev.redlock.loadtest.chaos;

import java.time.Duration;
import java.util.List;

/**
 * The parameters of a plan. Equal terms and an equal seed give an equal plan.
 *
 * @param maxTtl        of the clients, which bounds the quarantine after a restart
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
