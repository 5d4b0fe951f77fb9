package dev.redlock.loadtest.measure;

import java.util.List;

/**
 * Detects readings that grow without end: nearly all pairs are in rising order (Kendall's tau), and the rise exceeds a
 * bound. One step up or a sawtooth is no trend. The first quarter is left out: a JVM grows while it warms up.
 *
 * @param tau     pairs in rising order less those in falling order, of all; -1 to 1
 * @param rise    median of the last third less median of the first third
 * @threading immutable
 */
record Trend(int samples, double tau, double rise) {
    /** Fewer readings give no result. */
    static final int SAMPLES_MIN = 12;
    private static final double TAU_MAX = 0.6;

    static Trend of(List<Double> readings) {
        List<Double> settled = readings.subList(readings.size() / 4, readings.size());
        int count = settled.size();
        long rising = 0;
        for (int i = 0; i < count; i++) {
            for (int k = i + 1; k < count; k++) {
                rising += (long) Math.signum(settled.get(k) - settled.get(i));
            }
        }
        long pairs = (long) count * (count - 1) / 2;
        int third = Math.max(1, count / 3);
        double rise = count == 0
                ? 0
                : median(settled.subList(count - third, count)) - median(settled.subList(0, third));
        return new Trend(count, pairs == 0 ? 0 : (double) rising / pairs, rise);
    }

    private static double median(List<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        return sorted.get(sorted.size() / 2);
    }

    boolean isTooShort() {
        return samples < SAMPLES_MIN;
    }

    boolean isGrowing(double riseMax) {
        return !isTooShort() && tau > TAU_MAX && rise > riseMax;
    }
}
