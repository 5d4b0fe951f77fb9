package dev.redlock.engine;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The leases with a release or a cancellation for which an event loop had no memory. Their callers may have no handle
 * any more, as {@code Lock.unlock()} or an interrupted acquisition, so the loop looks for them after each poll of its
 * timers. A stack that is linked through the leases needs no memory itself.
 *
 * @threading any thread, except {@link #run}
 */
final class UnsubmittedRequests {

    private static final VarHandle TOP;

    static {
        try {
            TOP = MethodHandles.lookup().findVarHandle(UnsubmittedRequests.class, "top", RequestMailbox.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private volatile RequestMailbox top;

    /** Adds a lease whose requests are set, unless it is there already. */
    void add(RequestMailbox lease) {
        if (!lease.enterUnsubmitted()) {
            return;
        }
        RequestMailbox below;
        do {
            below = top;
            lease.linkUnsubmitted(below);
        } while (!TOP.compareAndSet(this, below, lease));
    }

    /** Executes the requests so far. On the event loop. */
    void run() {
        if (top == null) {
            return;
        }
        RequestMailbox next = (RequestMailbox) TOP.getAndSet(this, null);
        while (next != null) {
            RequestMailbox lease = next;
            // First, so that a request that is set from now on is either executed here or added again.
            next = lease.leaveUnsubmitted();
            lease.runUnsubmitted();
        }
    }
}
