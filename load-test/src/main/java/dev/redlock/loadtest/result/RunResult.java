package dev.redlock.loadtest.result;

import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * All results of one run of a command.
 *
 * @param startedAt the start of the run; every {@code offsetMs} counts from here
 * @param commandLine the line that runs the same again; no password
 * @param notes     sentences for people, such as the source of the nodes
 * @param contested checked on contested resources beside the series; {@link ExclusionCheck#NONE} without such a check
 * @param warnings  findings that do not fail the run, but make its figures doubtful
 * @param failures  why the run as a whole does not count, beside the failures of its series
 * @threading immutable
 */
public record RunResult(String command, Instant startedAt, long elapsedMs, String commandLine,
        Map<String, String> options, Versions versions, MachineClass machine, List<SeriesResult> series,
        ExclusionCheck contested, List<String> notes, List<String> warnings, List<String> failures) {
    /** FAIL if the run or any of its series failed. */
    public Verdict verdict() {
        return allFailures().isEmpty() ? Verdict.PASS : Verdict.FAIL;
    }

    /**
     * The check that the console and the report show: the holdings of contested resources, if there was such a check,
     * because holdings of a resource that only one cycle uses cannot overlap. The overlaps are those of the series too.
     */
    public ExclusionCheck exclusion() {
        ExclusionCheck all = contested;
        for (SeriesResult one : series) {
            all = all.plus(one.tally());
        }
        return isContested() ? new ExclusionCheck(contested.holdings(), all.overlaps()) : all;
    }

    /** Whether {@link #exclusion} is about contested resources beside the series. */
    public boolean isContested() {
        return contested.holdings() > 0;
    }

    /** The outcomes of all calls of the series in words, for a run that passed. */
    public String calls() {
        Map<String, Long> failed = new LinkedHashMap<>();
        long all = 0;
        for (SeriesResult one : series) {
            all += count(one.tally().acquires(), "acquires ", Set.of("ACQUIRED"), failed);
            all += count(one.tally().releases(), "releases ", Set.of("RELEASED", "RETAINED"), failed);
        }
        if (all == 0) {
            return "no call was made";
        }
        return failed.isEmpty()
                ? "every call succeeded"
                : String.format(Locale.ROOT, "%,d of %,d calls failed, as this run allows (%s)",
                        failed.values().stream().mapToLong(Long::longValue).sum(), all,
                        failed.entrySet()
                                .stream()
                                .map(each -> String.format(Locale.ROOT, "%s: %,d", each.getKey(), each.getValue()))
                                .collect(Collectors.joining(", ")));
    }

    private static long count(Map<String, Long> byOutcome, String title, Set<String> good, Map<String, Long> failed) {
        long all = 0;
        for (Map.Entry<String, Long> each : byOutcome.entrySet()) {
            all += each.getValue();
            if (each.getValue() > 0 && !good.contains(each.getKey())) {
                failed.merge(title + each.getKey(), each.getValue(), Long::sum);
            }
        }
        return all;
    }

    /** The holdings of the series in which two holders could overlap, in words; empty if there are none. */
    public String sharedHoldings() {
        long holdings = series.stream()
                .filter(SeriesResult::sharesResources)
                .mapToLong(one -> one.tally().holdings())
                .sum();
        return holdings == 0 ? "" : String.format(Locale.ROOT, "%,d holdings", holdings);
    }

    /** The failures of the series with the series' title before them, then those of the run. */
    public List<String> allFailures() {
        List<String> all = new ArrayList<>();
        for (SeriesResult one : series) {
            one.failures().forEach(failure -> all.add(one.spec().title() + ": " + failure));
        }
        all.addAll(failures);
        return all;
    }
}
