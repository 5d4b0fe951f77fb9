package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.time.DeadlineTimer;

/**
 * Reports to the engine that a node has lost its keys, at most once in ten milliseconds: each report costs a look at
 * every lease and every waiter, and a server may send flushes without end.
 *
 * @threading event-loop-confined
 */
final class FlushReports {

    private static final long PERIOD_NS = 10 * NS_PER_MS;

    private final NodeView view;
    private final NodeContext context;
    private final DeadlineTimer timer = new DeadlineTimer(nowNs -> reportPending());
    private boolean isPending;

    FlushReports(NodeView view, NodeContext context) {
        this.view = view;
        this.context = context;
    }

    /** The keys are lost. */
    void onFlushed(boolean isConnected) {
        isPending = true;
        if (isConnected && !timer.isStarted()) {
            reportPending();
        }
    }

    /** The end of a handshake or of a connection: a report that waits is due. */
    void reportPending() {
        if (isPending) {
            isPending = false;
            context.timers().start(timer, context.clock().nanoTime() + PERIOD_NS);
            context.listener().onFlushed(view);
        }
    }

    void stop() {
        context.timers().stop(timer);
    }
}
