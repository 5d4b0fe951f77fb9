package dev.redlock.sim;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/**
 * Checks that no waiter sleeps while its lock is free on every node. If no push is lost, it gets the lock, or is
 * refused again, within some round trips; otherwise with its backstop.
 */
final class SimWaiters {

    private static final long MS = 1_000_000;
    private static final long NEVER = Long.MAX_VALUE;
    /** The longest backstop, and the longest round trip. */
    private static final long BACKSTOP_NS = 500 * MS + 50 * MS;
    /** Some round trips of a millisecond each, the leases of two other clients, and a pause after handoffs. */
    private static final long WOKEN_NS = 60 * MS;
    /** The clients have connected, and waiters have repeated the attempts that failed before. */
    private static final long CONNECTED_NS = 200 * MS;

    /** Who wants the lock of a key, and so whose keys and entries exclude it. */
    private enum Use {
        PLAIN, WRITE, READ
    }

    private final Simulation simulation;
    private final List<String> names;
    /** Since when each lock is free for each use. */
    private final Map<String, long[]> freeSinceNs = new HashMap<>();
    private final long limitNs;
    /** A server before Redis 7.2 does not push the end of a reservation of a set. */
    private final long limitOfSetNs;

    SimWaiters(Simulation simulation, List<String> names) {
        this.simulation = simulation;
        this.names = names;
        for (String name : names) {
            long[] never = new long[Use.values().length];
            Arrays.fill(never, NEVER);
            freeSinceNs.put(name, never);
        }
        SimPlan plan = simulation.plan;
        boolean isReservationPushed = plan.kinds.size() == plan.nodeCount
                && !plan.kinds.contains(FakeRedis.Kind.REDIS_7);
        this.limitNs = plan.isEveryPushSent() ? WOKEN_NS : BACKSTOP_NS;
        this.limitOfSetNs = isReservationPushed ? limitNs : BACKSTOP_NS;
    }

    /** Called after each event: the locks were free until now, whatever the event has changed. */
    void check(List<SimClient> clients) {
        long nowNs = simulation.world.nowNs();
        for (SimClient client : clients) {
            for (SimWorker worker : client.workers()) {
                if (!client.isGone()) {
                    check(worker, nowNs);
                }
            }
        }
        for (String name : names) {
            update(name, nowNs);
        }
    }

    private void check(SimWorker worker, long nowNs) {
        long waitedNs = worker.waitedNs(nowNs);
        if (waitedNs <= limitNs || nowNs <= CONNECTED_NS) {
            return;
        }
        boolean isOfSet = worker.resources().size() > 1;
        long freeNs = Math.min(waitedNs, nowNs - freeSinceNs(worker, worker.resources()));
        boolean isAsleep = freeNs > (isOfSet ? BACKSTOP_NS : limitNs);
        if (isOfSet) {
            // It may wait for the reservation of another set, unless no resource is in use.
            isAsleep |= Math.min(waitedNs, nowNs - freeSinceNs(worker, names)) > limitOfSetNs;
        }
        if (isAsleep) {
            freeSinceNs.values().forEach(each -> Arrays.fill(each, NEVER));
            simulation.violate(worker + " waits although the lock has been free for " + freeNs / MS + " ms");
        }
    }

    private long freeSinceNs(SimWorker worker, List<String> resources) {
        if (worker.isPermit()) {
            return permits(worker.resource).min().orElse(NEVER);
        }
        Use use = worker.isReading() ? Use.READ : worker.isWriting() ? Use.WRITE : Use.PLAIN;
        long latestNs = Long.MIN_VALUE;
        for (String resource : resources) {
            latestNs = Math.max(latestNs, freeSinceNs.get(resource)[use.ordinal()]);
        }
        return latestNs;
    }

    private LongStream permits(String resource) {
        return names.stream()
                .filter(name -> !name.equals(resource) && name.startsWith(resource))
                .mapToLong(name -> freeSinceNs.get(name)[Use.PLAIN.ordinal()]);
    }

    private void update(String name, long nowNs) {
        long[] sinceNs = freeSinceNs.get(name);
        boolean isUnused = isFree(name, Use.PLAIN);
        for (Use use : Use.values()) {
            int i = use.ordinal();
            sinceNs[i] = isUnused || isFree(name, use) ? Math.min(sinceNs[i], nowNs) : NEVER;
        }
    }

    private boolean isFree(String name, Use use) {
        if (simulation.isRetained(name)) {
            return true;
        }
        for (FakeNode node : simulation.world.nodes()) {
            FakeRedis redis = node.redis();
            if (use == Use.PLAIN ? redis.get(name) != null : !redis.isFree(name, use == Use.READ)) {
                return false;
            }
        }
        return true;
    }
}
