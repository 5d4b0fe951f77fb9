package dev.redlock.sim;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What happened in a run, as far as runs differ in it: the kinds of events, and how often each happened, rounded down
 * to a power of two. Names and numbers do not count, except the replies of the nodes.
 */
final class SimFeatures {
    private static final int REPLY_LENGTH_MAX = 2;

    private final Map<String, Integer> counts = new HashMap<>();

    /** Runs the simulation and returns its features. */
    static Set<String> ofRun(Simulation simulation) {
        SimFeatures features = new SimFeatures();
        simulation.onTrace(line -> features.counts.merge(kindOf(line), 1, Integer::sum));
        simulation.run();
        return features.counts.entrySet()
                .stream()
                .map(each -> each.getKey() + Integer.highestOneBit(each.getValue()))
                .collect(Collectors.toSet());
    }

    /** The words without a digit, and a short reply after an arrow. */
    private static String kindOf(String line) {
        StringBuilder kind = new StringBuilder(line.length());
        boolean isReply = false;
        for (int from = 0; from < line.length();) {
            int end = line.indexOf(' ', from);
            end = end < 0 ? line.length() : end;
            if (isReply && end - from <= REPLY_LENGTH_MAX || !hasDigit(line, from, end)) {
                kind.append(line, from, end).append(' ');
            }
            isReply = line.startsWith("->", from);
            from = end + 1;
        }
        return kind.toString();
    }

    private static boolean hasDigit(String line, int from, int end) {
        for (int i = from; i < end; i++) {
            if (line.charAt(i) >= '0' && line.charAt(i) <= '9') {
                return true;
            }
        }
        return false;
    }
}
