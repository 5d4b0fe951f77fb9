package dev.redlock.engine;

import dev.redlock.engine.watch.ConductorCounters;
import dev.redlock.node.send.CommandDetail;
import dev.redlock.node.send.CommandKind;

/**
 * Asks the nodes whether another client wants a lock, and makes them push when one does.
 *
 * @threading event-loop-confined
 */
final class RetentionQuestions {

    /** A trace keeps the key for at least as long: its end is a push. */
    private static final long TRACE_TTL_MS_MIN = 60_000;
    /** Commands to each node beside an acquire. */
    private static final int QUESTIONS = 3;
    /** The client watches no lock for this time after an overdue answer, and for longer if the next one is overdue. */
    private static final long PAUSE_NS_MIN = 1_000_000_000;
    private static final long PAUSE_NS_MAX = 64 * PAUSE_NS_MIN;

    private final LoopServices services;
    /** Nodes whose answer is overdue. They might hang, so no lock is retained before they have answered. */
    private long overdueMask;
    /** 0 before the first overdue answer. */
    private long pauseNs;
    private long pauseEndNs;

    RetentionQuestions(LoopServices services) {
        this.services = services;
    }

    /** Sends an acquire with its questions. */
    void send(RetainedLease entry, Claim claim, long mask) {
        services.counters.add(ConductorCounters.COMMANDS, (long) QUESTIONS * Long.bitCount(mask));
        entry.watch.of(claim.key).ttlMs = Math.max(TRACE_TTL_MS_MIN, claim.ttlMs);
        // First the key, which refused clients change if it is there: its push reports each client that the grant of
        // this acquire refuses. The queue last, because the acquire itself may end the entry of this client. The
        // queue is not registered: its key may be missing, and then nothing would ever end the registration.
        services.fanOut.send(entry.watch, CommandKind.CREATE_TRACE, CommandDetail.TRACES, mask);
        services.fanOut.send(entry.watch, CommandKind.WATCH_TRACES, CommandDetail.TRACES, mask);
        AcquireOperation.send(services.fanOut, claim, mask);
        services.fanOut.send(entry.watch, CommandKind.WAITING, CommandDetail.QUEUE, mask);
    }

    /** Asks for the queue again, for answers that come after those to an extension. */
    void sendAgain(RetainedLease entry) {
        entry.queueMask = 0;
        services.counters.add(ConductorCounters.COMMANDS, services.voters.length);
        services.fanOut.send(entry.watch, CommandKind.WAITING, CommandDetail.QUEUE, services.all);
    }

    /** Asks the node that has pushed a change of the traces whether its client waits in the queue. */
    void askForWaiter(RetainedLease entry, int nodeIndex) {
        services.counters.add(ConductorCounters.COMMANDS, 1);
        services.fanOut.send(entry.watch, CommandKind.WAITING, CommandDetail.QUEUE, 1L << nodeIndex);
    }

    void onAnswer(RetainedLease entry, int nodeIndex, int detail) {
        long bit = 1L << nodeIndex;
        overdueMask &= ~bit;
        entry.queueMask |= detail == CommandDetail.QUEUE ? bit : 0;
        entry.tracesMask |= detail == CommandDetail.TRACES ? bit : 0;
    }

    /** A node has not answered, and will not do so. */
    void onNoAnswer(int nodeIndex) {
        overdueMask &= ~(1L << nodeIndex);
    }

    /** The time for the answers is over, for which a release has waited. A node may be too slow for ever. */
    void onOverdue(RetainedLease entry, long nowNs) {
        overdueMask |= services.all & ~(entry.queueMask & entry.tracesMask);
        long sinceNs = nowNs - pauseEndNs;
        if (pauseNs != 0 && sinceNs < 0) {
            // This release began before the pause.
            return;
        }
        pauseNs = pauseNs != 0 && sinceNs < PAUSE_NS_MAX ? Math.min(2 * pauseNs, PAUSE_NS_MAX) : PAUSE_NS_MIN;
        pauseEndNs = nowNs + pauseNs;
    }

    boolean isAnswerOverdue() {
        return overdueMask != 0 || pauseNs != 0 && pauseEndNs - services.clock.nanoTime() > 0;
    }

    boolean areAnswered(RetainedLease entry) {
        return (entry.queueMask & entry.tracesMask) == services.all;
    }
}
