package dev.redlock.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** What a client knows of a clock that has jumped. */
class SimClocksTest {

    private static final long MS = 1_000_000;
    private static final long MAX_TTL_MS = 3_000;
    private static final long STEP_MS = 60_000;

    private final SimClocks clocks = new SimClocks(3, MAX_TTL_MS, false);

    private void jumpAfterFirstReply() {
        clocks.onTimeReply("a", 0, "process", MS, 0, MS);
        clocks.onStep(0, STEP_MS, 500 * MS);
    }

    @Test
    void grantsDoNotCountUntilTheQuarantineEnds() {
        jumpAfterFirstReply();
        clocks.onTimeReply("a", 0, "process", 2_000 * MS, STEP_MS, 2_000 * MS);
        assertTrue(clocks.isRevoked("a", 0, 4_999 * MS));
        assertFalse(clocks.isRevoked("a", 0, 5_000 * MS));
    }

    /** The quarantine began with the first reply if the client had memory for it. */
    @Test
    void aDoubtfulReplyMayHaveBegunTheQuarantine() {
        jumpAfterFirstReply();
        clocks.onDoubtfulTimeReply("a", 0, STEP_MS, 1_000 * MS);
        assertFalse(clocks.isRevoked("a", 0, 1_500 * MS), "nothing is known yet");
        clocks.onTimeReply("a", 0, "process", 2_000 * MS, STEP_MS, 2_000 * MS);
        assertTrue(clocks.isRevoked("a", 0, 3_999 * MS));
        assertFalse(clocks.isRevoked("a", 0, 4_000 * MS));
    }

    /** Of a lone node: a new process whose clock is behind may be on another machine; one that is ahead is a jump. */
    @Test
    void aNewProcessShowsAJumpAheadOfTheClockBefore() {
        for (int sign = -1; sign <= 1; sign += 2) {
            SimClocks lone = new SimClocks(1, MAX_TTL_MS, false);
            lone.onTimeReply("a", 0, "first", MS, 0, MS);
            lone.onTimeReply("b", 0, "first", MS, 0, MS);
            lone.onStep(0, STEP_MS, 500 * MS);
            assertTrue(lone.isExcused("a", 100 * MS, "b", 600 * MS), "unseen");
            lone.onTimeReply("a", 0, "second", 900 * MS, sign * STEP_MS, 900 * MS);
            assertEquals(sign < 0, lone.isExcused("a", 100 * MS, "b", 600 * MS));
        }
    }

    /**
     * A lone node restarts empty, and its clock jumps: a client that connects believes the uptime. The holder cannot
     * know that until it has read the clock.
     */
    @Test
    void aJumpThatDeceivesOthersOfALoneNodeIsExcusedUntilTheHolderCouldKnow() {
        SimClocks lone = new SimClocks(1, MAX_TTL_MS, true);
        lone.onTimeReply("holder", 0, "first", MS, 0, MS);
        lone.onEmptied(0, 500 * MS, false);
        lone.onTimeReply("holder", 0, "second", 600 * MS, 0, 600 * MS);
        lone.onStep(0, STEP_MS, 700 * MS);
        lone.onTimeReply("newcomer", 0, "second", 800 * MS, STEP_MS, 800 * MS);
        assertTrue(lone.isExcused("holder", 100 * MS, "newcomer", 900 * MS));
        lone.onTimeReply("holder", 0, "second", 1_000 * MS, STEP_MS, 1_000 * MS);
        assertFalse(lone.isExcused("holder", 100 * MS, "newcomer", 900 * MS));
        assertFalse(lone.isExcused("newcomer", 900 * MS, "holder", 100 * MS));
    }

    /** Nor does a client take an empty node for a new one if it is the only one. */
    @Test
    void aLoneNodeIsNoFreshGroup() {
        for (int nodes = 1; nodes <= 2; nodes++) {
            SimClocks clocks = new SimClocks(nodes, MAX_TTL_MS, true);
            for (int i = 0; i < nodes; i++) {
                clocks.onTimeReply("holder", i, "first", MS, 0, MS);
                clocks.onEmptied(i, 500 * MS, false);
                clocks.onTimeReply("newcomer", i, "second", 600 * MS, 0, 600 * MS);
            }
            assertEquals(nodes > 1, clocks.isExcused("holder", 100 * MS, "newcomer", 700 * MS));
        }
    }

    /** A suspend of the client stays one, if a node jumps later. */
    @Test
    void aLaterJumpOfOneNodeDoesNotChangeWhatACommonStepWas() {
        SimClocks three = new SimClocks(3, 3_000, false);
        for (int node = 0; node < 3; node++) {
            three.onTimeReply("a", node, "process", MS, 0, MS);
            three.onTimeReply("a", node, "process", 1_000 * MS, STEP_MS, (1_000 + node) * MS);
        }
        assertTrue(three.isRevoked("a", 0, 1_001 * MS), "before all have shown the step");
        assertFalse(three.isRevoked("a", 0, 1_500 * MS), "the client knows that it was its own clock");
        three.onTimeReply("a", 2, "process", 2_000 * MS, 3 * STEP_MS, 2_000 * MS);
        assertFalse(three.isRevoked("a", 0, 1_500 * MS));
        assertTrue(three.isRevoked("a", 2, 1_500 * MS));
    }

    /** All clocks make one step: the newcomer takes it for its own suspend, and the holder has read no clock since. */
    @Test
    void aCommonStepIsExcusedUntilTheHolderCouldKnow() {
        for (int stepped = 1; stepped <= 3; stepped++) {
            SimClocks three = new SimClocks(3, MAX_TTL_MS, false);
            for (int node = 0; node < 3; node++) {
                three.onTimeReply("holder", node, "process", MS, 0, MS);
                three.onTimeReply("newcomer", node, "process", MS, 0, MS);
            }
            for (int node = 0; node < stepped; node++) {
                three.onStep(node, STEP_MS, 500 * MS);
            }
            for (int node = 0; node < 3; node++) {
                three.onTimeReply("newcomer", node, "process", 600 * MS, node < stepped ? STEP_MS : 0, 600 * MS);
            }
            assertEquals(stepped == 3, three.isExcused("holder", 100 * MS, "newcomer", 800 * MS));
            assertEquals(stepped == 3, three.isExcused("newcomer", 800 * MS, "holder", 100 * MS));
            assertFalse(three.isExcused("newcomer", 100 * MS, "holder", 800 * MS), "its leases are shorter");
            for (int node = 0; node < 3; node++) {
                three.onTimeReply("holder", node, "process", 900 * MS, node < stepped ? STEP_MS : 0, 900 * MS);
            }
            assertFalse(three.isExcused("holder", 100 * MS, "newcomer", 800 * MS));
        }
    }

    /** A client believes a wrong uptime unless the process before replied within the longest ttl. */
    @Test
    void aWrongUptimeIsKnownFromAReplyOfTheProcessBefore() {
        clocks.onTimeReply("a", 0, "process", MS, 0, MS);
        clocks.onTimeReply("b", 0, "process", MS, 0, MS);
        clocks.onTimeReply("b", 0, "process", 2_000 * MS, 0, 2_000 * MS);
        clocks.onEmptied(0, 3_500 * MS, true);
        clocks.onTimeReply("a", 0, "process", 4_000 * MS, 0, 4_000 * MS);
        clocks.onTimeReply("b", 0, "process", 4_000 * MS, 0, 4_000 * MS);
        assertTrue(clocks.isDeceivedBy("a", 0));
        assertFalse(clocks.isDeceivedBy("b", 0));
    }
}
