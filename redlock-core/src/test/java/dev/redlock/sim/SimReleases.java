package dev.redlock.sim;

import java.util.ArrayDeque;

/** After a release that was answered, no node has a key of its token, as soon as each node has executed it. */
final class SimReleases {
    private static final long MS = 1_000_000;
    /** A release may leave at the end of the duty cycle. */
    private static final long SENT_NS = 20 * MS;

    private final Simulation simulation;
    private final ArrayDeque<Released> released = new ArrayDeque<>();

    private record Released(String worker, String token, long executedNs) {
    }

    SimReleases(Simulation simulation) {
        this.simulation = simulation;
    }

    void onReleased(String worker, String token) {
        if (simulation.plan.isEveryWaiterWoken()) {
            long executedNs = simulation.world.nowNs() + SENT_NS + 2_000L * simulation.plan.delayUsMax;
            released.add(new Released(worker, token, executedNs));
        }
    }

    /** Called after each event. */
    void check() {
        while (!released.isEmpty() && released.peek().executedNs - simulation.world.nowNs() <= 0) {
            Released each = released.poll();
            simulation.world.nodes().forEach(node -> check(each, node));
        }
    }

    private void check(Released each, FakeNode node) {
        node.redis().visitEntries((name, token, expiresAtMs, isEntry) -> {
            if (token.equals(each.token)) {
                simulation.violate(each.worker + " has released its lock, but " + node + " has the key " + name);
            }
        });
    }
}
