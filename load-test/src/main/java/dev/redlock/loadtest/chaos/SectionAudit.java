package dev.redlock.loadtest.chaos;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Audits the records of a run. A section claims its resource from its start to its end, or to the end of its validity
 * if that is earlier: a holder that overstays is outside the guarantee. Two overlapping claims on one resource are a
 * failure, and so are more claims on a semaphore than its permits, and a fencing token that is not greater than all
 * before it. An overlap that starts before clients can find the step of a clock is counted and accepted.
 *
 * @threading caller-confined
 */
final class SectionAudit {
    private static final int FAILURES_MAX = 20;

    private final Map<Long, Section> open = new HashMap<>();
    private final Map<Integer, List<Section>> byResource = new TreeMap<>();
    private final Map<String, Integer> refusals = new TreeMap<>();
    private final List<String> failures = new ArrayList<>();
    private int failureCount;
    private final ClockSteps clockSteps;
    private int overlapCount;
    private int acceptedCount;
    private int sectionCount;
    private int fencedCount;
    private int overstayedCount;
    private int unfinishedCount;
    private long longestGapNs;

    /** @threading caller-confined */
    private static final class Section {
        private final SectionRecord enter;
        private long validityEndNs;
        private long leaveNs = Long.MAX_VALUE;

        Section(SectionRecord enter) {
            this.enter = enter;
            this.validityEndNs = enter.validityEndNs();
        }

        long endNs() {
            return Math.min(leaveNs, validityEndNs);
        }

        @Override
        public String toString() {
            return "worker " + enter.worker() + " section " + enter.section() + " [" + enter.timeNs() + ", " + endNs()
                    + "] fence " + enter.fence();
        }
    }

    private SectionAudit(ClockSteps clockSteps) {
        this.clockSteps = clockSteps;
    }

    /** Checks a whole run. The records come in any order that keeps the order of each process. */
    static SectionAudit of(List<SectionRecord> records, long fromNs, long toNs, ClockSteps clockSteps) {
        SectionAudit audit = new SectionAudit(clockSteps);
        records.forEach(audit::add);
        audit.byResource.forEach(audit::check);
        audit.measureGaps(records, fromNs, toNs);
        return audit;
    }

    private void add(SectionRecord record) {
        if (record.kind() == SectionRecord.Kind.ASK) {
            return;
        }
        if (record.kind() == SectionRecord.Kind.REFUSED) {
            refusals.merge(record.refusal(), 1, Integer::sum);
            return;
        }
        long id = (long) record.worker() << 40 | record.section();
        if (record.isStart()) {
            Section section = new Section(record);
            byResource.computeIfAbsent(record.resource(), any -> new ArrayList<>()).add(section);
            sectionCount++;
            unfinishedCount++;
            if (open.put(id, section) != null) {
                fail("section " + id + " was entered twice");
            }
            return;
        }
        Section section = open.get(id);
        if (section == null) {
            fail(record + " has no beginning");
        } else if (record.kind() == SectionRecord.Kind.EXTEND) {
            section.validityEndNs = record.validityEndNs();
        } else {
            section.leaveNs = record.timeNs();
            overstayedCount += section.leaveNs > section.validityEndNs ? 1 : 0;
            unfinishedCount--;
            open.remove(id);
        }
    }

    private void check(int resource, List<Section> sections) {
        sections.sort(Comparator.comparingLong(section -> section.enter.timeNs()));
        if (resource >= SectionRecord.FIRST_SEMAPHORE) {
            checkPermits(resource - SectionRecord.FIRST_SEMAPHORE, sections);
            return;
        }
        Section latest = null;
        Section latestAlone = null;
        Section highest = null;
        for (Section section : sections) {
            boolean isReading = section.enter.kind() == SectionRecord.Kind.READ;
            Section other = isReading ? latestAlone : latest;
            if (other != null && section.enter.timeNs() < other.endNs()) {
                overlap(section, "OVERLAP on resource " + resource + ": " + other + " and " + section);
            }
            latest = later(latest, section);
            latestAlone = isReading ? latestAlone : later(latestAlone, section);
            highest = checkFence(resource, highest, section);
        }
    }

    private void checkPermits(int semaphore, List<Section> sections) {
        List<Section> held = new ArrayList<>();
        for (Section section : sections) {
            held.removeIf(other -> other.endNs() <= section.enter.timeNs());
            held.add(section);
            if (held.size() > SectionRecord.PERMITS) {
                overlap(section, "MORE THAN " + SectionRecord.PERMITS + " PERMITS of semaphore " + semaphore + ": "
                        + held);
            }
        }
    }

    private void overlap(Section later, String what) {
        if (clockSteps.allowOverlapAt(later.enter.timeNs())) {
            acceptedCount++;
        } else {
            overlapCount++;
            fail(what);
        }
    }

    private static Section later(Section one, Section other) {
        return one == null || other.endNs() > one.endNs() ? other : one;
    }

    private Section checkFence(int resource, Section highest, Section section) {
        if (section.enter.fence() == 0) {
            return highest;
        }
        fencedCount++;
        if (highest != null && section.enter.fence() <= highest.enter.fence()) {
            fail("FENCING TOKEN not above an earlier one on resource " + resource + ": " + highest + " and " + section);
            return highest;
        }
        return section;
    }

    private void measureGaps(List<SectionRecord> records, long fromNs, long toNs) {
        long[] entered = records.stream()
                .filter(record -> record.isStart() && record.timeNs() < toNs)
                .mapToLong(SectionRecord::timeNs)
                .sorted()
                .toArray();
        long lastNs = fromNs;
        for (long timeNs : entered) {
            longestGapNs = Math.max(longestGapNs, timeNs - Math.max(lastNs, fromNs));
            lastNs = timeNs;
        }
        longestGapNs = Math.max(longestGapNs, toNs - lastNs);
    }

    private void fail(String what) {
        failureCount++;
        if (failures.size() < FAILURES_MAX) {
            failures.add(what);
        }
    }

    List<String> failures() {
        return List.copyOf(failures);
    }

    Map<String, Integer> refusals() {
        return refusals;
    }

    int failureCount() {
        return failureCount;
    }

    /** Pairs of sections of one resource that overlapped, without the accepted ones. */
    int overlapCount() {
        return overlapCount;
    }

    /** Overlaps that started before clients could find the step of a clock. */
    int acceptedCount() {
        return acceptedCount;
    }

    int sectionCount() {
        return sectionCount;
    }

    int fencedCount() {
        return fencedCount;
    }

    int overstayedCount() {
        return overstayedCount;
    }

    /** Sections without an end, because their process was killed. */
    int unfinishedCount() {
        return unfinishedCount;
    }

    /** The longest time in which no worker entered any section. */
    long longestGapNs() {
        return longestGapNs;
    }
}
