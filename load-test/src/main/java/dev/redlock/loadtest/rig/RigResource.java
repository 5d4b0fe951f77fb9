package dev.redlock.loadtest.rig;

/**
 * One resource of the rig: its entry in the auditor, and the time of its last handoff.
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
     * @return the time since the start of the previous holder's release, if this holder was waiting by then; otherwise
     * -1
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
