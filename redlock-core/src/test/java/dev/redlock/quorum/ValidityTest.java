package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;

import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;

class ValidityTest {

    private static final long MS = 1_000_000;

    private final Validity validity = new Validity(Drift.DEFAULT, 0);

    @Test
    void validityIsTtlMinusElapsedMinusDrift() {
        assertEquals(1_000 + (30_000 - 302) * MS, validity.untilNs(1_000, 30_000 * MS));
        assertEquals(1_000 + (30_000 - 302 - 22) * MS, new Validity(Drift.DEFAULT, 1_000).untilNs(1_000, 30_000 * MS),
                "two gaps between samples");
    }

    @Test
    void aTtlNotLongerThanTheDriftIsNeverValid() {
        assertEquals(500, validity.untilNs(500, 2 * MS));
        assertEquals(500, validity.untilNs(500, 0));
        assertEquals(501, new Validity(new Drift(0, 10), 0).untilNs(500, 11));
    }

    /** System.nanoTime may start anywhere and wrap; only differences count. */
    @Property
    void doesNotDependOnTheOriginOfTheClock(@ForAll long t1Ns,
            @ForAll @LongRange(min = 0, max = 86_400_000_000_000L) long ttlNs,
            @ForAll @LongRange(min = 0, max = 90_000_000_000_000L) long elapsedNs) {
        long driftNs = ttlNs / 100 + 2 * MS;
        long expected = Math.max(0, ttlNs - driftNs) - elapsedNs;
        assertEquals(expected, validity.untilNs(t1Ns, ttlNs) - (t1Ns + elapsedNs));
    }

    @Example
    void isRightAcrossTheWrapOfTheClock() {
        long t1Ns = Long.MAX_VALUE - 5;
        assertEquals(9_898 * MS - 10, validity.untilNs(t1Ns, 10_000 * MS) - (t1Ns + 10));
    }

    @Test
    void theLongestTtlHasALongerAllowanceThanItself() {
        assertEquals(Long.MAX_VALUE,
                new Validity(new Drift(500_000, Long.MAX_VALUE), 1_000).allowanceNs(Long.MAX_VALUE));
        assertEquals(Long.MAX_VALUE / 100 + 2 * MS, new Validity(Drift.DEFAULT, 1_000).allowanceNs(Long.MAX_VALUE));
    }
}
