package dev.redlock.loadtest.chaos;

/**
 * What can be done to a node, or to a worker process.
 *
 * @threading immutable
 */
public enum Fault {
    /** kill -9, and later a start with the append-only file. */
    KILL(true, false, 100, 1500),
    /** kill -9, and later a start without any data. */
    WIPE(true, false, 100, 1500),
    /** kill -9 of a majority of the nodes at once, and later a start of them all without any data. */
    WIPE_MAJORITY(true, false, 100, 800),
    /** SIGSTOP, later SIGCONT. */
    PAUSE(false, false, 200, 3500),
    /** The network is silent, and what was sent meanwhile arrives late. */
    STALL(false, false, 200, 3500),
    /** The network is slow. */
    SLOW(false, false, 500, 3000),
    /** Requests arrive, replies do not. */
    MUTE(false, false, 200, 3000),
    /** Connections are closed, and new ones too. */
    CUT(false, false, 100, 2500),
    /** The wall clock of the node jumps, ahead or back, and later jumps back to the right time. */
    CLOCK_STEP(false, false, 500, 3000),
    /** SIGSTOP to a worker process, later SIGCONT: longer than the ttl at times. */
    WORKER_PAUSE(false, true, 500, 3500),
    /** kill -9 of a worker process; another one takes its place. */
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

    /** Whether clients keep the node from voting for a while after the end of the fault. */
    boolean isQuarantined() {
        return isRestart || this == CLOCK_STEP;
    }

    /** Whether the node's process is another one afterwards. */
    boolean isRestart() {
        return isRestart;
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
