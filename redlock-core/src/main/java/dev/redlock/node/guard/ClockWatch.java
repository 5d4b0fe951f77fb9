package dev.redlock.node.guard;

import dev.redlock.quorum.Drift;

/**
 * Finds steps of a node's wall clock by comparing samples of it with the local monotonic clock.
 *
 * <p>A sample proves: at some moment between sending TIME and receiving its reply the node's clock was at T. So the
 * offset (node minus local) is between T - received and T - sent. Between two samples, the drift rate of the validity
 * limits how far that interval of a correct clock can move.
 *
 * <p>The watch keeps the lowest upper end and the highest lower end of all samples, both aged by that rate. A later
 * interval is a step if it is beyond one of them by more than half of the drift's constant. A slow reply only widens
 * its interval, so delay alone never looks like a step. The other half of the constant covers the widths of two
 * intervals, which can hide as much; {@link dev.redlock.quorum.Validity} derives the validity of locks from that.
 *
 * <p>The constant is granted once, not with each sample. If a sample is beyond one end, that end stays, so a clock that
 * creeps is found as soon as it has gained the constant. It is not granted twice either: the two ends are kept apart,
 * so a clock that falls behind and then steps ahead is compared with its lowest offset.
 *
 * <p>The reference lasts as long as the node. It belongs to the clock of the machine behind the address, not to a
 * connection or a process. A clock that steps while the node is not connected has expired the keys that a new process
 * reads from disk. If an address leads to another machine after a reconnect, the clock is another one too. If its
 * offset differs by more than drift allows, that counts as a step, and the quarantine that follows is safe.
 *
 * @threading event-loop-confined
 */
public final class ClockWatch {

    private final Drift rate;
    private final long constantNs;
    private final long stepNsMax;
    private boolean hasReference;
    private long originNs;
    private long lastSentNs;
    /** Bounds of the offset of a correct clock. After a small step the minimum may exceed the maximum. */
    private long offsetNsMin;
    private long offsetNsMax;
    /** By how much the clock has jumped: at least, at most, and at most for a key from before. */
    private long jumpNsMin;
    private long jumpNsMax;
    private long keyJumpNsMax;
    /** The node's clock minus the local one at the last sample. */
    private long offsetUs;

    public ClockWatch(Drift drift) {
        this.rate = new Drift(drift.ratePpm(), 0);
        this.constantNs = drift.constantNs();
        this.stepNsMax = drift.constantNs() / 2;
    }

    /**
     * Adds a sample.
     *
     * @param sentNs     monotonic time at which TIME was sent
     * @param receivedNs monotonic time at which the reply was read
     * @param serverNs   the node's clock, nanoseconds since the epoch
     * @return true if the clock has jumped since the sample before
     */
    public boolean onSample(long sentNs, long receivedNs, long serverNs) {
        if (!hasReference) {
            originNs = serverNs - sentNs;
        }
        // Relative to the first sample, so that they are small: the plain difference of the two clocks may wrap.
        long min = serverNs - receivedNs - originNs;
        long max = serverNs - sentNs - originNs;
        // Drift counts for the whole time between sending the last sample and receiving this one. The ends age from
        // sending to sending, so that over many samples no time counts twice.
        long gainNs = hasReference ? rate.ofNs(Math.max(0, receivedNs - lastSentNs)) : 0;
        boolean isJump = hasReference
                && (min - offsetNsMax - gainNs > stepNsMax || offsetNsMin - gainNs - max > stepNsMax);
        if (isJump) {
            jumpNsMin = Math.min(min - offsetNsMax, max - offsetNsMin);
            jumpNsMax = Math.max(min - offsetNsMax, max - offsetNsMin);
            // Before the jump and after it, the clock may gain half of the constant without a report.
            keyJumpNsMax = jumpNsMax + gainNs + constantNs;
        }
        if (isJump || !hasReference) {
            offsetNsMin = min;
            offsetNsMax = max;
        } else {
            long agedNs = rate.ofNs(Math.max(0, sentNs - lastSentNs));
            offsetNsMin = Math.max(offsetNsMin - agedNs, min);
            offsetNsMax = Math.min(offsetNsMax + agedNs, max);
        }
        hasReference = true;
        offsetUs = serverNs / 1_000 - receivedNs / 1_000;
        lastSentNs = sentNs;
        return isJump;
    }

    /**
     * Whether a sample would show a jump ahead; it is not added.
     *
     * @param sentNs     monotonic time at which TIME was sent
     * @param receivedNs monotonic time at which the reply was read
     * @param serverNs   the node's clock, nanoseconds since the epoch
     * @return true if keys from before may have expired early
     */
    public boolean isAhead(long sentNs, long receivedNs, long serverNs) {
        long gainNs = rate.ofNs(Math.max(0, receivedNs - lastSentNs));
        return hasReference && serverNs - receivedNs - originNs - offsetNsMax - gainNs > stepNsMax;
    }

    /** @return whether a later sample can show a jump */
    public boolean hasReference() {
        return hasReference;
    }

    /** @return by how much the clock has jumped ahead at least, in the last jump; negative if it has gone back */
    public long jumpNsMin() {
        return jumpNsMin;
    }

    /** @return by how much at most */
    public long jumpNsMax() {
        return jumpNsMax;
    }

    /**
     * By how much a key from before the last jump may expire early, beyond what validity allows for. The reference
     * starts again with a jump, so the constant counts once more.
     *
     * @return not positive if the clock has gone back
     */
    public long keyJumpNsMax() {
        return jumpNsMin > 0 ? keyJumpNsMax : 0;
    }

    /** The node's wall clock, microseconds since the epoch; 0 before the first sample. */
    public long wallUs(long nowNs) {
        return hasReference ? offsetUs + nowNs / 1_000 : 0;
    }
}
