package dev.redlock.node;

import dev.redlock.quorum.Drift;

/**
 * Compares a node's wall clock with the local monotonic clock, sample by sample, and finds steps.
 *
 * <p>A sample says: at some moment between sending TIME and receiving its answer the node's clock stood at T. So the
 * offset (node minus local) lies between T - received and T - sent. Between two samples an honest clock may move that
 * interval by no more than the rate of the drift that validity allows for. The watch keeps the lowest upper end and the
 * highest lower end of all samples, both aged by that rate: a later interval that lies beyond one of them by more than
 * half of the drift's constant is a step. A slow answer only widens its interval, so delay alone never looks like a
 * step. The other half of the constant is for the width of two intervals, which can hide as much; {@link
 * dev.redlock.quorum.ClockAllowance} shows what follows for the validity of locks.
 *
 * <p>The constant is granted once and not with each sample: where a sample lies beyond, the end that it is beyond
 * stays, so a clock that creeps is found as soon as it has gained it. It is not granted twice either: the two ends are
 * kept apart from each other, so a clock that falls behind and then steps ahead is held to where it fell.
 *
 * <p>The reference is never forgotten while the node exists. It belongs to the clock of the machine behind the address,
 * not to a connection or a process: a clock that steps while the node is away, or while its process is replaced, has
 * expired the keys that are read back from disk just the same. An address that leads to another machine after a
 * reconnect brings another clock; if that one stands further away than drift allows, it counts as a step too, and the
 * node sits out its quarantine, which is safe.
 *
 * @threading event-loop-confined
 */
final class ClockWatch {

    private final Drift rate;
    private final long stepNsMax;
    private boolean hasReference;
    private long originNs;
    private long askedNs;
    /** No honest clock is below the one or above the other; after a small step the one may be above the other. */
    private long offsetNsMin;
    private long offsetNsMax;

    ClockWatch(final Drift drift) {
        this.rate = new Drift(drift.ratePpm(), 0);
        this.stepNsMax = drift.constantNs() / 2;
    }

    /**
     * Takes a sample.
     *
     * @param sentNs     monotonic time at which TIME was sent
     * @param receivedNs monotonic time at which the answer was read
     * @param serverNs   the node's clock, nanoseconds since the epoch
     * @return true if the clock has jumped since the sample before
     */
    boolean onSample(final long sentNs, final long receivedNs, final long serverNs) {
        if (!hasReference) {
            originNs = serverNs - sentNs;
        }
        // Seen from the first one they are small, wherever the two clocks stand: their plain difference may wrap.
        final long min = serverNs - receivedNs - originNs;
        final long max = serverNs - sentNs - originNs;
        // From one answer to the next may pass all the time since the one before was asked for: drift counts for it
        // all. The ends age from question to question, so that over many samples no time counts twice.
        final long gainNs = hasReference ? rate.ofNs(Math.max(0, receivedNs - askedNs)) : 0;
        final boolean isJump = hasReference
                && (min - offsetNsMax - gainNs > stepNsMax || offsetNsMin - gainNs - max > stepNsMax);
        if (isJump || !hasReference) {
            offsetNsMin = min;
            offsetNsMax = max;
        } else {
            final long agedNs = rate.ofNs(Math.max(0, sentNs - askedNs));
            offsetNsMin = Math.max(offsetNsMin - agedNs, min);
            offsetNsMax = Math.min(offsetNsMax + agedNs, max);
        }
        hasReference = true;
        askedNs = sentNs;
        return isJump;
    }
}
