package dev.redlock.sim;

import java.util.SplittableRandom;

/**
 * The servers of each node of a run whose nodes fail over: a primary, and a replica that is promoted. The promoted
 * server may lack the last writes, takes over the name, and names its own process and history. The deposed one serves
 * the clients that are connected to it for at most the time that {@code min-replicas-max-lag} allows, then refuses
 * writes, and at last becomes the replica of its successor. So it may be promoted in turn, within the silence.
 */
final class SimFailovers {
    private static final long MS = 1_000_000;
    /** A primary with the smallest setting stops this long after its replica has gone ({@code DeposedPrimary}). */
    private static final int LIMITED_SERVED_MS_MAX = 4_000;
    /** A client that is still connected to a replica has seen that by then; it may be paused meanwhile. */
    private static final int UNNOTICED_MS_MAX = 6_000;

    private final Simulation simulation;
    private final VirtualWorld world;
    private final SplittableRandom random;
    private final int servedMsMax;
    /** For each node, the index of the server that leads it, and whether the other one is no replica yet. */
    private final int[] primaries;
    private final boolean[] isBusy;
    private boolean isOver;

    /** Servers {@code i} and {@code i + nodeCount} are those of node {@code i}. */
    SimFailovers(Simulation simulation, SplittableRandom random) {
        this.simulation = simulation;
        this.world = simulation.world;
        this.random = random;
        int nodeCount = simulation.plan.nodeCount;
        this.primaries = new int[nodeCount];
        this.isBusy = new boolean[nodeCount];
        this.servedMsMax = simulation.plan.isServiceLimited ? LIMITED_SERVED_MS_MAX : 0;
        for (int i = 0; i < nodeCount; i++) {
            primaries[i] = i;
            limitService(i);
            limitService(i + nodeCount);
            redis(i + nodeCount).replicate(redis(i));
        }
    }

    private void limitService(int server) {
        if (simulation.plan.isServiceLimited) {
            redis(server).replicas(1, 1);
            redis(server).maxLag(1);
        }
    }

    private FakeRedis redis(int server) {
        return world.node(server).redis();
    }

    /** The server that leads a node. */
    FakeNode primary(int node) {
        return world.node(primaries[node]);
    }

    /** Whether the server that led the node before may still serve, or is not in step. */
    boolean isBusy(int node) {
        return isBusy[node];
    }

    /** Promotes the replica of a node. */
    void promote(int node) {
        if (isBusy[node]) {
            return;
        }
        isBusy[node] = true;
        int deposed = primaries[node];
        int promoted = otherOf(node);
        redis(promoted).replicate(redis(deposed));
        // What the primary writes from now on is lost.
        after(random.nextInt(3) == 0 ? 0 : random.nextInt(2_000), () -> {
            simulation.count("PROMOTED");
            simulation.trace("promotes " + world.node(promoted));
            redis(promoted).promote();
            primaries[node] = promoted;
            int servedMs = random.nextInt(3) == 0 ? random.nextInt(servedMsMax + 1) : servedMsMax;
            // The name may be known late.
            after(random.nextBoolean() ? 0 : random.nextInt(servedMs + 1), () -> world.moveName(node, promoted));
            after(servedMs, () -> whenRunning(deposed, () -> end(node, deposed)));
        });
    }

    private int otherOf(int node) {
        int nodeCount = primaries.length;
        return primaries[node] == node ? node + nodeCount : node;
    }

    /** The deposed server refuses writes, or stops. Some clients remain connected to it for long. */
    private void end(int node, int deposed) {
        world.moveName(node, primaries[node]);
        if (random.nextInt(3) == 0) {
            world.node(deposed).crash();
        } else {
            redis(deposed).refuseWrites("NOREPLICAS Not enough good replicas to write.");
        }
        int healedMs = random.nextBoolean() ? 0 : random.nextInt(2 * simulation.plan.maxTtlMs);
        after(healedMs, () -> whenRunning(deposed, () -> follow(node, deposed)));
    }

    private void follow(int node, int deposed) {
        if (!world.node(deposed).isUp()) {
            world.node(deposed).restart(true);
        }
        redis(deposed).refuseWrites(null);
        redis(deposed).replicate(redis(primaries[node]));
        simulation.trace("follows " + world.node(deposed));
        boolean isAnnounced = random.nextBoolean();
        if (isAnnounced) {
            // As a Sentinel does.
            world.node(deposed).breakConnections();
        }
        int gapMs = random.nextInt(simulation.plan.promotionGapMs + 1);
        after(isAnnounced ? gapMs : gapMs + UNNOTICED_MS_MAX, () -> isBusy[node] = false);
    }

    /** A stopped process executes what has arrived before anything else. */
    private void whenRunning(int server, Runnable task) {
        if (world.node(server).isPaused()) {
            after(1, () -> whenRunning(server, task));
        } else {
            task.run();
        }
    }

    private void after(int ms, Runnable task) {
        world.after(ms * MS, () -> {
            if (!isOver) {
                task.run();
            }
        });
    }

    /** No server serves beside its successor any more. */
    void quiesce() {
        isOver = true;
        for (int i = 0; i < primaries.length; i++) {
            world.moveName(i, primaries[i]);
            if (isBusy[i]) {
                follow(i, otherOf(i));
            }
        }
    }
}
