package dev.redlock.loadtest.rig;

/**
 * One resource as the rig sees it: under the auditor's watch, and with the moment of its last hand-over.
 *
 * @threading any thread
 */
final class RigResource {
    private final MutualExclusionAuditor.Resource audited;
    private boolean wasLeft;
    private long leftNs;

    RigResource(MutualExclusionAuditor.Resource audited) {
        this.audited = audited;
    }

    String name() {
        return audited.name();
    }

    /**
     * A holder has the lock.
     *
     * @return how long ago the holder before it began to give the lock back, if this one was asking by then; else -1
     */
    synchronized long enter(long holder, long askedNs, long nowNs, long untilNs) {
        audited.enter(holder, nowNs, untilNs);
        return wasLeft && askedNs - leftNs < 0 ? nowNs - leftNs : -1;
    }

    synchronized void leave(long holder, long nowNs) {
        audited.leave(holder);
        wasLeft = true;
        leftNs = nowNs;
    }
}
