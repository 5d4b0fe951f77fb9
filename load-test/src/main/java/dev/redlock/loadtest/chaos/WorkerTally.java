package dev.redlock.loadtest.chaos;

import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The counts of one worker process, and their text form for its parent.
 *
 * @threading any thread
 */
final class WorkerTally {
    private static final String COUNT = "count ";
    private static final String LONGEST = "longest-acquire-ns ";
    private static final String LONGEST_RELEASE = "longest-release-ns ";
    private static final String PROBLEM = "problem ";

    private final Map<String, AtomicLong> counts = new ConcurrentSkipListMap<>();
    private final List<String> problems = new CopyOnWriteArrayList<>();
    private final AtomicLong longestAcquireNs = new AtomicLong();
    private final AtomicLong longestReleaseNs = new AtomicLong();

    void count(String name) {
        count(name, 1);
    }

    void count(String name, long amount) {
        counts.computeIfAbsent(name, any -> new AtomicLong()).addAndGet(amount);
    }

    void problem(String what) {
        problems.add(what);
    }

    void acquireTook(long ns) {
        longestAcquireNs.accumulateAndGet(ns, Math::max);
    }

    void releaseTook(long ns) {
        longestReleaseNs.accumulateAndGet(ns, Math::max);
    }

    void print(PrintWriter out) {
        counts.forEach((name, amount) -> out.println(COUNT + amount + " " + name));
        out.println(LONGEST + longestAcquireNs);
        out.println(LONGEST_RELEASE + longestReleaseNs);
        problems.forEach(problem -> out.println(PROBLEM + problem));
        out.flush();
    }

    /** Adds the printed counts of another process; unknown lines are problems. */
    void addPrinted(List<String> lines) {
        for (String line : lines) {
            if (line.startsWith(COUNT)) {
                String[] parts = line.split(" ", 3);
                count(parts[2], Long.parseLong(parts[1]));
            } else if (line.startsWith(LONGEST)) {
                acquireTook(Long.parseLong(line.substring(LONGEST.length())));
            } else if (line.startsWith(LONGEST_RELEASE)) {
                releaseTook(Long.parseLong(line.substring(LONGEST_RELEASE.length())));
            } else {
                problem(line.startsWith(PROBLEM) ? line.substring(PROBLEM.length()) : "a worker printed: " + line);
            }
        }
    }

    Map<String, Long> counts() {
        Map<String, Long> copy = new TreeMap<>();
        counts.forEach((name, amount) -> copy.put(name, amount.get()));
        return copy;
    }

    List<String> problems() {
        return problems;
    }

    long longestAcquireNs() {
        return longestAcquireNs.get();
    }

    long longestReleaseNs() {
        return longestReleaseNs.get();
    }
}
