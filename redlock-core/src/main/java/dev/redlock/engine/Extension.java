package dev.redlock.engine;

import dev.redlock.quorum.LateExtensions;
import dev.redlock.quorum.Majority;
import dev.redlock.quorum.Round;
import dev.redlock.time.DeadlineTimer;

/**
 * The extension rounds of a claim; see {@link ExtendOperation}.
 *
 * @threading event-loop-confined
 */
final class Extension {

    final Round round;
    final LateExtensions late = new LateExtensions();
    final DeadlineTimer timer;
    /** Of the last round; 0 before the first. */
    int sequence;
    /** Automatic extensions that have succeeded. */
    int automaticCount;
    boolean isInProgress;
    /** Local end of the validity if the round wins. */
    long untilNs;
    /** Local end of the validity before the round. */
    long validBeforeNs;
    /** Nodes that the round has asked first: a key that they set is no repair. */
    long firstAskedMask;
    /** Nodes that have held the key since before the round, as far as is known. */
    long continuousMask;

    Extension(Majority majority, DeadlineTimer.Handler onTimeout) {
        this.round = new Round(majority);
        this.timer = new DeadlineTimer(onTimeout);
    }

    /** Forgets the rounds of another token. */
    void reset() {
        sequence = 0;
        automaticCount = 0;
        isInProgress = false;
        late.reset();
    }
}
