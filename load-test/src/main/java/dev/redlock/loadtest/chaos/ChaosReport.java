package dev.redlock.loadtest.chaos;

import dev.redlock.cli.AdminClient;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The report of a run: counts, the keys left on the nodes, and the verdict.
 *
 * @threading caller-confined
 */
final class ChaosReport {
    private static final String COUNTER_MARK = ":redlock:fence";
    /** The key with which the restart guard marks a node; it has no expiry. */
    private static final String GUARD_MARK = "node" + COUNTER_MARK + ":run_id";
    private static final long POLL_MS = 20;
    private static final long EXPIRY_ROOM_MS = 500;
    /** The bound of a stuck call: a paused or starved process makes shorter calls look long. */
    private static final long STUCK_MS = 10_000;

    private final ChaosOptions options;
    private final WorkerTally tally;
    private final SectionAudit audit;
    private final List<String> keyLines = new ArrayList<>();
    private final List<String> keyFailures = new ArrayList<>();

    ChaosReport(ChaosOptions options, WorkerTally tally, SectionAudit audit) {
        this.options = options;
        this.tally = tally;
        this.audit = audit;
    }

    /** Reads the keys of each node directly, now and again after the longest ttl. */
    void keys(RedisNodes nodes) throws IOException, InterruptedException {
        long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(lifeMsMax() + EXPIRY_ROOM_MS);
        for (RedisNode node : nodes.nodes()) {
            keyLines.add(node + ": " + lockKeys(node).size() + " lock keys left after the last release");
        }
        for (RedisNode node : nodes.nodes()) {
            List<String> left = lockKeys(node);
            while (!left.isEmpty() && deadlineNs - System.nanoTime() > 0) {
                TimeUnit.MILLISECONDS.sleep(POLL_MS);
                left = lockKeys(node);
            }
            if (!left.isEmpty()) {
                keyFailures.add(node + " still has " + left + " beyond the ttl");
            }
        }
    }

    private long lifeMsMax() {
        return options.ttl.toMillis() + options.keyRoomMs();
    }

    /**
     * Returns the keys of locks on a node. A node may still have a key of a slot that it does not serve any more, and
     * answers with an error instead of a ttl: the key must go like the others.
     */
    List<String> lockKeys(RedisNode node) throws IOException {
        List<String> keys = new ArrayList<>();
        try (AdminClient redis = node.connect()) {
            if (options.clusterShards > 0) {
                // Otherwise a replica redirects.
                redis.call("READONLY");
            }
            for (Object key : (List<?>) redis.call("KEYS", "*")) {
                String name = key.toString();
                long ttlMs = redis.call("PTTL", name) instanceof Long left ? left : 0;
                if (ttlMs == -1 && !name.equals(GUARD_MARK)) {
                    keyFailures.add(node + " has the key " + name + " without expiry");
                }
                boolean isOfLock = !name.contains(COUNTER_MARK) && !name.contains(":redlock:reservation");
                if (isOfLock && ttlMs != -2) {
                    keys.add(name);
                    if (ttlMs > lifeMsMax()) {
                        keyFailures.add(node + " keeps " + name + " for " + ttlMs + " ms, longer than any ttl");
                    }
                }
            }
        }
        return keys;
    }

    void print(PrintWriter out, int killedWorkers, boolean isCancelled) {
        out.printf("%nacquisitions%n%10d  ACQUIRED%n", audit.sectionCount());
        audit.refusals().forEach((name, amount) -> out.printf("%10d  %s%n", amount, name));
        out.println("counted by the workers" + (killedWorkers == 0
                ? ""
                : ", without the counts of " + killedWorkers + " killed processes"));
        tally.counts().forEach((name, amount) -> out.printf("%10d  %s%n", amount, name));
        out.println("audit");
        out.printf("%10d  sections, %d of them fenced, %d left after their validity, %d without an end%n",
                audit.sectionCount(), audit.fencedCount(), audit.overstayedCount(), audit.unfinishedCount());
        out.printf("%10d  ms, the longest time in which no worker entered a section%n",
                TimeUnit.NANOSECONDS.toMillis(audit.longestGapNs()));
        out.printf("%10d  ms, the longest acquire, waiting included%n",
                TimeUnit.NANOSECONDS.toMillis(tally.longestAcquireNs()));
        out.printf("%10d  ms, the longest release%n", TimeUnit.NANOSECONDS.toMillis(tally.longestReleaseNs()));
        keyLines.forEach(out::println);
        out.println();
        List<String> failures = failures();
        failures.forEach(failure -> out.println("FAIL: " + failure));
        if (failures.isEmpty()) {
            out.printf(
                    "PASS: no two valid sections overlapped%s%s, no key outlived its ttl (seed %d%s)%n",
                    audit.acceptedCount() > 0 ? ", except after steps of clocks" : "",
                    audit.fencedCount() > 0 ? ", fencing tokens rise" : "", options.seed,
                    isCancelled ? ", cut short" : "");
        } else {
            out.println("FAIL: seed " + options.seed);
        }
        out.flush();
    }

    /** The reasons of a failed run; empty if it passed. */
    List<String> failures() {
        List<String> failures = new ArrayList<>(audit.failures());
        if (audit.failureCount() > failures.size()) {
            failures.add("and " + (audit.failureCount() - failures.size()) + " more");
        }
        failures.addAll(keyFailures);
        failures.addAll(tally.problems());
        if (audit.sectionCount() == 0) {
            failures.add("no section was entered at all");
        }
        if (TimeUnit.NANOSECONDS.toMillis(tally.longestAcquireNs()) > STUCK_MS) {
            failures.add("an acquire took longer than " + STUCK_MS + " ms");
        }
        return failures;
    }
}
