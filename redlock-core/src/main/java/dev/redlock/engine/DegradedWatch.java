package dev.redlock.engine;

import dev.redlock.time.DeadlineTimer;
import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Logs which nodes do not vote while a quorum of others does, and when all vote again: once for each node and outage of
 * the client, in the rhythm of {@link QuorumWatch}. It starts when each node has replied or failed once.
 *
 * @threading event-loop-confined
 */
final class DegradedWatch {

    private final VotingNodes nodes;
    private final DeadlineTimer timer = new DeadlineTimer(this::onTimer);
    /** For each node the event loops of the client that have found it missing: the first of them logs it. */
    private AtomicIntegerArray loopsWithout;
    private boolean isStarted;
    /** The nodes that have not voted since the timer was started. */
    private long lasting;
    private long reported;
    /** Reported nodes vote again in each loop. Others may be missing that only the loss of a quorum has shown. */
    private boolean areBack;
    private boolean hasRecovered;
    private long recoveredNs;

    DegradedWatch(VotingNodes nodes) {
        this.nodes = nodes;
        this.loopsWithout = new AtomicIntegerArray(nodes.services.voters.length);
    }

    /** The event loops of one client log a node once. Before the start. */
    void shareWith(DegradedWatch other) {
        loopsWithout = other.loopsWithout;
    }

    /** The nodes had their time for a first reply. */
    void start() {
        isStarted = true;
        onChange();
    }

    /** A node may vote now, or may not vote any more. */
    void onChange() {
        long missing = nodes.missing();
        lasting &= missing;
        for (long left = reported & ~missing; left != 0; left &= left - 1) {
            areBack |= loopsWithout.decrementAndGet(Long.numberOfTrailingZeros(left)) == 0;
        }
        reported &= missing;
        if (areBack && missing == 0 && areAllBack()) {
            areBack = false;
            hasRecovered = true;
            recoveredNs = nodes.services.clock.nanoTime();
            nodes.log(System.Logger.Level.INFO, "all " + nodes.services.voters.length + " nodes vote again");
        }
        if (isStarted && !timer.isStarted()) {
            startTimer(missing);
        }
    }

    private boolean areAllBack() {
        for (int i = 0; i < loopsWithout.length(); i++) {
            if (loopsWithout.get(i) > 0) {
                return false;
            }
        }
        return true;
    }

    private void startTimer(long missing) {
        lasting = missing;
        if ((missing & ~reported) != 0) {
            long nowNs = nodes.services.clock.nanoTime();
            boolean isRelapse = hasRecovered && nowNs - recoveredNs < QuorumWatch.RELAPSE_NS;
            nodes.services.timers.start(timer, nowNs + (isRelapse ? QuorumWatch.RELAPSE_LOSS_NS : QuorumWatch.LOSS_NS));
        }
    }

    private void onTimer(long nowNs) {
        int spare = nodes.spare();
        // Without a quorum, QuorumWatch logs the nodes, and the change to a quorum starts the timer again.
        if (spare >= 0 && !nodes.services.isClosing) {
            long missing = nodes.missing();
            report(lasting & missing & ~reported, missing, spare);
            startTimer(missing);
        }
    }

    private void report(long found, long missing, int spare) {
        boolean isNew = false;
        for (long left = found; left != 0; left &= left - 1) {
            isNew |= loopsWithout.getAndIncrement(Long.numberOfTrailingZeros(left)) == 0;
        }
        reported |= found;
        if (isNew) {
            int count = nodes.services.voters.length;
            nodes.log(System.Logger.Level.WARNING, count - Long.bitCount(missing) + " of " + count + " nodes vote; "
                    + (spare == 0 ? "one more failure" : spare + 1 + " more failures") + " and no lock can be acquired"
                    + nodes.describe(missing));
        }
    }
}
