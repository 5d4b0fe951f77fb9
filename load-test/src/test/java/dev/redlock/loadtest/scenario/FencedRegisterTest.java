package dev.redlock.loadtest.scenario;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Lower tokens are refused and change nothing. */
class FencedRegisterTest {
    private final FencedRegister register = new FencedRegister();

    @Test
    void lowerTokenIsRejected() {
        assertTrue(register.write(5, "five"));
        assertFalse(register.write(4, "four"));
        assertEquals("five", register.value());
    }

    @Test
    void sameHolderWritesAgainAndLaterOnesToo() {
        assertTrue(register.write(5, "five"));
        assertTrue(register.write(5, "five again"));
        assertTrue(register.write(9, "nine"));
        assertFalse(register.write(5, "late"));
        assertEquals("nine", register.value());
    }
}
