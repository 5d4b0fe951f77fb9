package dev.redlock.loadtest.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class ProgressTest {
    @Test
    void barKeepsItsCellsBesideALongPhase() {
        String line = Progress.line(300, 1200, "redlock-blocking, N = 7, 1024 in flight, repetition 12", 80);
        assertEquals(80, line.length(), line);
        assertTrue(line.indexOf(']') - 1 >= 20, line);
        assertTrue(line.endsWith(".."), "a phase that does not fit is cut: " + line);
    }

    @Test
    void phaseThatFitsIsWholeAndTheBarTakesTheRest() {
        String line = Progress.line(50, 100, "redlock, N = 3, 64 in flight", 80);
        assertEquals(80, line.length(), line);
        assertEquals("[" + "=".repeat(18) + " ".repeat(18) + "] 50 of 100 s  redlock, N = 3, 64 in flight", line);
    }

    @Test
    void narrowTerminalAndRunWithoutALengthHaveALine() {
        assertEquals("[] 0 of 0 s  ..", Progress.line(0, 0, "warming up", 10));
        assertTrue(Progress.line(5, 5, "", 60).startsWith("[====="));
    }
}
