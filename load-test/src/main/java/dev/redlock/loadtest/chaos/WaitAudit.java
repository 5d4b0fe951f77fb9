package dev.redlock.loadtest.chaos;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Looks for workers that waited for a lock that no section had, or that others took again and again. A client that
 * retains a lock must give it up as soon as another one asks; what is left then is the time of some round trips. Waits
 * count that no fault explains: of a node meanwhile, of the waiting worker, or of a worker that may have had the lock
 * when it was stopped.
 *
 * @threading caller-confined
 */
final class WaitAudit {
    /** Waiters try again after half a second at the latest; the rest is for a busy machine. */
    static final long FREE_MS_MAX = 1_500;
    /** Some callers of a process get a lock in a row, and sets and readers have an order of their own. */
    static final int OVERTAKEN_MAX = 50;
    /** The first attempt of a waiter is on its way, and the clients of the others learn of it. */
    private static final long NOTICE_NS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long ROOM_NS = TimeUnit.SECONDS.toNanos(1);
    /** Less than any round trip. */
    private static final int LOCAL_US = 30;
    private static final int FAILURES_MAX = 5;
    private static final int ALL = -1;

    private final long ttlNs;
    private final List<Disturbance> disturbances = new ArrayList<>();
    private final Map<Integer, TreeMap<Long, Long>> lastEnds = new HashMap<>();
    private final List<String> failures = new ArrayList<>();
    private List<SectionRecord> inOrder = List.of();
    private int waitCount;
    private int localCount;
    private int failureCount;
    private long longestNs;
    private int overtakenMost;

    /**
     * A time in which a lock may be late.
     *
     * @param worker    the worker whose waits are late; {@link #ALL} if all are
     * @param resources those whose locks are late for all workers
     * @threading immutable
     */
    private record Disturbance(int worker, Set<Integer> resources, long fromNs, long toNs) {
        boolean explains(SectionRecord end, long beganNs) {
            boolean isConcerned = worker == ALL || worker == end.worker() || resources.contains(end.resource());
            return isConcerned && fromNs <= end.timeNs() && beganNs <= toNs;
        }
    }

    /** @threading immutable */
    private record Stop(int worker, long fromNs, long toNs) {
    }

    private final List<Stop> stops = new ArrayList<>();

    WaitAudit(Duration ttl) {
        ttlNs = ttl.toNanos();
    }

    /** Nodes are bad for so long. */
    void disturbNodes(long nowNs, long lengthMs) {
        disturbances.add(
                new Disturbance(ALL, Set.of(), nowNs, nowNs + TimeUnit.MILLISECONDS.toNanos(lengthMs) + ROOM_NS));
    }

    /** A worker stops for so long, or for ever. Others get what it had after the ttl at the latest. */
    void disturbWorker(int worker, long nowNs, long lengthMs) {
        stops.add(new Stop(worker, nowNs, nowNs + TimeUnit.MILLISECONDS.toNanos(lengthMs) + ttlNs + ROOM_NS));
    }

    /** Returns the waits of this time that nothing explains. */
    List<String> check(List<SectionRecord> records, long fromNs, long toNs) {
        inOrder = records.stream().sorted(Comparator.comparingLong(SectionRecord::timeNs)).toList();
        stops.forEach(stop -> disturbances.add(
                new Disturbance(stop.worker(), usedBy(stop.worker(), stop.fromNs()), stop.fromNs(), stop.toNs())));
        findEnds();
        localCount = (int) inOrder.stream()
                .filter(record -> record.kind() == SectionRecord.Kind.ENTER && record.acquireUs() < LOCAL_US)
                .count();
        Map<List<Long>, List<SectionRecord>> waits = new HashMap<>();
        inOrder.stream()
                .filter(record -> isEndOfWait(record) && record.timeNs() >= fromNs && record.timeNs() < toNs)
                // The records of a set have one time.
                .forEach(record -> waits.computeIfAbsent(List.of((long) record.worker(), record.timeNs()),
                        any -> new ArrayList<>()).add(record));
        waits.values().stream().sorted(Comparator.comparingLong(wait -> wait.get(0).timeNs())).forEach(this::check);
        if (failureCount > failures.size()) {
            failures.add("and " + (failureCount - failures.size()) + " more waits");
        }
        return failures;
    }

    private static boolean isEndOfWait(SectionRecord record) {
        return record.acquireUs() > 0 && record.resource() < SectionRecord.FIRST_SEMAPHORE
                && (record.isStart() || record.kind() == SectionRecord.Kind.REFUSED);
    }

    /** The resources that a worker held, was about to hold, or may have retained. */
    private Set<Integer> usedBy(int worker, long untilNs) {
        Map<Integer, Integer> users = new HashMap<>();
        Map<Long, List<SectionRecord>> asked = new HashMap<>();
        for (SectionRecord record : inOrder) {
            if (record.timeNs() > untilNs) {
                break;
            }
            if (record.isStart()) {
                users.put(record.resource(), record.worker());
            } else if (record.kind() == SectionRecord.Kind.ASK && record.worker() == worker) {
                List<SectionRecord> last = asked.computeIfAbsent(record.section(), any -> new ArrayList<>());
                last.removeIf(one -> one.timeNs() != record.timeNs());
                last.add(record);
            }
        }
        Set<Integer> used = new HashSet<>();
        users.forEach((resource, user) -> {
            if (user == worker) {
                used.add(resource);
            }
        });
        asked.values().forEach(last -> last.forEach(record -> used.add(record.resource())));
        return used;
    }

    /** For each resource: when a section started, the latest end of those until then. */
    private void findEnds() {
        Map<Long, Long> ends = new HashMap<>();
        for (SectionRecord record : inOrder) {
            long id = (long) record.worker() << 40 | record.section();
            if (record.isStart() || record.kind() == SectionRecord.Kind.EXTEND) {
                ends.put(id, record.validityEndNs());
            } else if (record.kind() == SectionRecord.Kind.LEAVE) {
                ends.merge(id, record.timeNs(), Math::min);
            }
        }
        for (SectionRecord record : inOrder) {
            if (record.isStart()) {
                TreeMap<Long, Long> last = lastEnds.computeIfAbsent(record.resource(), any -> new TreeMap<>());
                long endNs = ends.get((long) record.worker() << 40 | record.section());
                last.put(record.timeNs(), last.isEmpty() ? endNs : Math.max(last.lastEntry().getValue(), endNs));
            }
        }
    }

    private void check(List<SectionRecord> wait) {
        SectionRecord end = wait.get(0);
        long askedNs = end.timeNs() - TimeUnit.MICROSECONDS.toNanos(end.acquireUs());
        long freeFromNs = askedNs;
        for (SectionRecord one : wait) {
            TreeMap<Long, Long> last = lastEnds.getOrDefault(one.resource(), new TreeMap<>());
            Map.Entry<Long, Long> before = last.lowerEntry(one.timeNs());
            freeFromNs = before == null ? freeFromNs : Math.max(freeFromNs, before.getValue());
        }
        long beganNs = freeFromNs;
        if (!isExplained(wait, beganNs)) {
            waitCount++;
            long freeNs = Math.max(0, end.timeNs() - beganNs);
            longestNs = Math.max(longestNs, freeNs);
            if (freeNs > TimeUnit.MILLISECONDS.toNanos(FREE_MS_MAX)) {
                fail("A WAIT FOR A FREE LOCK", end, TimeUnit.NANOSECONDS.toMillis(freeNs) + " ms");
            }
        }
        // The locks of a set are taken by others while it waits for one of them.
        if (wait.size() == 1 && !isExplained(wait, askedNs)) {
            int overtaken = overtaken(end, askedNs + NOTICE_NS);
            overtakenMost = Math.max(overtakenMost, overtaken);
            if (overtaken > OVERTAKEN_MAX) {
                fail("A WAITER OVERTAKEN", end, overtaken + " times");
            }
        }
    }

    private boolean isExplained(List<SectionRecord> wait, long beganNs) {
        return wait.stream()
                .anyMatch(one -> disturbances.stream().anyMatch(cause -> cause.explains(one, beganNs)));
    }

    private int overtaken(SectionRecord end, long fromNs) {
        if (fromNs >= end.timeNs()) {
            return 0;
        }
        return lastEnds.getOrDefault(end.resource(), new TreeMap<>()).subMap(fromNs, end.timeNs()).size();
    }

    private void fail(String what, SectionRecord end, String measure) {
        failureCount++;
        if (failures.size() < FAILURES_MAX) {
            failures.add(String.format(Locale.ROOT, "%s: worker %d, resource %d, %s until %d, %s", what, end.worker(),
                    end.resource(), measure, end.timeNs(), end.kind()));
        }
    }

    String inWords() {
        return String.format(Locale.ROOT,
                "%d acquires without a fault nearby: the longest took %d ms beside a lock that nobody used (at most "
                        + "%d), and others got the lock %d times meanwhile (at most %d); %d acquires took less than "
                        + "%d us, as those of retained locks",
                waitCount,
                TimeUnit.NANOSECONDS.toMillis(longestNs), FREE_MS_MAX, overtakenMost, OVERTAKEN_MAX, localCount,
                LOCAL_US);
    }
}
