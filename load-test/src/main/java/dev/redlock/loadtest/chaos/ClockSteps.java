package dev.redlock.loadtest.chaos;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The times in which a node's clock has jumped ahead, and clients may not have found it yet.
 *
 * <p>A clock that jumps ahead frees the locks of its node early. A lock whose quorum needs that node is then free for
 * others, until the clock watch of its client takes the next sample. No client can exclude the overlaps of that time.
 *
 * @threading caller-confined
 */
final class ClockSteps {
    /** The interval between the samples of the workers. */
    static final int SAMPLE_MS = 100;
    /** A sample, with a margin for a loaded machine. No clock jumps back sooner. */
    static final int FOUND_WITHIN_MS = 500;

    private final List<Unseen> unseen = new ArrayList<>();

    /** @threading immutable */
    private record Unseen(long fromNs, long untilNs) {
    }

    /** Adds a jump ahead, by monotonic times just before and just after it. */
    void add(long beforeNs, long afterNs) {
        unseen.add(new Unseen(beforeNs, afterNs + TimeUnit.MILLISECONDS.toNanos(FOUND_WITHIN_MS)));
    }

    boolean isEmpty() {
        return unseen.isEmpty();
    }

    /** Whether a section that starts now may overlap an earlier one, because a jump is not found yet. */
    boolean allowOverlapAt(long startNs) {
        return unseen.stream().anyMatch(step -> step.fromNs <= startNs && startNs <= step.untilNs);
    }
}
