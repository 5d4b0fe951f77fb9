package dev.redlock.sim;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Counts how often others precede a waiter of a crowd: clients whose caller has come later, and has got the lock first.
 * The queue at the coordinator bounds that, because only a client that does not know of the others passes them, and
 * only the next local waiters of a client follow its turn.
 */
final class SimTurns {

    private final int passesMax;
    private final Map<SimWorker, Passes> passes = new HashMap<>();

    /** One wait, and the grants to each client that came later. */
    private record Passes(long sinceNs, Map<SimClient, Integer> counts) {
    }

    SimTurns(SimPlan plan) {
        this.passesMax = plan.passesMax * (1 + plan.localHandoffsMax);
    }

    /**
     * A worker has got its lock.
     *
     * @param others all workers for the same lock
     * @return the waiters that its client has passed too often
     */
    List<SimWorker> onGrant(SimWorker granted, List<SimWorker> others) {
        return others.stream()
                .filter(other -> other.client != granted.client && other.waitsSinceBefore(granted))
                .filter(other -> passesOf(other).counts.merge(granted.client, 1, Integer::sum) > passesMax)
                .toList();
    }

    private Passes passesOf(SimWorker waiter) {
        Passes known = passes.get(waiter);
        if (known == null || known.sinceNs != waiter.startedNs()) {
            known = new Passes(waiter.startedNs(), new HashMap<>());
            passes.put(waiter, known);
        }
        return known;
    }
}
