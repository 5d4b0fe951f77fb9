package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The streaks of leases whose callers may come back. */
class RecentStreaksTest {

    private final RecentStreaks streaks = new RecentStreaks();

    private static LockKey key(String resource) {
        return LockKey.of("", resource, 512);
    }

    private static HandoffStreak streak(int handoffCount) {
        HandoffStreak streak = new HandoffStreak();
        streak.start(0);
        IntStream.range(0, handoffCount).forEach(i -> streak.onHandoff());
        return streak;
    }

    @Test
    void eachStreakIsTakenOnceWithItsEnd() {
        streaks.put(key("a"), streak(1), 10);
        streaks.put(key("b"), streak(2), 20);
        assertNull(streaks.take(key("c")));
        assertEquals(1, streaks.take(key("a")).handoffCount());
        assertEquals(10, streaks.takenEndNs());
        assertEquals(2, streaks.take(key("b")).handoffCount());
        assertEquals(20, streaks.takenEndNs());
        assertNull(streaks.take(key("a")));
    }

    /** Of 256 keys in 256 slots, 162 are expected to have different ones. */
    @Test
    void similarNamesHaveDifferentSlots() {
        for (String format : new String[]{"orders/%d", "%d", "user:%d:cart"}) {
            long slots = IntStream.range(0, RecentStreaks.CAPACITY)
                    .map(i -> RecentStreaks.slotOf(key(String.format(format, i))))
                    .peek(slot -> assertTrue(slot >= 0 && slot < RecentStreaks.CAPACITY))
                    .distinct()
                    .count();
            assertTrue(slots >= 140, () -> slots + " slots of " + format);
        }
    }
}
