package dev.redlock.loadtest.chaos;

import java.util.List;

/** @threading immutable */
public enum Fault {
    /** kill -9, and later a start with the append-only file. */
    KILL(true, false, 100, 1500),
    /** kill -9, and later a start without any data. */
    WIPE(true, false, 100, 1500),
    /** kill -9 of a majority of the nodes at once, and later a start of them all without any data. */
    WIPE_MAJORITY(true, false, 100, 800),
    /** SIGSTOP, later SIGCONT. */
    PAUSE(false, false, 200, 3500),
    /** The network is silent, and data sent meanwhile arrives late. */
    STALL(false, false, 200, 3500),
    /** The network is slow. */
    SLOW(false, false, 500, 3000),
    /** Requests arrive, replies do not. */
    MUTE(false, false, 200, 3000),
    /** All connections are closed, new ones included. */
    CUT(false, false, 100, 2500),
    /** In namespaces: the node's device is down, nothing arrives either way. */
    LINK_DOWN(false, false, 200, 3500),
    /** In namespaces: the node's route back is a black hole, requests arrive and replies do not. */
    BLACKHOLE(false, false, 200, 3000),
    /** In namespaces: a narrow path with a queue in front of it, in both directions. */
    NARROW(false, false, 500, 3000),
    /** In namespaces with netem: packets have a long and varying delay. */
    NETEM_DELAY(false, false, 500, 3000),
    /** In namespaces with netem: a fifth of the packets is lost. */
    NETEM_LOSS(false, false, 500, 3000),
    /** In namespaces with netem: packets overtake each other. */
    NETEM_REORDER(false, false, 500, 3000),
    /** The wall clock of the node jumps, ahead or back, and later jumps back to the right time. */
    CLOCK_STEP(false, false, 500, 3000),
    /** Of a cluster: kill -9 of a master whose replica is promoted at once, and may lack writes; later a start. */
    FAIL_OVER(true, false, 100, 1500),
    /** Of a cluster: the slot of a resource moves to another master, with its keys. */
    MOVE_SLOT(false, false, 200, 1500),
    /** Of a cluster: kill -9 of all its servers, and later a start of them all without any data. */
    CLUSTER_DOWN(true, false, 100, 1500),
    /** SIGSTOP to a worker process, later SIGCONT: longer than the ttl at times. */
    WORKER_PAUSE(false, true, 500, 3500),
    /** kill -9 of a worker process; another one replaces it. */
    WORKER_KILL(false, true, 100, 500);

    private final boolean isRestart;
    private final boolean isOfWorker;
    private final int lengthMsMin;
    private final int lengthMsMax;

    Fault(boolean isRestart, boolean isOfWorker, int lengthMsMin, int lengthMsMax) {
        this.isRestart = isRestart;
        this.isOfWorker = isOfWorker;
        this.lengthMsMin = lengthMsMin;
        this.lengthMsMax = lengthMsMax;
    }

    /** Whether clients quarantine the node after the end of the fault. */
    boolean isQuarantined() {
        return isRestart || this == CLOCK_STEP;
    }

    boolean isRestart() {
        return isRestart;
    }

    /** Whether the proxies before the nodes inject the fault. */
    boolean isOfProxy() {
        return switch (this) {
            case STALL, SLOW, MUTE, CUT -> true;
            default -> false;
        };
    }

    /** Whether the kernel injects the fault, in the network of the nodes. */
    boolean isOfNetwork() {
        return this == LINK_DOWN || this == BLACKHOLE || this == NARROW || isOfNetem();
    }

    /** The arguments of {@code netem}; empty for the other faults. */
    List<String> netem() {
        return switch (this) {
            case NETEM_DELAY -> List.of("delay", "40ms", "30ms", "distribution", "normal");
            case NETEM_LOSS -> List.of("loss", "20%");
            case NETEM_REORDER -> List.of("delay", "15ms", "reorder", "25%", "50%");
            default -> List.of();
        };
    }

    boolean isOfNetem() {
        return !netem().isEmpty();
    }

    boolean isOfCluster() {
        return this == FAIL_OVER || this == MOVE_SLOT || this == CLUSTER_DOWN;
    }

    boolean isOfWorker() {
        return isOfWorker;
    }

    int lengthMsMin() {
        return lengthMsMin;
    }

    int lengthMsMax() {
        return lengthMsMax;
    }
}
