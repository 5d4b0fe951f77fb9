package dev.redlock.loadtest.chaos;

import dev.redlock.loadtest.result.Mark;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** @threading caller-confined */
final class FaultLog {
    private final long zeroNs;
    private final Map<ChaosStep, Long> open = new LinkedHashMap<>();
    private final List<Mark> marks = new ArrayList<>();

    /** The zero of all offsets. */
    FaultLog(long zeroNs) {
        this.zeroNs = zeroNs;
    }

    void begins(ChaosStep step, long nowNs) {
        open.put(step, offsetMs(nowNs));
    }

    void ends(ChaosStep step, long nowNs) {
        long beganMs = open.remove(step);
        marks.add(new Mark(beganMs, offsetMs(nowNs) - beganMs, step.whole()));
    }

    /** Ends the faults that a plan that was cut short has left open. */
    void healed(long nowNs) {
        open.forEach((step, beganMs) -> marks.add(
                new Mark(beganMs, offsetMs(nowNs) - beganMs, step.begins() + ", cut short")));
        open.clear();
    }

    long offsetMs(long timeNs) {
        return TimeUnit.NANOSECONDS.toMillis(timeNs - zeroNs);
    }

    /** The faults in the order of their start. */
    List<Mark> marks() {
        return marks.stream().sorted(Comparator.comparingLong(Mark::offsetMs)).toList();
    }
}
