package dev.redlock.engine;

import dev.redlock.node.FreeList;

/**
 * Pools the claims of one conductor. A claim returns when it has no owner and no pending replies, so that a late reply
 * never reaches another claim.
 *
 * @threading event-loop-confined
 */
final class ClaimPool {

    private final Conductor conductor;
    private final FreeList<Claim> free = new FreeList<>(Conductor.POOLED_MIN);
    private int outCount;

    ClaimPool(Conductor conductor) {
        this.conductor = conductor;
    }

    Claim take() {
        Claim pooled = free.poll();
        Claim claim = pooled == null ? new Claim(conductor, conductor.nodeCount()) : pooled;
        outCount++;
        claim.reset();
        return claim;
    }

    void recycleIfDone(Claim claim) {
        if (claim.phase == Claim.Phase.ABANDONED && !claim.hasPendingReplies()) {
            recycle(claim);
        }
    }

    /** Takes back an abandoned claim without pending replies. */
    void recycle(Claim claim) {
        claim.phase = Claim.Phase.FREE;
        claim.key = null;
        if (claim.guest != null) {
            claim.guest.onRecycled();
            claim.guest = null;
        }
        free.push(claim);
        outCount--;
        if (outCount == 0) {
            conductor.shutdown().onProgress();
        }
    }

    void trim() {
        free.trim();
    }

    /** Claims in use: owned, or with pending replies. */
    int outCount() {
        return outCount;
    }

    /** Claims in the pool. */
    int pooledCount() {
        return free.length();
    }
}
