package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

class ProblemLogTest {

    private static final long MINUTE_NS = ProblemLog.REPEAT_NS;

    private final ProblemLog log = new ProblemLog();

    @Test
    void theSameReasonIsLoggedOnceAMinute() {
        assertEquals("it is down", log.queueFor("it is down", true, 0));
        assertNull(log.queueFor("it is down", true, 1));
        assertNull(log.queueFor("it is down", true, MINUTE_NS - 1));
        assertEquals("it is down (2 more lines about this node were left out)",
                log.queueFor("it is down", true, MINUTE_NS));
        assertEquals("it is down", log.queueFor("it is down", true, 3 * MINUTE_NS), "the count has started anew");
    }

    @Test
    void reasonsThatDifferInNumbersAreTheSame() {
        assertNotNull(log.queueFor("up for 12 s, 7 ms", true, 0));
        assertNull(log.queueFor("up for 3456 s, 8 ms", true, 1));
        assertNotNull(log.queueFor("up for 3456 s", true, 2), "another sentence");
    }

    @Test
    void aProblemThatIsTriedAgainIsNotCounted() {
        log.queueFor("it is down", true, 0);
        log.queueFor("it is down", false, 1);
        assertEquals("it is down", log.queueFor("it is down", false, MINUTE_NS));
    }

    @Test
    void tenReasonsAMinuteAreLoggedAndNoMore() {
        for (int i = 0; i < 10; i++) {
            assertNotNull(log.queueFor("x".repeat(i + 1), true, i));
        }
        assertNull(log.queueFor("one more", true, 10));
        assertEquals("one more (1 more lines about this node were left out)",
                log.queueFor("one more", true, MINUTE_NS), "the first place is free again");
        assertNull(log.queueFor("another", true, MINUTE_NS));
    }

    /** A server's text may be long, and what is kept of it is not. */
    @Test
    void onlyTheBeginningOfALongReasonCounts() {
        assertNotNull(log.queueFor("y".repeat(160) + "a", true, 0));
        assertNull(log.queueFor("y".repeat(160) + "b", true, 0));
    }
}
