package dev.redlock.sim;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Counts the refused attempts of waiters for each kind of lock, which a stampede of waiters would multiply. */
final class SimRefusals {

    /** The most refused attempts for each grant, where no node fails: the other kinds had 10 at most. */
    private static final Map<String, Integer> MAX = Map.of("plain", 8, "set", 3, "read", 20, "write", 20, "permit", 12);
    /** Fewer grants say little. */
    private static final int GRANTS_MIN = 20;

    private final Map<String, int[]> counts = new TreeMap<>();

    void onAcquired(String kind, int attemptCount) {
        int[] count = counts.computeIfAbsent(kind, name -> new int[2]);
        count[0]++;
        count[1] += attemptCount - 1;
    }

    /** Returns what is above its bound. */
    List<String> excessive() {
        return counts.entrySet()
                .stream()
                .filter(each -> each.getValue()[0] >= GRANTS_MIN)
                .filter(each -> each.getValue()[1] > MAX.get(each.getKey()) * each.getValue()[0])
                .map(each -> each.getValue()[1] + " refused attempts for " + each.getValue()[0] + " grants of kind "
                        + each.getKey())
                .toList();
    }
}
