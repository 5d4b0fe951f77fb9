package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;

/**
 * Gives an acquisition that ends behind others of its client the reason why it has no lock. It has sent nothing, or not
 * for a long time, so the reason is that of the first one in its queue.
 *
 * @threading event-loop-confined
 */
final class WaitReasons {

    private WaitReasons() {
    }

    /** Whether an attempt has failed, or the acquisition has a reason without one. */
    static boolean isKnown(LeaseHandle lease) {
        return lease.lastReason != AcquireOutcome.Kind.CANCELLED;
    }

    /**
     * Returns the reason of an acquisition that ends; without one, another acquisition of its client has precedence.
     */
    static AcquireOutcome.Kind of(LeaseHandle lease) {
        return isKnown(lease) ? lease.lastReason : AcquireOutcome.Kind.CONTENDED;
    }

    /**
     * Records why an acquisition that ends between two attempts, or before the first one, has no lock.
     *
     * @param causeOfSet why a set of its queue need not make an attempt; null for none, or for another kind
     */
    static void record(PendingAcquire pending, WaitCause causeOfSet) {
        WaitQueue queue = pending.queue;
        if (queue == null) {
            return;
        }
        LeaseHandle lease = pending.lease;
        PendingAcquire head = queue.head();
        lease.aheadCount = pending.waiting.aheadCount;
        if (queue.isHeldLocally()) {
            recordCause(lease, WaitCause.HELD_LOCALLY);
        } else if (head != pending && isKnown(head.lease)) {
            lease.copyReason(head.lease);
        } else if (!isKnown(lease) && queue.isPausing()) {
            recordCause(lease, WaitCause.GIVES_WAY);
        } else if (!isKnown(lease) && causeOfSet != null) {
            recordCause(lease, causeOfSet);
        }
    }

    static void recordCause(LeaseHandle lease, WaitCause cause) {
        lease.waitCause = cause;
        lease.lastReason = AcquireOutcome.Kind.CONTENDED;
    }

    /** A head ends without the lock. The budget of the next one may end before an attempt of its own. */
    static void inherit(PendingAcquire next, LeaseHandle ended) {
        if (isKnown(ended)) {
            next.lease.copyReason(ended);
        }
    }
}
