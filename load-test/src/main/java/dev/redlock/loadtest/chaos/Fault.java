package dev.redlock.loadtest.chaos;

import java.util.List;

/** @threading immutable */
public enum Fault {
    /** The node keeps its data, in the append-only file. */
    KILL(Place.SERVER, 100, 1500, "kill -9", "started again with its data"),
    /** The node loses its data. */
    WIPE(Place.SERVER, 100, 1500, "kill -9", "started again EMPTY"),
    /** The same for a majority of the nodes at once. */
    WIPE_MAJORITY(Place.SERVER, 100, 800, "kill -9", "started again EMPTY"),
    /** The node does not reply, its connections stay open. */
    PAUSE(Place.SERVER, 200, 3500, "SIGSTOP", "SIGCONT"),
    /** Data sent meanwhile arrives late. */
    STALL(Place.PROXY, 200, 3500, "network silent, connections open"),
    /** Each packet has a delay. */
    SLOW(Place.PROXY, 500, 3000, "network slow, AMOUNT ms each way"),
    /** Half of the network. */
    MUTE(Place.PROXY, 200, 3000, "replies lost, requests arrive"),
    /** All connections are closed, new ones included. */
    CUT(Place.PROXY, 100, 2500, "connections cut and refused"),
    /** Nothing arrives either way. */
    LINK_DOWN(Place.NETWORK, 200, 3500, "device down"),
    /** Requests arrive and replies do not. */
    BLACKHOLE(Place.NETWORK, 200, 3000, "route back is a black hole"),
    /** In both directions, with a queue in front of the path. */
    NARROW(Place.NETWORK, 500, 3000, "path narrow"),
    /** Packets have a long and varying delay. */
    NETEM_DELAY(Place.NETEM, 500, 3000, "netem delay 40ms 30ms distribution normal"),
    /** A fifth of the packets. */
    NETEM_LOSS(Place.NETEM, 500, 3000, "netem loss 20%"),
    /** Packets overtake each other. */
    NETEM_REORDER(Place.NETEM, 500, 3000, "netem delay 15ms reorder 25% 50%"),
    /** Ahead or back. */
    CLOCK_STEP(Place.SERVER, 500, 3000, "wall clock jumps by AMOUNT ms", "wall clock jumps back to the right time"),
    /** The replica may lack writes. */
    FAIL_OVER(Place.CLUSTER, 100, 1500, "kill -9 of a master, its replica is promoted",
            "the lost master started again EMPTY"),
    /** The slot of a resource, with its keys. */
    MOVE_SLOT(Place.CLUSTER, 200, 1500, "a slot moves between two masters", "the slot has its next owner"),
    /** All servers lose their data. */
    CLUSTER_DOWN(Place.CLUSTER, 100, 1500, "kill -9 of the whole cluster", "started again EMPTY"),
    /** The server loses its data. If it is back before the Sentinels notice, its replicas lose theirs. */
    PRIMARY_KILL(Place.SENTINELS, 300, 6000, "kill -9 of the primary", "started again EMPTY"),
    /** It serves on as the primary until the Sentinels reach it. */
    PRIMARY_STOP(Place.SENTINELS, 500, 6000, "SIGSTOP of the primary", "SIGCONT"),
    /** The replica may lack writes. */
    HANDOVER(Place.SENTINELS, 100, 500, "SENTINEL FAILOVER", "handed over"),
    /** The primary has a Sentinel, and a worker that reaches nothing else. */
    PARTITION(Place.SENTINELS, 6000, 15_000, "the primary's host is cut off with a Sentinel and a worker",
            "network in order"),
    /** Longer than the ttl at times. */
    WORKER_PAUSE(Place.WORKER, 500, 3500, "SIGSTOP", "SIGCONT"),
    /** Its locks expire. */
    WORKER_KILL(Place.WORKER, 100, 500, "kill -9", "a new process in its place");

    private static final String AMOUNT = "AMOUNT";

    private final Place place;
    private final int lengthMsMin;
    private final int lengthMsMax;
    private final String begin;
    private final String end;

    /** @threading immutable */
    private enum Place {
        SERVER, PROXY,
        /** The kernel, in the namespaces of the nodes. */
        NETWORK,
        /** The same, where the kernel has netem. */
        NETEM, CLUSTER, SENTINELS, WORKER
    }

    Fault(Place place, int lengthMsMin, int lengthMsMax, String begin) {
        this(place, lengthMsMin, lengthMsMax, begin, "network in order");
    }

    Fault(Place place, int lengthMsMin, int lengthMsMax, String begin, String end) {
        this.place = place;
        this.lengthMsMin = lengthMsMin;
        this.lengthMsMax = lengthMsMax;
        this.begin = begin;
        this.end = end;
    }

    /** Whether clients quarantine the node after the end of the fault. */
    boolean isQuarantined() {
        return isRestart() || this == CLOCK_STEP;
    }

    boolean isRestart() {
        return this == KILL || this == WIPE || this == WIPE_MAJORITY;
    }

    /** Whether the proxies before the nodes inject the fault. */
    boolean isOfProxy() {
        return place == Place.PROXY;
    }

    /** Whether the kernel injects the fault, in the network of the nodes. */
    boolean isOfNetwork() {
        return place == Place.NETWORK || place == Place.NETEM;
    }

    boolean isOfNetem() {
        return place == Place.NETEM;
    }

    boolean isOfCluster() {
        return place == Place.CLUSTER;
    }

    boolean isOfSentinels() {
        return place == Place.SENTINELS;
    }

    boolean isOfWorker() {
        return place == Place.WORKER;
    }

    int lengthMsMin() {
        return lengthMsMin;
    }

    int lengthMsMax() {
        return lengthMsMax;
    }

    /** The beginning in words, with its amount. */
    String begin(int amount) {
        return begin.replace(AMOUNT, Integer.toString(amount));
    }

    String end() {
        return end;
    }

    /** The words of a fault of netem are the arguments of {@code tc}. */
    List<String> netem() {
        return List.of(begin.split(" "));
    }
}
