package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import io.netty.buffer.ByteBuf;

/**
 * The locks that the client keeps after their release, as far as acquisitions, leases and nodes concern them. A client
 * without such a lock has {@link #count} 0, and then nobody asks for more.
 *
 * @threading event-loop-confined, except {@link #grant} and {@link #grantCount}
 */
abstract class Retention {

    /** Locks that the client retains, or may retain after their next release. */
    int count;

    /** Gives a retained lock to an acquisition without the event loop; false if there is none. On any thread. */
    abstract boolean grant(LeaseHandle lease);

    /** Returns the local grants so far. On any thread. */
    abstract long grantCount();

    /**
     * An acquisition of this client starts. Retained locks that it cannot have are released first.
     *
     * @return true if it has a retained lock, or waits for its holder, or is refused because of it
     */
    abstract boolean onAcquire(LeaseHandle lease);

    /** Sends the acquire of an attempt with the option to the nodes of a mask. */
    abstract void ask(Claim claim, long mask);

    /** An attempt fails: if it was refused, the client that retains the lock has to learn of it. */
    abstract void onFailed(Claim claim, AcquireOutcome.Kind reason);

    /** An attempt, or a lease whose lock is not to be retained, ends. */
    abstract void onEnded(Claim claim);

    /**
     * The holder of a lock with the option has released it.
     *
     * @return false if the lock is not retained: the caller releases it
     */
    abstract boolean retain(LeaseHandle lease);

    /** Returns the lease that has the lock of a claim locally; null if none has. */
    abstract LeaseHandle holderOf(Claim claim);

    /**
     * A node pushes that a key has changed.
     *
     * @return true if it is the key of a queue or of traces
     */
    abstract boolean onInvalidated(int nodeIndex, ByteBuf name, int index, int length);

    /** The lease of a claim is about to end without its holder, who owns the claim afterwards. */
    abstract void onLosing(Claim claim);

    /** A node has lost the key of a claim, so no further holder gets the lock locally. */
    abstract void onHolderDropped(Claim claim);

    /** A node may have lost registrations or keys: releases all retained locks. */
    abstract void onNodeLost();

    /** Gives memory back that a peak of locks needed. */
    abstract void trim();

    /** The client closes, or the loop ends: no caller gets a retained lock any more. */
    abstract void stop();
}
