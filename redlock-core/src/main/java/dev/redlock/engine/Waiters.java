package dev.redlock.engine;

import dev.redlock.engine.key.LockKey;

/**
 * The acquisitions of an event loop, as far as the end of a lease concerns them.
 *
 * @threading event-loop-confined
 */
interface Waiters {

    /**
     * A lease ends, before its release is sent.
     *
     * @param refusedMask the nodes that refused its acquire
     * @return the node to ask whether another client waits; {@link Coordinator#NONE} for none
     */
    int onEnding(LockKey key, LeaseHandle lease, long refusedMask, long nowNs);

    /** A lease is lost: no release is sent that could ask a node, so the next one does. */
    void onLost(LockKey key, long waitNs, long acquiredNs, long nowNs);

    /** Asks a node whether another client waits for a lock whose waiters leave marks or reservations. */
    void askForMark(LockKey key, int node);

    /** A lease has ended: its lock goes to the next waiter of this client. */
    void handOff(LockKey key, LockKey lockedKey);
}
