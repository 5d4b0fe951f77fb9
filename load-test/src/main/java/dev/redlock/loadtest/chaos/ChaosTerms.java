package dev.redlock.loadtest.chaos;

import java.time.Duration;
import java.util.List;

/**
 * What a plan is made for. Equal terms and an equal seed give an equal plan.
 *
 * @param nodes         how many nodes
 * @param workers       how many worker processes
 * @param duration      of the faults
 * @param maxTtl        of the clients, which bounds the quarantine after a restart
 * @param faults        what may be done
 * @param isMajorityLoss whether a majority of the nodes may be bad at once
 * @param isGuarded     whether clients keep nodes that restarted from voting for a while
 * @threading immutable
 */
record ChaosTerms(int nodes, int workers, Duration duration, Duration maxTtl, List<Fault> faults,
        boolean isMajorityLoss, boolean isGuarded) {

    int majority() {
        return nodes / 2 + 1;
    }

    /**
     * A step of a clock is noticed at the next sample, and until then only the other nodes keep the lock: with steps,
     * one node is bad at a time.
     */
    int badNodesMax() {
        if (faults.contains(Fault.CLOCK_STEP)) {
            return 1;
        }
        return isMajorityLoss ? nodes : (nodes - 1) / 2;
    }
}
