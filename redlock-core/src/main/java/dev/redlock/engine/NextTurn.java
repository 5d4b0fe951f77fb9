package dev.redlock.engine;

import io.netty.util.concurrent.FutureListener;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;

/**
 * Defers requests to the next turn of the event loop, after it has polled its sockets and timers. A caller that retries
 * from its callback does not starve them, however fast its requests fail. A long chain of callbacks needs no deep
 * stack.
 *
 * @threading event-loop-confined
 */
final class NextTurn {

    private static final int CALL_DEPTH_MAX = 16;
    /** Requests of their callbacks that run in the same turn if the client retains locks: they may need no node. */
    private static final int LOCAL_MAX = 64;

    private final LoopServices services;
    private final LeaseKeeper keeper;
    private final FutureListener<Object> onCancelled;
    private final ArrayDeque<RequestMailbox> deferred = new ArrayDeque<>();
    private final Runnable task = this::run;
    private boolean isScheduled;
    private int callDepth;

    /**
     * Creates it.
     *
     * @param onCancelled learns of each task that the loop has run or cancelled
     */
    NextTurn(LoopServices services, LeaseKeeper keeper, FutureListener<Object> onCancelled) {
        this.services = services;
        this.keeper = keeper;
        this.onCancelled = onCancelled;
    }

    /**
     * Returns whether a request on the event loop may run inside its call. Too deep a nesting of calls and callbacks
     * defers it to the next turn.
     */
    boolean enterCall() {
        if (callDepth == CALL_DEPTH_MAX) {
            return false;
        }
        callDepth++;
        return true;
    }

    void leaveCall() {
        callDepth--;
    }

    void add(RequestMailbox lease) {
        if (services.isClosed && services.loop.isShuttingDown()) {
            // The next turn may never come, and requests from its callbacks could keep the loop from ending.
            LeaseRecovery.completeElsewhere(lease, lease.takeRequests());
            return;
        }
        deferred.add(lease);
        if (!isScheduled) {
            schedule();
        }
    }

    /** Uses a scheduled task, because the loop polls them once per turn; a plain task would run in the same turn. */
    private void schedule() {
        services.loop.schedule(task, 0, TimeUnit.NANOSECONDS).addListener(onCancelled);
        isScheduled = true;
    }

    private void run() {
        // Only the requests so far, and a few more; other requests from their callbacks run in a later turn.
        int left = deferred.size() + (keeper.retention.count == 0 ? 0 : LOCAL_MAX);
        try {
            for (; left > 0 && !deferred.isEmpty(); left--) {
                deferred.remove().run();
            }
        } finally {
            isScheduled = false;
            if (!deferred.isEmpty()) {
                schedule();
            }
        }
    }

    /** After a poll of the timers: there may have been no memory for the task of the next turn. */
    void runUnscheduled() {
        if (!isScheduled && !deferred.isEmpty()) {
            isScheduled = true;
            run();
        }
    }

    /** The loop is ending: completes the deferred requests without it. */
    void completeElsewhere() {
        while (!deferred.isEmpty()) {
            RequestMailbox lease = deferred.remove();
            LeaseRecovery.completeElsewhere(lease, lease.takeRequests());
        }
    }
}
