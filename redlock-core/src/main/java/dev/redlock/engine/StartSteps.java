package dev.redlock.engine;

import dev.redlock.telemetry.Log;

/**
 * The steps that start one event loop of a client, such as the connection to each node. A step that throws, as without
 * memory, does not keep the others from running. It runs again after a poll of the timers, until it succeeds or the
 * client closes.
 *
 * @threading event-loop-confined
 */
final class StartSteps {

    private static final long RETRY_NS = 100_000_000;

    private final LoopServices services;
    /** Null if a step has succeeded. */
    private final Runnable[] steps;
    private boolean hasFailed;
    private long retriedNs;

    /** Creates all that the start needs itself, because the start may have no memory. */
    StartSteps(LoopServices services, Runnable... steps) {
        this.services = services;
        this.steps = steps;
        this.retriedNs = services.clock.nanoTime();
    }

    /** Runs the steps that have not succeeded yet, in their order. Throws nothing. */
    void run() {
        Throwable thrown = null;
        for (int i = 0; i < steps.length && !services.isClosing; i++) {
            try {
                if (steps[i] != null) {
                    steps[i].run();
                    steps[i] = null;
                }
            } catch (Throwable e) {
                thrown = e;
            }
        }
        boolean isFirst = !hasFailed;
        hasFailed = thrown != null;
        if (hasFailed && isFirst) {
            Log.error("a step of the start of the client threw; the client tries it again", thrown);
        }
    }

    /** The timers have polled: runs steps that have failed again, 10 times a second at most. */
    void retry(long nowNs) {
        if (hasFailed && nowNs - retriedNs >= RETRY_NS) {
            retriedNs = nowNs;
            run();
        }
    }
}
