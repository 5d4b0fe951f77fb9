package dev.redlock.loadtest.measure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.SplittableRandom;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TrendTest {
    private static final double RISE_MAX = 8;

    @Test
    void leakIsATrend() {
        Trend trend = Trend.of(readings(40, i -> 100 + i));
        assertTrue(trend.isGrowing(RISE_MAX));
        assertEquals(1, trend.tau());
        assertEquals(20, trend.rise());
        assertEquals(30, trend.samples());
    }

    @Test
    void leakUnderNoiseIsATrend() {
        SplittableRandom noise = new SplittableRandom(1);
        assertTrue(Trend.of(readings(100, i -> 100 + i + noise.nextDouble(20))).isGrowing(RISE_MAX));
    }

    @Test
    void noiseIsNoTrend() {
        SplittableRandom noise = new SplittableRandom(2);
        assertFalse(Trend.of(readings(100, i -> 100 + noise.nextDouble(50))).isGrowing(RISE_MAX));
    }

    @Test
    void sawtoothIsNoTrend() {
        assertFalse(Trend.of(readings(100, i -> 100 + i % 10 * 5)).isGrowing(RISE_MAX));
    }

    @Test
    void oneStepUpIsNoTrend() {
        assertFalse(Trend.of(readings(100, i -> i < 60 ? 100 : 150)).isGrowing(RISE_MAX));
    }

    @Test
    void warmUpGrowthIsIgnored() {
        assertFalse(Trend.of(readings(80, i -> Math.min(i, 20) * 10)).isGrowing(RISE_MAX));
    }

    @Test
    void smallRiseIsNoTrend() {
        assertFalse(Trend.of(readings(40, i -> 100 + i * 0.1)).isGrowing(RISE_MAX));
    }

    @Test
    void tooFewReadingsGiveNoTrend() {
        assertTrue(Trend.of(readings(12, i -> i * 100)).isTooShort());
        assertFalse(Trend.of(readings(12, i -> i * 100)).isGrowing(RISE_MAX));
        assertFalse(Trend.of(List.of()).isGrowing(RISE_MAX));
        assertFalse(Trend.of(readings(16, i -> i * 100)).isTooShort());
    }

    private static List<Double> readings(int count, IntToDoubleFunction reading) {
        return IntStream.range(0, count).mapToDouble(reading).boxed().toList();
    }
}
