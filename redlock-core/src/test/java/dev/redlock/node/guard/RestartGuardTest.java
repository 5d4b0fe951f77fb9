package dev.redlock.node.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.RestartGuardMode;
import dev.redlock.quorum.Drift;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** A node that may have lost its keys in a restart does not vote until all its locks have expired. */
class RestartGuardTest {

    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    /** Any moment will do; this one makes an overflow show. */
    private static final long NOW_NS = Long.MAX_VALUE - 5 * SECOND;

    /** maxTtl + 1 % + 2 ms + 1 s, in whole seconds of uptime: 60 000 + 600 + 2 + 1000 = 61 602 ms. */
    @ParameterizedTest
    @CsvSource({"0, 61602", "1, 60602", "60, 1602", "61, 602", "62, 0", "63, 0", "100000, 0",
        "9223372036854775, 0", "-1, 61602"})
    void aNodeWaitsUntilEveryLockItMayHaveLostHasExpired(long uptimeSeconds, long quarantineMs) {
        RestartGuard guard = new RestartGuard(RestartGuardMode.UPTIME, 60_000, Drift.DEFAULT);
        assertEquals(quarantineMs, guard.quarantineMs("a", uptimeSeconds, NOW_NS));
    }

    /** 98 000 + 980 + 2 + 1 000 = 99 982; 98 998 + 989 + 2 + 1 000 = 100 989; with 98 035: exactly 100 017. */
    @ParameterizedTest
    @CsvSource({"98000, 99, 982", "98000, 100, 0", "100, 1, 103", "100, 2, 0", "86400000, 87265, 2",
        "86400000, 87266, 0"})
    void theQuarantineEndsExactlyAtTheNeededUptime(long maxTtlMs, long uptimeSeconds,
            long quarantineMs) {
        RestartGuard guard = new RestartGuard(RestartGuardMode.UPTIME, maxTtlMs, Drift.DEFAULT);
        assertEquals(quarantineMs, guard.quarantineMs("a", uptimeSeconds, NOW_NS));
    }

    @Test
    void anUptimeOfExactlyTheNeededOneIsEnough() {
        // 1 979 + 19.79, rounded up, + 2 + 1 000 = 3 001 ms and 1 978 + 20 + 2 + 1 000 = 3 000 ms
        assertEquals(1, new RestartGuard(RestartGuardMode.UPTIME, 1_979, Drift.DEFAULT).quarantineMs("a", 3, NOW_NS));
        assertEquals(0, new RestartGuard(RestartGuardMode.UPTIME, 1_978, Drift.DEFAULT).quarantineMs("a", 3, NOW_NS));
    }

    @Test
    void uptimeModeTrustsNoProcessAtFirstContact() {
        RestartGuard guard = new RestartGuard(RestartGuardMode.UPTIME, 60_000, Drift.DEFAULT);
        assertEquals(61_602, guard.quarantineMs("a", 0, NOW_NS));
        assertEquals(58_602, guard.quarantineMs("a", 3, NOW_NS), "asking does not make it trusted");
    }

    @ParameterizedTest
    @EnumSource(value = RestartGuardMode.class, names = {"UPTIME", "FRESH_GROUP"})
    void aProcessThatServedItsQuarantineIsTrustedUntilItRestarts(RestartGuardMode mode) {
        RestartGuard guard = new RestartGuard(mode, 60_000, Drift.DEFAULT);
        guard.quarantineMs("first", 0, NOW_NS);
        guard.trust("first");
        assertEquals(0, guard.quarantineMs("first", 0, NOW_NS),
                "the same process again, whatever it says of its uptime");
        assertEquals(61_602, guard.quarantineMs("second", 0, NOW_NS), "a new process");
        guard.trust("second");
        assertEquals(0, guard.quarantineMs("second", 0, NOW_NS));
        assertEquals(61_602, guard.quarantineMs("first", 0, NOW_NS), "the old name does not come back");
    }

    /** 61 602 ms less the margin: two clients may read uptimes of one process that differ by a second. */
    @ParameterizedTest
    @CsvSource({"0, true", "59, true", "60, false", "61, false", "9223372036854775, false"})
    void aYoungProcessIsOldForNoOtherClient(long uptimeSeconds, boolean isYoung) {
        RestartGuard guard = new RestartGuard(RestartGuardMode.FRESH_GROUP, 60_000, Drift.DEFAULT);
        assertEquals(isYoung, guard.isYoung(uptimeSeconds));
    }

    @Test
    void onlyAProcessAfterAKnownOneIsASuccessor() {
        RestartGuard guard = new RestartGuard(RestartGuardMode.FRESH_GROUP, 60_000, Drift.DEFAULT);
        guard.quarantineMs("a", 0, NOW_NS);
        guard.quarantineMs("a", 1, NOW_NS + SECOND);
        assertFalse(guard.isSuccessor(), "the same process again");
        guard.quarantineMs("b", 0, NOW_NS + 2 * SECOND);
        assertTrue(guard.isSuccessor());
        guard.quarantineMs("b", 1, NOW_NS + 3 * SECOND);
        assertTrue(guard.isSuccessor(), "also at its next connection");
    }

    /** The handshake with the first process was cut off, and the second one reports a wrong uptime. */
    @Test
    void aProcessIsKnownBeforeItsHandshakeIsComplete() {
        RestartGuard guard = new RestartGuard(RestartGuardMode.UPTIME, 60_000, Drift.DEFAULT);
        guard.onProcess("a", NOW_NS);
        assertFalse(guard.mayLackKeys("a"));
        assertTrue(guard.mayLackKeys("b"));
        guard.onProcess("b", NOW_NS + SECOND);
        assertTrue(guard.mayLackKeys("b"), "until its handshake is complete");
        assertEquals(61_602, guard.quarantineMs("b", 100_000, NOW_NS + SECOND));
        assertTrue(guard.isSuccessor());
    }

    /** A name, or Sentinels, may lead to a replica first. */
    @Test
    void aReplicaIsNoPredecessorOfTheMasterThatIsFoundLater() {
        RestartGuard guard = new RestartGuard(RestartGuardMode.UPTIME, 60_000, Drift.DEFAULT);
        guard.onProcess("replica", NOW_NS);
        guard.onReplica();
        guard.onProcess("master", NOW_NS + SECOND);
        assertEquals(0, guard.quarantineMs("master", 100_000, NOW_NS + SECOND));
        assertFalse(guard.isSuccessor());
    }

    @Test
    void aReplicaAfterAMasterThatWasCutOffIsNotForgotten() {
        RestartGuard guard = new RestartGuard(RestartGuardMode.UPTIME, 60_000, Drift.DEFAULT);
        guard.onProcess("cut-off", NOW_NS);
        guard.onProcess("replica", NOW_NS + SECOND);
        guard.onReplica();
        assertTrue(guard.mayLackKeys("new"));
    }

    @Test
    void aMasterThatBecameAReplicaIsAPredecessor() {
        RestartGuard guard = acquainted("old");
        guard.onReplica();
        assertTrue(guard.mayLackKeys("new"));
        assertTrue(guard.quarantineMs("new", 100_000, NOW_NS + SECOND) > 60_000);
    }

    @Test
    void offModeTrustsEveryProcess() {
        RestartGuard guard = new RestartGuard(RestartGuardMode.OFF, 60_000, Drift.DEFAULT);
        assertEquals(0, guard.quarantineMs("a", 0, NOW_NS));
        assertEquals(0, guard.quarantineMs("b", 0, NOW_NS));
    }

    /** A guard in UPTIME mode that trusts the process "old", whose last reply was at NOW_NS. */
    private static RestartGuard acquainted(String runId) {
        RestartGuard guard = new RestartGuard(RestartGuardMode.UPTIME, 60_000, Drift.DEFAULT);
        guard.quarantineMs(runId, 100_000, NOW_NS - 10 * SECOND);
        guard.trust(runId);
        guard.onReply(NOW_NS);
        return guard;
    }

    /**
     * A process reports its uptime as the difference of two wall clocks. 70 s after the last reply an uptime of
     * 71 s is possible (rounding, drift), one of 72 s is not: 70 000 + 700 + 2 + 1 000 = 71 702 ms.
     */
    @ParameterizedTest
    @CsvSource({"0, 61602", "61, 61602", "62, 0", "71, 0", "72, 61602", "1000000, 61602",
        "999999999999999999, 61602"})
    void aSuccessorIsNotOlderThanTheTimeSinceTheLastReply(long uptimeSeconds, long quarantineMs) {
        assertEquals(quarantineMs, acquainted("old").quarantineMs("new", uptimeSeconds, NOW_NS + 70 * SECOND));
    }

    @Test
    void theQuarantineOfASuccessorIsCountedByTheLocalClock() {
        RestartGuard guard = acquainted("old");
        assertEquals(61_602, guard.quarantineMs("new", 1, NOW_NS + 2 * SECOND));
        assertEquals(61_602 - 8_000, guard.quarantineMs("new", 0, NOW_NS + 10 * SECOND), "set back meanwhile");
        assertEquals(61_602 - 18_000, guard.quarantineMs("new", 3_600, NOW_NS + 20 * SECOND), "set ahead meanwhile");
        assertEquals(1, guard.quarantineMs("new", 60, NOW_NS + 2 * SECOND + 61_601 * MS));
        assertEquals(0, guard.quarantineMs("new", 60, NOW_NS + 2 * SECOND + 61_602 * MS));
        assertEquals(0, guard.quarantineMs("new", 60, NOW_NS + 3_600 * SECOND), "and long after");
    }

    @Test
    void theTimeIsCountedFromTheLastReplyOfThePreviousProcess() {
        RestartGuard guard = acquainted("old");
        guard.quarantineMs("old", 100_005, NOW_NS + 5 * SECOND);
        assertEquals(61_602, guard.quarantineMs("new", 72, NOW_NS + 70 * SECOND), "65 s after the connection before");
        assertEquals(0, acquainted("old").quarantineMs("new", 66, NOW_NS + 65 * SECOND));
    }

    @Test
    void aSecondSuccessorIsComparedWithTheFirstSuccessor() {
        RestartGuard guard = acquainted("old");
        assertEquals(61_602, guard.quarantineMs("new", 1, NOW_NS + 100 * SECOND));
        assertEquals(61_602, guard.quarantineMs("newer", 90, NOW_NS + 110 * SECOND));
        assertEquals(0, guard.quarantineMs("old", 0, NOW_NS + 120 * SECOND), "the trusted process was never away");
    }

    @Test
    void anOldServerAtTheAddressOfAnotherOneIsNotTrustedByItsUptime() {
        // This server was up while the previous one replied, so it is another one and has none of its keys.
        assertEquals(61_602, acquainted("here").quarantineMs("there", 86_400, NOW_NS + SECOND));
    }
}
