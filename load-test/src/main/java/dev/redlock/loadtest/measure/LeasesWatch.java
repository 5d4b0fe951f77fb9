package dev.redlock.loadtest.measure;

import dev.redlock.loadtest.driver.HeldLeases;
import dev.redlock.loadtest.result.ClientCost;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.rig.CostMeter;
import dev.redlock.loadtest.rig.Usage;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Counts the renewals of held leases while a series is measured: their rate, their spread over time, and their cost.
 *
 * @threading caller-confined to the thread that runs the rig
 */
final class LeasesWatch implements SeriesWatch {
    static final String LEASES = "leases";
    static final String RENEWALS_PER_SECOND = "renewalsPerSecond";
    static final String SPREAD_MIN = "renewalsPer100MsMin";
    static final String SPREAD_P50 = "renewalsPer100MsP50";
    static final String SPREAD_P99 = "renewalsPer100MsP99";
    static final String SPREAD_MAX = "renewalsPer100MsMax";
    static final String CLIENT_CORES = "clientCores";
    static final String SERVER_CORES = "serverCores";
    static final String BYTES_PER_RENEWAL = "bytesPerRenewal";
    static final String LOST = "lostLeases";

    private final HeldLeases leases;
    private final List<Long> serverPids;
    private Reading start;
    private Reading last;

    /**
     * Readings so far.
     *
     * @threading immutable
     */
    private record Reading(long ns, long renewals, long serverNs) {
    }

    /**
     * @param leases     held leases
     * @param serverPids the processes of the nodes; empty if unknown
     */
    LeasesWatch(HeldLeases leases, List<Long> serverPids) {
        this.leases = leases;
        this.serverPids = serverPids;
    }

    @Override
    public void onProgress(long offsetMs, boolean isMeasuring) {
        if (isMeasuring) {
            last = new Reading(System.nanoTime(), leases.renewalCount(), CostMeter.mainThreadsNs(serverPids));
            start = start == null ? last : start;
        }
    }

    @Override
    public List<String> failures() {
        List<String> failures = new ArrayList<>(leases.problems());
        if (leases.lostCount() > 0) {
            failures.add(leases.lostCount() + " leases were lost");
        }
        return failures;
    }

    @Override
    public SeriesResult complete(SeriesResult series, Usage usage) {
        Map<String, Double> figures = new LinkedHashMap<>(series.figures());
        figures.put(LEASES, (double) leases.heldCount());
        figures.put(LOST, (double) leases.lostCount());
        if (start != last) {
            addRates(figures, usage);
        }
        // The cost per cycle would contain the renewals.
        return new SeriesResult(series.spec(), series.span(), series.tally(), series.operations(), ClientCost.UNKNOWN,
                figures, series.counters(), series.samples(), series.marks(), series.failures());
    }

    private void addRates(Map<String, Double> figures, Usage usage) {
        double perSecond = (last.renewals - start.renewals) * 1e9 / (last.ns - start.ns);
        figures.put(RENEWALS_PER_SECOND, perSecond);
        // The first and the last slot are not complete.
        int[] counts = IntStream.range(leases.slotAt(start.ns) + 1, leases.slotAt(last.ns))
                .map(leases::renewalsOf)
                .sorted()
                .toArray();
        if (counts.length > 0) {
            figures.put(SPREAD_MIN, (double) counts[0]);
            figures.put(SPREAD_P50, (double) counts[counts.length / 2]);
            figures.put(SPREAD_P99, (double) counts[counts.length * 99 / 100]);
            figures.put(SPREAD_MAX, (double) counts[counts.length - 1]);
        }
        if (!serverPids.isEmpty()) {
            figures.put(SERVER_CORES, (double) (last.serverNs - start.serverNs) / (last.ns - start.ns));
        }
        if (usage != null) {
            double seconds = usage.ns() / 1e9;
            figures.put(CLIENT_CORES, usage.clientCpuNs() / 1e9 / seconds);
            figures.put(BYTES_PER_RENEWAL, usage.heapBytes() / (perSecond * seconds));
        }
    }
}
