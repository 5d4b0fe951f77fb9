package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

/** The log lines about one node are limited, and those that were left out are counted. */
class ProblemLogTest {

    private static final long MINUTE_NS = ProblemLog.REPEAT_NS;

    private final ProblemLog log = new ProblemLog();

    @Test
    void theSameTextIsLoggedOnceAMinute() {
        assertEquals("it is down", log.lineFor("it is down", 0));
        assertNull(log.lineFor("it is down", 1));
        assertNull(log.lineFor("it is down", MINUTE_NS - 1));
        assertEquals("it is down (2 more lines about this node were left out)",
                log.lineFor("it is down", MINUTE_NS));
        assertEquals("it is down", log.lineFor("it is down", 3 * MINUTE_NS), "the count has started anew");
    }

    @Test
    void textsThatDifferInTheirNumbersCountAsTheSame() {
        assertNotNull(log.lineFor("up for 12 s, 7 ms", 0));
        assertNull(log.lineFor("up for 3456 s, 8 ms", 1));
        assertNotNull(log.lineFor("up for 3456 s", 2), "another sentence");
    }

    @Test
    void tenTextsAMinuteAreLogged() {
        for (int i = 0; i < 10; i++) {
            assertNotNull(log.lineFor("x".repeat(i + 1), i));
        }
        assertNull(log.lineFor("one more", 10));
        assertEquals("one more (1 more lines about this node were left out)",
                log.lineFor("one more", MINUTE_NS), "a minute after the first text");
        assertNull(log.lineFor("another", MINUTE_NS));
    }

    /** A server's text may be long; the copy that is kept is short. */
    @Test
    void onlyTheFirst160CharactersOfATextAreCompared() {
        assertNotNull(log.lineFor("y".repeat(160) + "a", 0));
        assertNull(log.lineFor("y".repeat(160) + "b", 0));
    }
}
