package dev.redlock.loadtest.rig;

import dev.redlock.loadtest.driver.AcquireVerdict;
import dev.redlock.loadtest.driver.ReleaseVerdict;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;

/**
 * What one run measured.
 *
 * @param plan      what was asked for
 * @param elapsedNs the time that was recorded
 * @param acquire   nanoseconds from the call to the outcome, acquired only
 * @param release   nanoseconds from the call to the outcome
 * @param cycle     nanoseconds from the acquire's call to the release's outcome
 * @param acquires  outcomes of every acquire, warm-up included
 * @param releases  outcomes of every release, warm-up included
 * @param stuck     cycles that had not ended some seconds after the load stopped
 * @param holdings  holdings that the auditor saw
 * @param overlaps  overlaps that the auditor found
 * @threading immutable, unless someone writes to the histograms
 */
public record LoadResult(LoadPlan plan, long elapsedNs, Histogram acquire, Histogram release, Histogram cycle,
        Map<AcquireVerdict, Long> acquires, Map<ReleaseVerdict, Long> releases, int stuck, long holdings,
        List<String> overlaps) {

    /**
     * Completed cycles over recorded time.
     *
     * @return cycles per second
     */
    public double cyclesPerSecond() {
        return cycle.getTotalCount() * 1e9 / elapsedNs;
    }

    private boolean isExpected(AcquireVerdict verdict) {
        return verdict == AcquireVerdict.ACQUIRED || plan.isContended() && verdict == AcquireVerdict.CONTENDED;
    }

    /**
     * Why this run does not count.
     *
     * @return empty for a good run
     */
    public List<String> failures() {
        List<String> failures = new ArrayList<>(overlaps);
        acquires.forEach((verdict, count) -> {
            if (count > 0 && !isExpected(verdict)) {
                failures.add(count + " acquires ended " + verdict);
            }
        });
        releases.forEach((verdict, count) -> {
            if (verdict != ReleaseVerdict.RELEASED && count > 0) {
                failures.add(count + " releases of a held lock ended " + verdict);
            }
        });
        if (stuck > 0) {
            failures.add(stuck + " cycles never ended");
        }
        if (cycle.getTotalCount() == 0) {
            failures.add("no cycle was completed");
        }
        return failures;
    }
}
