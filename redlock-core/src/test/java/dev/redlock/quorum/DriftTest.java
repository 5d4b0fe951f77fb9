package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.math.BigInteger;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DriftTest {

    private static final BigInteger LONG_MAX = BigInteger.valueOf(Long.MAX_VALUE);

    @ParameterizedTest
    @CsvSource({"0, 2000000", "1, 2000000", "99, 2000000", "100, 2000001", "30000000000, 302000000",
        "9223372036854775807, 92233720370547758"})
    void theDefaultIsOnePercentAndTwoMilliseconds(long ttlNs, long driftNs) {
        assertEquals(driftNs, Drift.DEFAULT.ofNs(ttlNs));
    }

    /** 1 980 ms at 1 % are 19.8 ms, rounded up to 20. */
    @ParameterizedTest
    @CsvSource({"0, 2", "1, 3", "100, 3", "1980, 22", "2000, 22", "60000, 602", "86400000, 864002"})
    void millisecondsAreRoundedUp(long ttlMs, long driftMs) {
        assertEquals(driftMs, Drift.DEFAULT.ofMs(ttlMs));
    }

    @Test
    void zeroDriftIsAllowed() {
        assertEquals(0, new Drift(0, 0).ofNs(Long.MAX_VALUE));
        assertEquals(0, new Drift(0, 0).ofMs(86_400_000));
    }

    @ParameterizedTest
    @CsvSource({"500000, 0, 4611686018427387903", "500000, 4611686018427387903, 9223372036854775806",
        "500000, 4611686018427387904, 9223372036854775807", "500000, 4611686018427387905, 9223372036854775807",
        "500000, 9223372036854775807, 9223372036854775807", "0, 9223372036854775807, 9223372036854775807",
        "1, 0, 9223372036854"})
    void sumsSaturateAtTheEnd(int ratePpm, long constantNs, long driftNs) {
        assertEquals(driftNs, new Drift(ratePpm, constantNs).ofNs(Long.MAX_VALUE));
    }

    @Property
    void isExactForEveryDuration(@ForAll @LongRange(min = 0) long durationNs,
            @ForAll @IntRange(min = 0, max = Drift.RATE_PPM_MAX) int ratePpm,
            @ForAll @LongRange(min = 0) long constantNs) {
        BigInteger exact = BigInteger.valueOf(durationNs)
                .multiply(BigInteger.valueOf(ratePpm))
                .divide(BigInteger.valueOf(1_000_000))
                .add(BigInteger.valueOf(constantNs))
                .min(LONG_MAX);
        assertEquals(exact.longValueExact(), new Drift(ratePpm, constantNs).ofNs(durationNs));
    }

    @Test
    void rejectsNumbersOutOfRange() {
        assertRefused("drift rate -1 is out of range: 0 to 500000 parts per million are allowed", -1, 0);
        assertRefused("drift rate 500001 is out of range: 0 to 500000 parts per million are allowed", 500_001, 0);
        assertRefused("drift constant -1 ns is negative: give zero or more", 0, -1);
    }

    private static void assertRefused(String message, int ratePpm, long constantNs) {
        assertEquals(message,
                assertThrows(IllegalArgumentException.class, () -> new Drift(ratePpm, constantNs)).getMessage());
    }
}
