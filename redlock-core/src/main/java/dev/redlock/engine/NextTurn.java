package dev.redlock.engine;

import io.netty.channel.EventLoop;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;

/**
 * Requests that wait for the next turn of the event loop: behind a look at its sockets and timers. A caller that asks
 * again from its callback does not keep the loop from them, however fast its requests fail, and a long chain of
 * callbacks needs no deep stack.
 *
 * @threading event-loop-confined
 */
final class NextTurn {

    private static final int CALL_DEPTH_MAX = 16;

    private final EventLoop loop;
    private final Shutdown shutdown;
    private final ArrayDeque<RequestMailbox> deferred = new ArrayDeque<>();
    private final Runnable task = this::run;
    private boolean isScheduled;
    private int callDepth;

    NextTurn(final EventLoop loop, final Shutdown shutdown) {
        this.loop = loop;
        this.shutdown = shutdown;
    }

    /**
     * Whether a call on the event loop may be executed inside the call. Not if it comes out of a callback out of a call
     * out of a callback, and so on: then it waits for the next turn.
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

    void add(final RequestMailbox lease) {
        if (shutdown.isClosed() && loop.isShuttingDown()) {
            // A next turn may not come; and if it did, the caller could ask once more, and the loop would never end.
            lease.completeElsewhere();
            return;
        }
        deferred.add(lease);
        if (!isScheduled) {
            schedule();
        }
    }

    /** A loop looks for scheduled tasks once per turn; a task that is executed runs in the same turn. */
    private void schedule() {
        loop.schedule(task, 0, TimeUnit.NANOSECONDS).addListener(shutdown::onCancelled);
        isScheduled = true;
    }

    private void run() {
        isScheduled = false;
        // The requests so far; those that they lead to are executed in the turn behind.
        for (int left = deferred.size(); left > 0 && !deferred.isEmpty(); left--) {
            deferred.remove().run();
        }
    }

    /** The loop is ending: completes the requests without it. */
    void completeElsewhere() {
        while (!deferred.isEmpty()) {
            deferred.remove().completeElsewhere();
        }
    }
}
