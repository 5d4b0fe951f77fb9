package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.LeaseListener;
import dev.redlock.api.RetryPolicy;
import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.key.KeyText;
import dev.redlock.engine.key.LockKey;
import dev.redlock.testing.Refusal;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class AcquireOptionsTest {

    private final AcquireOptions options = AcquireOptions.ofTtl(Duration.ofSeconds(10));

    @Test
    void ttlIsAtLeastOneMillisecond() {
        assertEquals(1, AcquireOptions.ofTtl(Duration.ofMillis(1)).spec.ttlMs);
        assertEquals(1, AcquireOptions.ofTtl(Duration.ofNanos(1_999_999)).spec.ttlMs);
        Refusal.ofArgument("ttl PT0.000999999S is too short: at least 1 ms is needed",
                () -> AcquireOptions.ofTtl(Duration.ofNanos(999_999)));
        Refusal.ofArgument("ttl PT0S is too short: at least 1 ms is needed", () -> AcquireOptions.ofTtl(Duration.ZERO));
        Refusal.ofArgument("ttl PT-1S is too short: at least 1 ms is needed",
                () -> AcquireOptions.ofTtl(Duration.ofSeconds(-1)));
        Refusal.ofNull("ttl is null: give a duration", () -> AcquireOptions.ofTtl(null));
        assertEquals(9_223_372_036_854L, AcquireOptions.ofTtl(Duration.ofSeconds(Long.MAX_VALUE)).spec.ttlMs);
    }

    @Test
    void waitIsNotNegative() {
        assertEquals(0, options.waitUpTo(Duration.ZERO).spec.waitNs);
        assertEquals(Long.MAX_VALUE, options.waitUpTo(Duration.ofSeconds(Long.MAX_VALUE)).spec.waitNs);
        Duration longest = Duration.ofNanos(Long.MAX_VALUE);
        assertEquals(Long.MAX_VALUE, options.waitUpTo(longest.plusNanos(1)).spec.waitNs);
        assertEquals(9_223_372_035_999_999_999L,
                options.waitUpTo(Duration.ofSeconds(9_223_372_035L, 999_999_999)).spec.waitNs);
        Refusal.ofArgument("wait PT-0.001S is negative: give zero or more",
                () -> options.waitUpTo(Duration.ofMillis(-1)));
        Refusal.ofNull("wait is null: give a duration", () -> options.waitUpTo(null));
    }

    @Test
    void minimumValidityIsNotNegative() {
        assertEquals(0, options.minValidity(Duration.ZERO).spec.minValidityNs);
        Refusal.ofArgument("minimum validity PT-1S is negative: give zero or more",
                () -> options.minValidity(Duration.ofSeconds(-1)));
        Refusal.ofNull("minimum validity is null: give a duration", () -> options.minValidity(null));
    }

    @Test
    void automaticExtensionHasLimits() {
        assertEquals(Integer.MAX_VALUE, options.autoExtend().spec.extensionCountMax);
        assertTrue(options.autoExtend().spec.holdNsMax > Duration.ofDays(365).toNanos());
        assertEquals(Integer.MAX_VALUE, options.autoExtend(Duration.ofSeconds(1)).spec.extensionCountMax);
        assertEquals(1_000_000_000, options.autoExtend(Duration.ofSeconds(1)).spec.holdNsMax);
        assertEquals(1, options.autoExtend(1, Duration.ZERO).spec.extensionCountMax);
        assertEquals(0, options.autoExtend(1, Duration.ZERO).spec.holdNsMax);
        Refusal.ofArgument("extension limit 0 is out of range: at least 1 is needed",
                () -> options.autoExtend(0, Duration.ofSeconds(1)));
        Refusal.ofArgument("longest hold PT-1S is negative: give zero or more",
                () -> options.autoExtend(1, Duration.ofSeconds(-1)));
        Refusal.ofNull("longest hold is null: give a duration", () -> options.autoExtend(1, null));
    }

    @Test
    void policyAndListenerRejectNullAndDefaultToNone() {
        Refusal.ofNull("retry policy is null", () -> options.retryPolicy(null));
        Refusal.ofNull("lease listener is null", () -> options.listener(null));
        assertNull(options.spec.retryPolicy);
        assertNull(options.spec.listener);
    }

    @Test
    void theGroupIsAShortName() {
        assertNull(options.group());
        assertEquals("orders", options.group("orders").group());
        assertEquals("Orders_v2.x/new:a-z", options.group("Orders_v2.x/new:a-z").group());
        assertNull(options.group("orders").group(null).group());
        String longest = "x".repeat(64);
        assertEquals(longest, options.group(longest).group());
        for (String blank : List.of("", " ", "\t")) {
            Refusal.ofArgument(
                    "group \"" + blank.replace("\t", "\\t") + "\" is blank: name what the lock is for, such as"
                            + " \"orders\", or give null for none",
                    () -> options.group(blank));
        }
        Refusal.ofArgument(
                "group \"" + longest + "x\" has 65 characters and at most 64 are allowed, because it is a tag"
                        + " of meters: use a shorter name",
                () -> options.group(longest + "x"));
        for (String special : List.of("all orders", "orders ", "bestellungen-\u00e4", "a\u007f", "a\nb")) {
            String shown = special.replace("\n", "\\n").replace("\u007f", "\\u007f");
            Refusal.ofArgument("group \"" + shown + "\" has a blank or a special character, which tags of meters do not"
                    + " have: use printable ASCII without blanks", () -> options.group(special));
        }
    }

    @Test
    void theGroupStaysWithEachKindOfLock() {
        AcquireOptions orders = options.group("orders");
        for (AcquireOptions other : List.of(orders.forReading(), orders.forWriting(), orders.forPermitOf(2),
                orders.forReader(), orders.fenced().waitUpTo(Duration.ZERO))) {
            assertEquals("orders", other.group());
        }
        assertEquals("AcquireOptions{ttlMs=10000, waitNs=default, extensionCountMax=0, for reading, group=orders}",
                orders.forReading().toString());
    }

    @Test
    void readersHaveNoOptionsOfWriters() {
        LockKey key = new LockKey(KeyText.ofResource("", "orders", 512));
        for (AcquireOptions own : List.of(options.fenced(), options.fenced().watchLoss())) {
            Refusal.ofArgument("options for reading have fenced(), which only writers and plain locks have: leave it"
                    + " out", () -> own.forReading().spec.check(key));
        }
        Refusal.ofArgument("options for reading have watchLoss(), which only writers and plain locks have: leave it"
                + " out", () -> options.watchLoss().forReading().spec.check(key));
        AcquireOptions waiting = options.waitUpTo(Duration.ofSeconds(2));
        AcquireOptions reader = waiting.fenced().watchLoss().forReader();
        reader.spec.check(key);
        assertEquals(waiting.forReading().toString(), reader.toString(), "a view leaves them out");
    }

    @Test
    void eachChangeReturnsACopyWithTheOtherOptions() {
        RetryPolicy policy = RetryPolicy.jittered(Duration.ZERO, Duration.ZERO);
        LeaseListener listener = (lease, state) -> {
        };
        AcquireOptions changed = options.waitUpTo(Duration.ofSeconds(2))
                .minValidity(Duration.ofSeconds(3))
                .retryPolicy(policy)
                .listener(listener)
                .autoExtend(5, Duration.ofSeconds(6))
                .fenced();
        assertNotSame(options, changed);
        assertEquals("AcquireOptions{ttlMs=10000, waitNs=2000000000, extensionCountMax=5, fenced}", changed.toString());
        assertEquals("AcquireOptions{ttlMs=10000, waitNs=default, extensionCountMax=0, holdNsMin=5, watchLoss, for"
                + " writing}", options.holdAtLeast(Duration.ofNanos(5)).watchLoss().forWriting().toString());
        assertEquals("AcquireOptions{ttlMs=10000, waitNs=default, extensionCountMax=0, for reading}",
                options.forReading().toString());
        assertEquals("AcquireOptions{ttlMs=10000, waitNs=default, extensionCountMax=0, for a permit of 3}",
                options.forPermitOf(3).toString());
        assertEquals(3_000_000_000L, changed.spec.minValidityNs);
        assertSame(policy, changed.spec.retryPolicy);
        assertSame(listener, changed.spec.listener);
        assertEquals(6_000_000_000L, changed.spec.holdNsMax);
        assertTrue(changed.spec.isFenced);
        assertEquals("AcquireOptions{ttlMs=10000, waitNs=default, extensionCountMax=0}", options.toString());
        assertEquals(AcquireSpec.UNSET, options.spec.waitNs);
        assertEquals(0, options.tryOnce().spec.waitNs);
        assertEquals(AcquireSpec.UNSET, options.spec.minValidityNs);
        assertEquals(changed.toString(), changed.minValidity(Duration.ZERO).fenced().toString());
    }
}
