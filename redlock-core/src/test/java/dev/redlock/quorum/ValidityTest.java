package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;

import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ValidityTest {

    private static final long MS = 1_000_000;

    @Test
    void validityIsTtlMinusElapsedMinusDrift() {
        long ttlNs = 30_000 * MS;
        long t1Ns = 1_000;
        long t2Ns = t1Ns + 7 * MS;
        long untilNs = Validity.validUntilNs(t1Ns, ttlNs, Drift.DEFAULT.ofNs(ttlNs));
        assertEquals((30_000 - 7 - 302) * MS, Validity.remainingNs(untilNs, t2Ns));
    }

    @Test
    void aTtlNotLongerThanTheDriftIsNeverValid() {
        assertEquals(500, Validity.validUntilNs(500, 2 * MS, Drift.DEFAULT.ofNs(2 * MS)));
        assertEquals(500, Validity.validUntilNs(500, 0, Drift.DEFAULT.ofNs(0)));
        assertEquals(501, Validity.validUntilNs(500, 11, 10));
    }

    @Test
    void endsExactlyAtItsLastNanosecond() {
        assertEquals(1, Validity.remainingNs(100, 99));
        assertEquals(0, Validity.remainingNs(100, 100));
        assertEquals(0, Validity.remainingNs(100, 101));
    }

    /** System.nanoTime may start anywhere and wrap; only differences count. */
    @Property
    void doesNotDependOnTheOriginOfTheClock(@ForAll long t1Ns,
            @ForAll @LongRange(min = 0, max = 86_400_000_000_000L) long ttlNs,
            @ForAll @LongRange(min = 0, max = 90_000_000_000_000L) long elapsedNs) {
        long driftNs = ttlNs / 100 + 2 * MS;
        long expected = Math.max(0, Math.max(0, ttlNs - driftNs) - elapsedNs);
        long untilNs = Validity.validUntilNs(t1Ns, ttlNs, Drift.DEFAULT.ofNs(ttlNs));
        assertEquals(expected, Validity.remainingNs(untilNs, t1Ns + elapsedNs));
    }

    @Example
    void isRightAcrossTheWrapOfTheClock() {
        long t1Ns = Long.MAX_VALUE - 5;
        long untilNs = Validity.validUntilNs(t1Ns, 10_000 * MS, 102 * MS);
        assertEquals(9_898 * MS - 10, Validity.remainingNs(untilNs, t1Ns + 10));
        assertEquals(0, Validity.remainingNs(untilNs, t1Ns + 9_898 * MS));
    }

    @ParameterizedTest
    @CsvSource({"0, 0, 0", "1, 2, 3", "9223372036854775807, 0, 9223372036854775807",
        "9223372036854775807, 1, 9223372036854775807", "9223372036854775807, 9223372036854775807, 9223372036854775807",
        "9223372036854775806, 1, 9223372036854775807"})
    void sumsSaturate(long aNs, long bNs, long sum) {
        assertEquals(sum, Validity.plusSaturating(aNs, bNs));
    }
}
