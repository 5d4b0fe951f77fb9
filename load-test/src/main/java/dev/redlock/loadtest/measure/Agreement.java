package dev.redlock.loadtest.measure;

import dev.redlock.loadtest.result.SeriesGroup;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.result.Spread;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Finds the results of a sweep over node counts that should not be quoted: turns that disagree with each other, and a
 * latency that falls although the number of nodes rises.
 *
 * @threading any thread
 */
final class Agreement {
    /** The ratio of the slowest turn's median to that of the fastest above which they disagree. */
    static final double RATIO_MAX = 1.5;

    private static final String ADVICE = "The kernel moved the client between cores, or other work disturbed it: "
            + "repeat the run when the machine is idle";

    static List<String> warnings(List<SeriesResult> series) {
        List<SeriesGroup> groups = SeriesGroup.of(series);
        List<String> warnings = new ArrayList<>();
        String disagreements = groups.stream()
                .filter(Agreement::isDisagreement)
                .map(Agreement::range)
                .collect(Collectors.joining("; "));
        if (!disagreements.isEmpty()) {
            warnings.add("turns disagree in their acquire p50: " + disagreements + ". " + ADVICE);
        }
        Map<SeriesSpec, SeriesGroup> fewer = new LinkedHashMap<>();
        for (SeriesGroup group : groups) {
            SeriesGroup before = fewer.put(group.spec().withNodes(0), group);
            if (before != null && before.spec().nodes() < group.spec().nodes()) {
                fall(before, group, warnings);
            }
        }
        return warnings;
    }

    private static boolean isDisagreement(SeriesGroup group) {
        Spread p50 = group.acquireP50Us();
        return p50 != null && p50.max() > p50.min() * RATIO_MAX;
    }

    private static String range(SeriesGroup group) {
        Spread p50 = group.acquireP50Us();
        return String.format(Locale.ROOT, "%s: %.1f to %.1f us", group.spec().title(), p50.min(), p50.max());
    }

    private static void fall(SeriesGroup fewer, SeriesGroup more, List<String> warnings) {
        Spread before = fewer.acquireP50Us();
        Spread after = more.acquireP50Us();
        if (before != null && after != null && after.min() <= before.min()) {
            warnings.add(String.format(Locale.ROOT,
                    "%s: the acquire p50 is %.1f us, and not above the %.1f us on %d nodes. %s", more.spec().title(),
                    after.min(), before.min(), fewer.spec().nodes(), ADVICE));
        }
    }
}
