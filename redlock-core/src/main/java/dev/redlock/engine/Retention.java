package dev.redlock.engine;

import io.netty.buffer.ByteBuf;

/**
 * The locks that the client keeps after their release, as far as acquisitions, leases and nodes concern them. A client
 * without such a lock has {@link #count} 0, and then nobody asks for more.
 *
 * @threading event-loop-confined
 */
abstract class Retention {

    /** Locks that the client retains, or is about to. */
    int count;

    /**
     * An acquisition of this client starts. Retained locks that it cannot have are released first.
     *
     * @return true if it has got a retained lock
     */
    abstract boolean onAcquire(LeaseHandle lease);

    /** Enough nodes have refused an attempt: the client that retains the lock has to learn of it. */
    abstract void onRefused(Claim claim);

    /**
     * The holder of a lease with the option has released it.
     *
     * @return false if the lock is not retained: the caller releases it
     */
    abstract boolean retain(LeaseHandle lease);

    /** A node has answered the question whether another client waits, and watches the answer from now on. */
    abstract void onTickets(Claim claim, int nodeIndex, long count);

    /** A node has not answered that question. */
    abstract void onNoTickets(Claim claim);

    /**
     * A node pushes that a key has changed.
     *
     * @return true if it is a key of tickets
     */
    abstract boolean onInvalidated(int nodeIndex, ByteBuf name, int index, int length);

    /** The lease of a claim is about to end without its holder, who owns the claim afterwards. */
    abstract void onLosing(Claim claim);

    /** A node may have lost registrations or keys: releases all retained locks. */
    abstract void onNodeLost();

    /** The client closes, or the loop ends: no caller gets a retained lock any more. */
    abstract void stop();
}
