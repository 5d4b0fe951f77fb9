package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.quorum.Drift;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class RestartGuardTest {

    /** maxTtl + 1 % + 2 ms + 1 s, in whole seconds of uptime: 60 000 + 600 + 2 + 1000 = 61 602 ms. */
    @ParameterizedTest
    @CsvSource({"0, 61602", "1, 60602", "60, 1602", "61, 602", "62, 0", "63, 0", "100000, 0",
        "9223372036854775, 0", "-1, 61602"})
    void aNodeWaitsUntilEveryLockItMayHaveLostHasExpired(final long uptimeSeconds, final long quarantineMs) {
        final RestartGuard guard = new RestartGuard(RestartGuard.Mode.UPTIME, 60_000, Drift.DEFAULT);
        assertEquals(quarantineMs, guard.quarantineMs("a", uptimeSeconds));
    }

    /** 98 000 + 980 + 2 + 1 000 = 99 982; 98 998 + 989 + 2 + 1 000 = 100 989; with 98 035: exactly 100 017. */
    @ParameterizedTest
    @CsvSource({"98000, 99, 982", "98000, 100, 0", "100, 1, 103", "100, 2, 0", "86400000, 87265, 2",
        "86400000, 87266, 0"})
    void standsAtTheBound(final long maxTtlMs, final long uptimeSeconds, final long quarantineMs) {
        final RestartGuard guard = new RestartGuard(RestartGuard.Mode.UPTIME, maxTtlMs, Drift.DEFAULT);
        assertEquals(quarantineMs, guard.quarantineMs("a", uptimeSeconds));
    }

    @Test
    void anUptimeOfExactlyWhatIsNeededIsEnough() {
        // 1 979 + 19.79, rounded up, + 2 + 1 000 = 3 001 ms and 1 978 + 20 + 2 + 1 000 = 3 000 ms
        assertEquals(1, new RestartGuard(RestartGuard.Mode.UPTIME, 1_979, Drift.DEFAULT).quarantineMs("a", 3));
        assertEquals(0, new RestartGuard(RestartGuard.Mode.UPTIME, 1_978, Drift.DEFAULT).quarantineMs("a", 3));
    }

    @Test
    void uptimeModeTrustsNobodyAtFirstContact() {
        final RestartGuard guard = new RestartGuard(RestartGuard.Mode.UPTIME, 60_000, Drift.DEFAULT);
        assertEquals(61_602, guard.quarantineMs("a", 0));
        assertEquals(58_602, guard.quarantineMs("a", 3), "asking does not make it trusted");
    }

    @ParameterizedTest
    @EnumSource(value = RestartGuard.Mode.class, names = {"UPTIME", "AFTER_FIRST_CONTACT"})
    void whoHasServedIsTrustedUntilItRestarts(final RestartGuard.Mode mode) {
        final RestartGuard guard = new RestartGuard(mode, 60_000, Drift.DEFAULT);
        guard.quarantineMs("first", 0);
        guard.onServed("first");
        assertEquals(0, guard.quarantineMs("first", 0), "the same process again, whatever it says of its uptime");
        assertEquals(61_602, guard.quarantineMs("second", 0), "a new process");
        guard.onServed("second");
        assertEquals(0, guard.quarantineMs("second", 0));
        assertEquals(61_602, guard.quarantineMs("first", 0), "the old name does not come back");
    }

    @Test
    void afterFirstContactTrustsTheFirstProcessAlone() {
        final RestartGuard guard = new RestartGuard(RestartGuard.Mode.AFTER_FIRST_CONTACT, 60_000, Drift.DEFAULT);
        assertEquals(0, guard.quarantineMs("a", 0));
        assertEquals(0, guard.quarantineMs("a", 0));
        assertEquals(61_602, guard.quarantineMs("b", 0));
        assertEquals(602, guard.quarantineMs("b", 61));
        assertEquals(0, guard.quarantineMs("b", 62));
    }

    @Test
    void offTrustsAlways() {
        final RestartGuard guard = new RestartGuard(RestartGuard.Mode.OFF, 60_000, Drift.DEFAULT);
        assertEquals(0, guard.quarantineMs("a", 0));
        assertEquals(0, guard.quarantineMs("b", 0));
    }
}
