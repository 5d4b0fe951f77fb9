package dev.redlock.loadtest.tails;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Spans of time that may overlap, and how much time they cover together.
 *
 * @threading caller-confined
 */
final class Spans {
    private final List<long[]> spans = new ArrayList<>();

    /** Adds a span; an empty one changes nothing. */
    void add(long fromNs, long toNs) {
        if (toNs - fromNs > 0) {
            spans.add(new long[]{fromNs, toNs});
        }
    }

    /** The time that at least one of them covers, nanoseconds. */
    long lengthNs() {
        spans.sort(Comparator.comparingLong(span -> span[0] - spans.get(0)[0]));
        long lengthNs = 0;
        for (int i = 0; i < spans.size(); i++) {
            long fromNs = spans.get(i)[0];
            long toNs = spans.get(i)[1];
            if (i > 0) {
                long coveredNs = spans.get(i - 1)[1];
                fromNs = coveredNs - fromNs > 0 ? coveredNs : fromNs;
                toNs = coveredNs - toNs > 0 ? coveredNs : toNs;
                spans.get(i)[1] = toNs;
            }
            lengthNs += Math.max(0, toNs - fromNs);
        }
        return lengthNs;
    }
}
