package dev.redlock.engine;

/**
 * What this client knows about other clients that want one lock, and how much it has had of the lock since.
 *
 * @threading event-loop-confined
 */
final class Competition {

    private static final long LONG_AGO_NS = 1_000_000_000;

    /** The lock; null if this object is free. */
    LockKey key;
    /** A node has pushed a change by another client. */
    boolean isKnown;
    /** A node has reported that another client waits. */
    boolean isReported;
    /** A lease of this client has the lock, as far as is known: a refusal says nothing about others. */
    boolean isHeld;
    /** Leases in a row that this client has ended since it last gave way. */
    int leaseCount;
    /** When the first of them began, monotonic. */
    long sinceNs;
    /** When this was last of use, monotonic. */
    long lastNs;
    /** The pause of a client without pushes: drawn once, because the shortest of many draws would win. 0: not drawn. */
    long pauseNs;

    /** When a lease of this client has last ended, monotonic; long ago before the first end. */
    long releasedNs;
    /** When this client has last paused, monotonic; long ago before the first pause. */
    long pausedNs;

    void start(LockKey newKey, long nowNs) {
        key = newKey;
        isKnown = false;
        isReported = false;
        isHeld = false;
        releasedNs = nowNs - LONG_AGO_NS;
        pausedNs = releasedNs;
        restart(nowNs);
    }

    /** Starts to count again: another client has the lock, or has got a chance. */
    void restart(long nowNs) {
        leaseCount = 0;
        pauseNs = 0;
        sinceNs = nowNs;
        lastNs = nowNs;
    }
}
