package dev.redlock.engine;

import dev.redlock.node.NodeView;
import java.util.IdentityHashMap;
import java.util.Map;

/**
 * Shortens leases that need a node whose clock has jumped ahead: its key ends earlier by the jump at most. So does one
 * without a key ({@link Unclaimed}), because others vote earlier by the jump. If it was the clock of this machine that
 * stood still, all nodes show the same jump one after the other; a lease is then shortened once. {@code OwnClockSearch}
 * visits all states of this rule.
 *
 * @threading event-loop-confined
 */
final class ShortenedLeases {

    /**
     * A lease that was shortened.
     *
     * @param acquiredNs identifies the lease, because claims are pooled
     * @param untilNs    the validity since then; an extension changes it
     * @param beforeNs   the validity before the first jump
     * @threading immutable
     */
    private record Shortened(long acquiredNs, long untilNs, long beforeNs) {
    }

    private final LoopServices services;
    /** The voters with a jump: a key of a cluster may move from one master that jumps to another one. */
    private long jumpedMask;
    private Map<Claim, Shortened> leases = new IdentityHashMap<>();

    // For the log: the present comparison of the nodes, and what its jumps have done.
    private int comparison;
    private int shortenedCount;
    private int lostCount;

    ShortenedLeases(LoopServices services) {
        this.services = services;
    }

    /** A clock has jumped. If it had jumped since the first of these jumps, its keys have lost both times. */
    void onJump(NodeView node, int ofComparison) {
        if (ofComparison != comparison) {
            comparison = ofComparison;
            shortenedCount = 0;
            lostCount = 0;
        }
        long bit = 1L << node.index();
        if ((jumpedMask & bit) != 0) {
            jumpedMask = 0;
            leases.clear();
        }
        jumpedMask |= bit;
    }

    /** Shortens a held lease; false if nothing would be left of it. */
    boolean shorten(Claim claim, long aheadNs) {
        LeaseHandle lease = claim.lease;
        Shortened before = leases.get(claim);
        long presentNs = lease.validUntilNs;
        boolean isSame = before != null && before.acquiredNs == lease.acquiredNs && before.untilNs == presentNs;
        long beforeNs = isSame ? before.beforeNs : presentNs;
        long untilNs = earlier(presentNs, beforeNs - aheadNs);
        long leftNs = untilNs - services.clock.nanoTime();
        if (leftNs <= 0) {
            lostCount++;
            return false;
        }
        shortenedCount += isSame ? 0 : 1;
        lease.setValidUntilNs(untilNs);
        leases.put(claim, new Shortened(lease.acquiredNs, untilNs, beforeNs));
        if (claim.isExtending()) {
            claim.extension.validBeforeNs = earlier(claim.extension.validBeforeNs, untilNs);
        }
        // An extension gets its chance before the end.
        long timerNs = lease.isExtendable() || lease.isKept ? untilNs - leftNs / 2 : untilNs;
        services.timers.start(claim.holdTimer, earlier(claim.holdTimer.deadlineNs(), timerNs));
        return true;
    }

    /** Forgets leases that have ended: their claims are pooled, and another jump may not come for weeks. */
    void trim() {
        if (leases.isEmpty()) {
            return;
        }
        leases.entrySet().removeIf(entry -> !isHeld(entry.getKey(), entry.getValue()));
        if (leases.isEmpty()) {
            // The table never shrinks.
            leases = new IdentityHashMap<>();
        }
    }

    private static boolean isHeld(Claim claim, Shortened shortened) {
        return claim.phase == Claim.Phase.HELD && claim.lease.acquiredNs == shortened.acquiredNs;
    }

    int count() {
        return leases.size();
    }

    private static long earlier(long oneNs, long otherNs) {
        return oneNs - otherNs < 0 ? oneNs : otherNs;
    }

    @Override
    public String toString() {
        return lostCount + " leases are lost, " + shortenedCount + " end earlier";
    }
}
