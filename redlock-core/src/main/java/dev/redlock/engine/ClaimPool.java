package dev.redlock.engine;

import dev.redlock.node.send.FreeList;

/**
 * Pools the claims of one event loop. A claim returns when it has no owner and no pending replies, so that a late reply
 * never reaches another claim.
 *
 * @threading event-loop-confined
 */
final class ClaimPool {

    private final LoopServices services;
    private final ClaimEvents events;
    private final FreeList<Claim> free = new FreeList<>(LoopServices.POOLED_MIN);
    private int outCount;

    ClaimPool(LoopServices services, ClaimEvents events) {
        this.services = services;
        this.events = events;
    }

    Claim take() {
        Claim pooled = free.poll();
        Claim claim = pooled == null
                ? new Claim(events, services.counters, services.majority, services.tokenLabel, services.voters.length)
                : pooled;
        outCount++;
        claim.reset();
        return claim;
    }

    void recycleIfDone(Claim claim) {
        if (claim.phase == Claim.Phase.ABANDONED && claim.pendingReplyCount == 0) {
            recycle(claim);
        }
    }

    /** Takes back an abandoned claim without pending replies. */
    void recycle(Claim claim) {
        claim.free();
        free.push(claim);
        outCount--;
        if (outCount == 0 && services.isClosing) {
            events.onIdle();
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
