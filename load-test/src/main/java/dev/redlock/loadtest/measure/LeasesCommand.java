package dev.redlock.loadtest.measure;

import dev.redlock.cli.DurationConverter;
import dev.redlock.cli.Options;
import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.loadtest.cli.OptionDefaults;
import dev.redlock.loadtest.driver.DriverOption;
import dev.redlock.loadtest.driver.HeldLeases;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.driver.RedlockDriver;
import dev.redlock.loadtest.result.ClientCost;
import dev.redlock.loadtest.result.OperationResult;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.result.Verdict;
import dev.redlock.loadtest.rig.CostMeter;
import dev.redlock.loadtest.rig.LoadPlan;
import dev.redlock.loadtest.rig.LoadResult;
import dev.redlock.loadtest.rig.Usage;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** @threading caller-confined */
@Command(name = "leases", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        defaultValueProvider = OptionDefaults.class,
        description = {"Holds many leases with one client, which renews them, and acquires single locks beside them at "
                + "a fixed rate. First the same client acquires the single locks while it holds nothing.",
            "Fails if a lease is lost. Client: CPU of this process without the rig; it includes the single locks."},
        footer = {"  load-test leases                                100000 leases for a minute",
            "  load-test leases --count 100000 --ttl 30s --duration 10m",
            "  load-test leases --count 1000 --duration 10s --idle 2s"})
public final class LeasesCommand extends LabCommand {
    private static final long ACQUIRE_LIMIT_MS = 60_000;

    @Option(names = "--count", paramLabel = "COUNT", defaultValue = "100000",
            description = "Leases, 1 to " + RedlockDriver.LEASES_MAX + " (default: ${DEFAULT-VALUE}).")
    private int count;

    @Option(names = "--idle", paramLabel = "TIME", defaultValue = "30s", converter = DurationConverter.class,
            description = "Recorded time of the client without leases (default: ${DEFAULT-VALUE}).")
    private Duration idle;

    @Override
    protected void check(CommandLine line) {
        Options.requireRange(line, "--count", count, 1, RedlockDriver.LEASES_MAX);
        Options.requireAtLeast(line, "--idle", idle, Duration.ofMillis(100));
        Options.require(line, loadOptions.isOpen() && loadOptions.stepCount() == 1
                && nodeOptions.counts().size() == 1 && clientOptions.drivers().size() == 1
                && clientOptions.clients() == 1 && loadOptions.repetitions == 1,
                "leases are held by one client: give one value each of --nodes, --rate and --driver, no --clients and "
                        + "no --repetitions");
        LockDriver driver = clientOptions.drivers().get(0);
        Options.require(line, driver.options().contains(DriverOption.RENEWAL), "--driver is " + driver.name()
                + ", which does not renew leases: name a driver of this project");
    }

    @Override
    protected long totalMs() {
        return turnsMs(1) + loadOptions.warmup.plus(idle).toMillis();
    }

    @Override
    protected void measure() throws IOException, InterruptedException {
        lab.warmUp();
        LockDriver driver = clientOptions.drivers().get(0);
        int nodeCount = nodeOptions.counts().get(0);
        try (Clients clients = lab.open(driver, nodeCount)) {
            SeriesSpec alone = loadOptions.steps(driver.name() + " without leases", nodeCount, 1).get(0);
            lab.measure(alone, plan(alone, driver).duration(idle), clients, LoadResult::failures, SeriesWatch.NONE);
            HeldLeases leases = clients.sessions()
                    .get(0)
                    .hold(lab.freshKeyPrefix(), loadOptions.ttl, clientOptions.isFenced(), count,
                            loadOptions.warmup.plus(loadOptions.duration).toMillis() + 2 * ACQUIRE_LIMIT_MS);
            acquire(leases);
            SeriesSpec beside = loadOptions.steps(driver.name() + " with leases", nodeCount, 1).get(0);
            lab.measure(beside, plan(beside, driver), clients, LoadResult::failures,
                    new LeasesWatch(leases, lab.serverPids()));
        }
    }

    private LoadPlan plan(SeriesSpec spec, LockDriver driver) {
        return loadOptions.plan(spec, driver, clientOptions.isFenced());
    }

    private void acquire(HeldLeases leases) throws InterruptedException {
        double before = ProcessGauges.read().get(ProcessGauges.HEAP);
        long startNs = System.nanoTime();
        leases.acquireAll(ACQUIRE_LIMIT_MS);
        double seconds = (System.nanoTime() - startNs) / 1e9;
        double bytes = (ProcessGauges.read().get(ProcessGauges.HEAP) - before) / count;
        lab.note(String.format(Locale.ROOT,
                "%s acquired in %.2f s; one takes %.0f bytes of heap after a collection",
                count == 1 ? "1 lease was" : count + " leases were", seconds,
                bytes));
    }

    @Override
    protected List<String> conclusions(RunResult result) {
        return pass(result, "no lease was lost");
    }

    @Override
    protected String table(RunResult result) {
        StringBuilder text = new StringBuilder();
        result.notes().forEach(note -> text.append(note).append(System.lineSeparator()));
        text.append(String.format(Locale.ROOT, "%n%-24s %9s   %8s %8s %8s %8s%n", "acquire, us", "cycles/s", "p50",
                "p99", "p99.9", "max"));
        for (SeriesResult one : result.series()) {
            OperationResult acquire = one.operations().get(SeriesResult.ACQUIRE);
            text.append(String.format(Locale.ROOT, "%-24s %9.0f   %8.1f %8.1f %8.1f %8.1f%s%n", one.spec().driver(),
                    one.tally().cyclesPerSecond(), acquire.us(50), acquire.us(99), acquire.us(99.9), acquire.us(100),
                    one.verdict() == Verdict.FAIL ? "  FAIL" : ""));
        }
        SeriesResult beside = result.series().get(result.series().size() - 1);
        text.append(System.lineSeparator());
        beside.figures()
                .forEach((name, value) -> text.append(String.format(Locale.ROOT, "%-24s %12.3f%n", name,
                        value)));
        return text.toString();
    }

    /**
     * Counts the renewals of held leases while a series is measured: their rate, their spread over time, and their
     * cost.
     *
     * @threading caller-confined to the thread that runs the rig
     */
    private static final class LeasesWatch implements SeriesWatch {
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

        /** @threading immutable */
        private record Reading(long ns, long renewals, long serverNs) {
        }

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
            return series.with(figures, ClientCost.UNKNOWN);
        }

        private void addRates(Map<String, Double> figures, Usage usage) {
            double perSecond = (last.renewals - start.renewals) * 1e9 / (last.ns - start.ns);
            figures.put(RENEWALS_PER_SECOND, perSecond);
            // The first and the last interval are not complete.
            int[] counts = IntStream.range(leases.intervalAt(start.ns) + 1, leases.intervalAt(last.ns))
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
}
