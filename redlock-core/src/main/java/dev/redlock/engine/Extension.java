package dev.redlock.engine;

import dev.redlock.engine.watch.LossCause;
import dev.redlock.node.send.CommandDetail;
import dev.redlock.quorum.LateExtensions;
import dev.redlock.quorum.Majority;
import dev.redlock.quorum.Round;
import dev.redlock.time.DeadlineTimer;
import java.util.function.LongConsumer;

/**
 * The extension rounds of a claim; see {@link ExtendOperation}.
 *
 * @threading event-loop-confined
 */
final class Extension {

    final Round round;
    final DeadlineTimer timer;
    /** The extensions that a node may execute late; null if each of the token has its reply, or may have it. */
    LateExtensions late;
    /** It has state of the token. */
    boolean isUsed;
    /** The number of the last round; 0 before the first. */
    int number;
    /** Automatic extensions that have succeeded. */
    int automaticCount;
    boolean isInProgress;
    /** The next round, or the one in progress, repairs: it is earlier than the schedule, and changes nothing of it. */
    boolean isRepair;
    /** Rounds that may still repair. */
    int repairsLeft;
    /** Nodes for which one repair more may follow, because a repair has set their key; as a mask. */
    private long repairAgainMask;
    /** When the next round is due by the schedule, monotonic; only if the next one, or the one in progress, repairs. */
    long scheduledNs;
    /** The number of the last round that did not repair. */
    int scheduledNumber;
    /** The ttl of the last extension. */
    long lastTtlMs;
    /** The shortest ttl of an extension. */
    long shortestTtlMs = Long.MAX_VALUE;
    /** Local end of the validity if the round wins. */
    long untilNs;
    /** Local end of the validity before the round. */
    long validBeforeNs;
    /** Nodes that the round has asked first: a key that they set is no repair. */
    long firstAskedMask;
    /** Nodes that have held the key since before the round, as far as is known. */
    long continuousMask;
    /** Why no key protects the lease, although it is held; null if one does. See {@link Unclaimed}. */
    LossCause unclaimedBecause;

    Extension(Majority majority, LongConsumer onTimeout) {
        this.round = new Round(majority);
        this.timer = new DeadlineTimer(onTimeout);
    }

    /** It has state of the token from now on, which {@link #reset} forgets. */
    void use() {
        isUsed = true;
    }

    /** A round begins. One for a caller has a schedule of its own. */
    void begin(long ttlMs, boolean isForCaller, long holderMask) {
        assert !isInProgress : "rounds follow each other";
        isInProgress = true;
        isRepair &= !isForCaller;
        lastTtlMs = ttlMs;
        shortestTtlMs = Math.min(shortestTtlMs, ttlMs);
        if (late != null) {
            late.onSent(ttlMs);
        }
        number = number % CommandDetail.ROUND_MAX + 1;
        if (!isRepair) {
            scheduledNumber = number;
            repairAgainMask = 0;
        }
        continuousMask = holderMask;
        round.reset();
    }

    /** One repair more may follow a repair that sets the key of a node. */
    void allowRepairAgain(int nodeIndex) {
        repairAgainMask |= 1L << nodeIndex;
    }

    /** Returns whether another round may follow one that has set the key of a node. */
    boolean mayRepairAfter(int ofNumber, int nodeIndex) {
        return ofNumber == scheduledNumber || ofNumber == number && (repairAgainMask & 1L << nodeIndex) != 0;
    }

    void repairAgain(int nodeIndex) {
        repairAgainMask &= ~(1L << nodeIndex);
        repairsLeft = 1;
    }

    void setValidity(long beforeNs, long afterNs) {
        validBeforeNs = beforeNs;
        untilNs = afterNs;
    }

    /** The round has an outcome, or the lease ends: later replies do not count. */
    void end() {
        isInProgress = false;
    }

    /** Forgets the rounds of another token. */
    void reset() {
        isUsed = false;
        number = 0;
        automaticCount = 0;
        isInProgress = false;
        isRepair = false;
        repairsLeft = 0;
        repairAgainMask = 0;
        scheduledNumber = 0;
        shortestTtlMs = Long.MAX_VALUE;
        late = null;
        unclaimedBecause = null;
    }

    /** The connection of an extension was lost before the reply. */
    void onUnanswered(int nodeIndex, int ofNumber) {
        if (late == null) {
            late = new LateExtensions();
            late.onSent(shortestTtlMs);
            late.onSent(lastTtlMs);
        }
        late.onUnanswered(nodeIndex, ofNumber == number);
    }
}
