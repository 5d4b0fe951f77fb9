package dev.redlock.engine;

import dev.redlock.time.NanoClock;
import java.util.concurrent.locks.LockSupport;

/**
 * The event loop of a lease, which executes the requests of its callers.
 *
 * @threading event-loop-confined, except {@link #clock}, {@link #isOwnThread}, {@link #isClosed},
 *            {@link #grant}, {@link #retainAgain}, {@link #bind}, {@link #addUnsubmitted} and
 *            {@link #execute(Runnable)}
 */
interface LeaseLoop {

    NanoClock clock();

    /** Whether the calling thread is that of the loop. */
    boolean isOwnThread();

    /** Whether the loop executes no request any more. */
    boolean isClosed();

    void execute(Runnable task);

    /** Wakes a thread that waits for an outcome, which is written. */
    default void wake(Thread blocked) {
        LockSupport.unpark(blocked);
    }

    // ---- requests inside the call of their caller -------------------------------------------------------------------

    /** Returns whether a request may run inside its call; see {@link NextTurn#enterCall}. */
    boolean enterCall();

    void leaveCall();

    /** Executes the requests of a lease in the next turn. */
    void addToNextTurn(RequestMailbox lease);

    /** Executes the requests of a lease soon, although there is no memory for a task. On any thread. */
    void addUnsubmitted(RequestMailbox lease);

    // ---- requests ---------------------------------------------------------------------------------------------------

    /** Executes a request of a lease, one of the constants of {@link RequestMailbox}. */
    void execute(LeaseHandle lease, int request);

    /** Gives a lock that the client retains to an acquisition; false if there is none. On any thread. */
    default boolean grant(LeaseHandle lease) {
        return false;
    }

    /**
     * The holder of a lock that the client retains returns it. On any thread.
     *
     * @return false if it needs a release by the loop
     */
    default boolean retainAgain(LeaseHandle lease) {
        return false;
    }

    /**
     * The holder is about to submit a request that its release must not overtake. On any thread.
     *
     * @return true
     */
    default boolean bind(LeaseHandle lease) {
        return true;
    }

    /** A request of an acquisition threw. */
    void abortAfterFailure(LeaseHandle lease);

    /** The release of a held lease threw. */
    void endAfterFailure(LeaseHandle lease);
}
