package dev.redlock.loadtest.result;

import java.io.Serializable;
import java.util.Map;

/**
 * The counts of one series.
 *
 * @param cycles          cycles completed: in the recorded time (closed loop), or intended in it (open loop)
 * @param acquires        acquires by outcome, warm-up included
 * @param releases        releases by outcome, warm-up included
 * @param holdings        holdings that the auditor checked, warm-up included
 * @threading immutable
 */
public record Tally(long cycles, double cyclesPerSecond, Map<String, Long> acquires, Map<String, Long> releases,
        long holdings, long overlaps) implements Serializable {
}
