package dev.redlock.loadtest.result;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Everything that one run of a command measured.
 *
 * @param command   which command
 * @param startedAt when; every {@code offsetMs} counts from here
 * @param elapsedMs how long it took
 * @param options   every option and its value, defaults included; no password
 * @param versions  of everything involved
 * @param machine   what it ran on
 * @param series    in the order in which they were measured
 * @param notes     sentences for people, such as where the nodes came from
 * @param failures  why the run as a whole does not count, beside what its series say
 * @threading immutable
 */
public record RunResult(String command, Instant startedAt, long elapsedMs, Map<String, String> options,
        Versions versions, MachineClass machine, List<SeriesResult> series, List<String> notes,
        List<String> failures) {
    /** Copies the collections. */
    public RunResult {
        options = Collections.unmodifiableMap(new LinkedHashMap<>(options));
        series = List.copyOf(series);
        notes = List.copyOf(notes);
        failures = List.copyOf(failures);
    }

    /**
     * Whether the run counts.
     *
     * @return FAIL if the run or any of its series failed
     */
    public Verdict verdict() {
        return allFailures().isEmpty() ? Verdict.PASS : Verdict.FAIL;
    }

    /**
     * Every reason for a FAIL.
     *
     * @return those of the series with the series' title before them, then those of the run
     */
    public List<String> allFailures() {
        List<String> all = new ArrayList<>();
        for (SeriesResult one : series) {
            one.failures().forEach(failure -> all.add(one.spec().title() + ": " + failure));
        }
        all.addAll(failures);
        return all;
    }
}
