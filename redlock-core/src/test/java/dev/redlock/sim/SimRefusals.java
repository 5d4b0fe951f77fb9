package dev.redlock.sim;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Counts the refused attempts of waiters for each kind of lock, which a stampede of waiters would multiply. An
 * extension changes the key, so each waiting client looks once: its pushes explain one refused attempt, which does not
 * count.
 */
final class SimRefusals {

    /** The most refused attempts for each grant, where no node fails: readers had 10 at most, the others 4. */
    private static final Map<String, Integer> MAX = Map.of("plain", 8, "set", 3, "read", 20, "write", 20, "permit", 8);
    /** Fewer grants say little. */
    private static final int GRANTS_MIN = 20;

    private final int nodeCount;
    private final Map<String, Count> counts = new TreeMap<>();
    /** For each client and key, the pushes of each node for extensions. */
    private final Map<String, int[]> extensionPushes = new HashMap<>();

    private static final class Count {
        private int grants;
        private int refusals;
        private int explained;
    }

    SimRefusals(int nodeCount) {
        this.nodeCount = nodeCount;
    }

    void onExtensionPushed(int nodeIndex, String client, String key) {
        extensionPushes.computeIfAbsent(client + " " + key, name -> new int[nodeCount])[nodeIndex]++;
    }

    /** Returns the pushes of each node to a client for extensions of some keys until now. */
    int[] extensionPushes(String client, List<String> keys) {
        int[] sums = new int[nodeCount];
        for (String key : keys) {
            int[] ofKey = extensionPushes.get(client + " " + key);
            for (int i = 0; ofKey != null && i < nodeCount; i++) {
                sums[i] += ofKey[i];
            }
        }
        return sums;
    }

    /**
     * A waiter has got its lock.
     *
     * @param pushesBefore the {@link #extensionPushes} when it started to wait
     * @param pushesAfter  those when it got the lock: each node pushes the same extensions, so the most of a node count
     */
    void onAcquired(String kind, int attemptCount, int[] pushesBefore, int[] pushesAfter) {
        int most = 0;
        for (int i = 0; i < nodeCount; i++) {
            most = Math.max(most, pushesAfter[i] - pushesBefore[i]);
        }
        int explained = Math.min(attemptCount - 1, most);
        Count count = counts.computeIfAbsent(kind, name -> new Count());
        count.grants++;
        count.explained += explained;
        count.refusals += attemptCount - 1 - explained;
    }

    /** Returns the kinds above their bounds. */
    List<String> excessive() {
        return counts.entrySet()
                .stream()
                .filter(each -> each.getValue().grants >= GRANTS_MIN)
                .filter(each -> each.getValue().refusals > MAX.get(each.getKey()) * each.getValue().grants)
                .map(each -> description(each.getKey(), each.getValue()))
                .toList();
    }

    private static String description(String kind, Count count) {
        return count.refusals + " refused attempts, and " + count.explained + " after extensions, for " + count.grants
                + " grants of kind " + kind;
    }

    @Override
    public String toString() {
        return counts.keySet().stream().map(kind -> description(kind, counts.get(kind))).toList().toString();
    }
}
