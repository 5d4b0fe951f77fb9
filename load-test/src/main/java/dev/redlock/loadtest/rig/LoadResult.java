package dev.redlock.loadtest.rig;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.loadtest.driver.RedlockDriver;
import dev.redlock.loadtest.result.ClientCost;
import dev.redlock.loadtest.result.LoopKind;
import dev.redlock.loadtest.result.OperationResult;
import dev.redlock.loadtest.result.Sample;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.result.Span;
import dev.redlock.loadtest.result.Tally;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The result of one run of the rig.
 *
 * @param usage      the resources used in the recorded time; null if not measured
 * @threading immutable
 */
public record LoadResult(LoadPlan plan, Span span, Tally tally, Map<String, OperationResult> operations,
        Usage usage, Map<String, Long> cyclesByThread, Map<String, Double> figures, Evidence evidence) {
    /** The share of the acquires that got a retained lock, without the nodes. */
    public static final String LOCAL_GRANT_SHARE = "localGrantShare";

    /**
     * Decides whether a run counts, beside its outcomes.
     *
     * @param stuck         cycles that had not ended some seconds after the load stopped
     * @param intended      cycles that an open loop intended to start in the recorded time
     * @param unfinished    intended cycles that had not ended at the end of the recorded time
     * @param unfinishedMax the most cycles that may be unfinished
     * @threading immutable
     */
    public record Evidence(int stuck, long intended, long unfinished, long unfinishedMax, List<String> overlaps) {
    }

    /** The cost of a cycle for the client; unknown if not measured. */
    public ClientCost cost() {
        return usage == null ? ClientCost.UNKNOWN : usage.perCycle(tally.cycles());
    }

    /** Whether the client could not keep up with the rate of an open loop. */
    public boolean isRateMissed() {
        return plan.loop == LoopKind.OPEN && evidence.unfinished() > evidence.unfinishedMax();
    }

    /** Why this run does not count; empty for a good run. */
    public List<String> failures() {
        List<String> failures = failuresBesideRate();
        if (isRateMissed()) {
            failures.add(String.format(Locale.ROOT,
                    "missed the rate: of %d cycles intended at %.0f/s, %d had not ended when the time was up, and at "
                            + "most %d may be under way; %.0f/s were done",
                    evidence.intended(), plan.ratePerSecond, evidence.unfinished(), evidence.unfinishedMax(),
                    tally.cyclesPerSecond()));
        }
        return failures;
    }

    /** The same for a command that looks for the highest rate and expects to miss one. */
    public List<String> failuresBesideRate() {
        List<String> failures = new ArrayList<>(evidence.overlaps());
        if (tally.overlaps() > evidence.overlaps().size()) {
            failures.add("and " + (tally.overlaps() - evidence.overlaps().size()) + " more overlaps");
        }
        addUnexpected(failures);
        if (evidence.stuck() > 0) {
            failures.add(evidence.stuck() + " cycles never ended");
        }
        if (tally.cycles() == 0) {
            failures.add("no cycle was completed");
        }
        return failures;
    }

    private void addUnexpected(List<String> failures) {
        List<String> unexpected = new ArrayList<>();
        long all = 0;
        long bad = 0;
        for (Map.Entry<String, Long> acquires : tally.acquires().entrySet()) {
            all += acquires.getValue();
            if (acquires.getValue() > 0 && !isExpected(AcquireOutcome.Kind.valueOf(acquires.getKey()))) {
                bad += acquires.getValue();
                unexpected.add(acquires.getValue() + " acquires ended " + acquires.getKey());
            }
        }
        for (Map.Entry<String, Long> releases : tally.releases().entrySet()) {
            if (releases.getValue() > 0 && !isGood(ReleaseOutcome.valueOf(releases.getKey()))) {
                bad += releases.getValue();
                unexpected.add(releases.getValue() + " releases of a held lock ended " + releases.getKey());
            }
        }
        if (bad > all * plan.errorShareMax) {
            failures.addAll(unexpected);
        }
    }

    /** A driver that does not retain locks never retains one. */
    private static boolean isGood(ReleaseOutcome outcome) {
        return outcome == ReleaseOutcome.RELEASED || outcome == ReleaseOutcome.RETAINED;
    }

    private boolean isExpected(AcquireOutcome.Kind verdict) {
        return verdict == AcquireOutcome.Kind.ACQUIRED || plan.isContended()
                && (verdict == AcquireOutcome.Kind.CONTENDED || verdict == AcquireOutcome.Kind.TIMED_OUT);
    }

    public SeriesResult series(SeriesSpec spec, Map<String, Long> counters, List<Sample> samples,
            List<String> failures) {
        return new SeriesResult(spec, span, tally, operations, cost(), withLocalGrants(counters), counters, samples,
                List.of(), failures);
    }

    /** The figures, and what part of the acquires a retained lock served, if any did. */
    private Map<String, Double> withLocalGrants(Map<String, Long> counters) {
        long local = counters.getOrDefault(RedlockDriver.LOCAL_GRANTS, 0L);
        if (local == 0) {
            return figures;
        }
        Map<String, Double> more = new LinkedHashMap<>(figures);
        more.put(LOCAL_GRANT_SHARE, (double) local / tally.acquires().get(AcquireOutcome.Kind.ACQUIRED.name()));
        return more;
    }
}
