package dev.redlock.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.testing.Refusal;
import java.time.Duration;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;

class RetryPolicyTest {

    private static final long MS = 1_000_000;

    @Test
    void jitteredRejectsAnEmptyOrNegativeRange() {
        Refusal.ofArgument("retry delay range 2 to 1 ns is empty: min <= max is needed",
                () -> RetryPolicy.jittered(Duration.ofNanos(2), Duration.ofNanos(1)));
        Refusal.ofArgument("shortest retry delay PT-0.000000001S is negative: give zero or more",
                () -> RetryPolicy.jittered(Duration.ofNanos(-1), Duration.ofNanos(1)));
        assertEquals(0, RetryPolicy.jittered(Duration.ZERO, Duration.ZERO)
                .delayNs(1, AcquireOutcome.Kind.CONTENDED, -1, Long.MIN_VALUE));
    }

    @Property
    void delaysStayInTheirRange(@ForAll @LongRange(min = 0, max = 1L << 62) long a,
            @ForAll @LongRange(min = 0, max = 1L << 62) long b,
            @ForAll long random) {
        long min = Math.min(a, b);
        long max = Math.max(a, b);
        long delayNs = RetryPolicy.jittered(Duration.ofNanos(min), Duration.ofNanos(max))
                .delayNs(1, AcquireOutcome.Kind.NO_QUORUM, -1, random);
        assertTrue(delayNs >= min && delayNs <= max, min + " <= " + delayNs + " <= " + max);
    }

    @Test
    void delaysReachBothEndsOfTheirRange() {
        RetryPolicy policy = RetryPolicy.jittered(Duration.ofNanos(10), Duration.ofNanos(13));
        SplittableRandom random = new SplittableRandom(0x5EED_0002L);
        boolean[] seen = new boolean[14];
        for (int i = 0; i < 1_000; i++) {
            seen[(int) policy.delayNs(1, AcquireOutcome.Kind.CONTENDED, -1, random.nextLong())] = true;
        }
        assertTrue(seen[10] && seen[11] && seen[12] && seen[13]);
    }

    @Test
    void delayEndsAtTheExpiryOfTheLockIfThatIsSooner() {
        RetryPolicy policy = RetryPolicy.jittered(Duration.ofMillis(100), Duration.ofMillis(100));
        assertEquals(100 * MS, policy.delayNs(1, AcquireOutcome.Kind.CONTENDED, 100, 0));
        assertEquals(100 * MS, policy.delayNs(1, AcquireOutcome.Kind.CONTENDED, Long.MAX_VALUE, 0));
        assertEquals(100 * MS, policy.delayNs(1, AcquireOutcome.Kind.CONTENDED, 99, 0));
        assertEquals(11 * MS, policy.delayNs(1, AcquireOutcome.Kind.CONTENDED, 10, 0));
        assertEquals(MS, policy.delayNs(1, AcquireOutcome.Kind.CONTENDED, 0, 0));
        assertTrue(policy.delayNs(1, AcquireOutcome.Kind.CONTENDED, 10, -1) > 11 * MS, "with jitter too");
    }
}
