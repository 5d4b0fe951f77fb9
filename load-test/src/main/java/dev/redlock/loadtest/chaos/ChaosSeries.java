package dev.redlock.loadtest.chaos;

import dev.redlock.api.ReleaseOutcome;
import dev.redlock.loadtest.result.ClientCost;
import dev.redlock.loadtest.result.Interval;
import dev.redlock.loadtest.result.IntervalLog;
import dev.redlock.loadtest.result.Mark;
import dev.redlock.loadtest.result.OperationResult;
import dev.redlock.loadtest.result.Sample;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.result.Span;
import dev.redlock.loadtest.result.Tally;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.HdrHistogram.Histogram;

/**
 * A chaos run as a time series: the records of the audit in intervals, with the faults.
 *
 * @threading caller-confined
 */
final class ChaosSeries {
    private static final int INTERVALS = 100;
    private static final long INTERVAL_MS_MIN = 200;
    private static final long INTERVAL_MS_MAX = 10_000;
    private static final String RELEASE = "release ";
    /** The prefix of the outcomes of releases in the counts of workers. */
    private static final Set<String> RELEASES = Arrays.stream(ReleaseOutcome.values())
            .map(outcome -> RELEASE + outcome)
            .collect(Collectors.toSet());

    private final List<SectionRecord> records;
    private final List<Mark> marks;
    private final FaultLog times;
    private final long fromMs;
    private final long toMs;
    private final Histogram acquires = new Histogram(3);
    private final List<Interval> intervals = new ArrayList<>();
    private final List<Sample> samples = new ArrayList<>();

    ChaosSeries(List<SectionRecord> all, FaultLog faults, long fromNs, long toNs) {
        this.records = all.stream()
                .filter(record -> record.timeNs() >= fromNs && record.timeNs() < toNs)
                .filter(record -> record.isStart()
                        || record.kind() == SectionRecord.Kind.REFUSED)
                .sorted(Comparator.comparingLong(SectionRecord::timeNs))
                .toList();
        this.marks = faults.marks();
        this.times = faults;
        this.fromMs = faults.offsetMs(fromNs);
        this.toMs = faults.offsetMs(toNs);
    }

    SeriesResult result(SeriesSpec spec, SectionAudit audit, WorkerTally tally, IntervalLog log) {
        cut(log);
        Map<String, Long> acquired = new LinkedHashMap<>();
        acquired.put("ACQUIRED", (long) audit.sectionCount());
        audit.refusals().forEach((reason, count) -> acquired.put(reason, (long) count));
        Map<String, Long> released = new LinkedHashMap<>();
        Map<String, Long> counters = new LinkedHashMap<>();
        tally.counts().forEach((name, count) -> {
            boolean isRelease = RELEASES.contains(name);
            (isRelease ? released : counters).put(isRelease ? name.substring(RELEASE.length()) : name, count);
        });
        long recordedMs = Math.max(1, toMs - fromMs);
        return new SeriesResult(spec, new Span(fromMs, 0, recordedMs),
                new Tally(acquires.getTotalCount(), acquires.getTotalCount() * 1e3 / recordedMs, acquired, released,
                        audit.sectionCount(), audit.overlapCount()),
                Map.of(SeriesResult.ACQUIRE, new OperationResult(acquires, intervals)), ClientCost.UNKNOWN,
                Map.of("longestGapMs", audit.longestGapNs() / 1e6), counters, samples, marks, List.of());
    }

    private void cut(IntervalLog log) {
        long lengthMs = Math.max(INTERVAL_MS_MIN, Math.min(INTERVAL_MS_MAX, (toMs - fromMs) / INTERVALS));
        int next = 0;
        for (long beginMs = fromMs; beginMs < toMs; beginMs += lengthMs) {
            long endMs = Math.min(toMs, beginMs + lengthMs);
            Histogram acquired = new Histogram(3);
            int refusedCount = 0;
            for (; next < records.size() && times.offsetMs(records.get(next).timeNs()) < endMs; next++) {
                if (records.get(next).isStart()) {
                    acquired.recordValue(records.get(next).acquireUs() * 1000L);
                } else {
                    refusedCount++;
                }
            }
            add(beginMs, endMs - beginMs, acquired, refusedCount, log);
        }
    }

    private void add(long beginMs, long lengthMs, Histogram acquired, int refusedCount, IntervalLog log) {
        Interval interval = Interval.of(beginMs, lengthMs, acquired);
        intervals.add(interval);
        acquires.add(acquired);
        log.append(SeriesResult.ACQUIRE, interval, acquired);
        long inForce = marks.stream()
                .filter(mark -> mark.offsetMs() < beginMs + lengthMs && mark.offsetMs() + mark.lengthMs() > beginMs)
                .count();
        Map<String, Double> values = new LinkedHashMap<>();
        values.put("sectionsPerSecond", acquired.getTotalCount() * 1e3 / lengthMs);
        values.put("refusedPerSecond", refusedCount * 1e3 / lengthMs);
        values.put("faultsInForce", (double) inForce);
        samples.add(new Sample(beginMs, values));
    }
}
