package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.BitSet;
import org.junit.jupiter.api.Test;

/** What a queue remembers of the slots that searches and pushes have named. */
class SlotHintsTest {

    private final SlotHints hints = new SlotHints(false);

    private static BitSet slots(int... numbers) {
        BitSet slots = new BitSet();
        for (int number : numbers) {
            slots.set(number);
        }
        return slots;
    }

    @Test
    void theOtherSlotsOfASearchFollowTheFirst() {
        hints.onFound(2, 0b1011, 8);
        assertEquals(slots(3, 4, 6), hints.found);
    }

    @Test
    void theFirstSlotFollowsTheLast() {
        hints.onFound(6, 0b1111, 8);
        assertEquals(slots(7, 0, 1, 2), hints.found);
        hints.onFound(0, (1L << SlotHints.OTHERS_MAX) - 1, SlotHints.OTHERS_MAX + 1);
        assertEquals(SlotHints.OTHERS_MAX, hints.found.cardinality());
        assertEquals(1, hints.found.nextSetBit(0), "all but the first one");
    }

    @Test
    void eachSearchReplacesTheLast() {
        hints.onFound(0, 0b11, 8);
        hints.onFound(4, 0b1, 8);
        assertEquals(slots(5), hints.found);
        hints.onFound(4, 0, 8);
        assertTrue(hints.found.isEmpty(), "the first slot is for the head");
    }

    @Test
    void nothingIsLeftOfForgottenHints() {
        hints.slot = new PermitKey(LockKey.of("", "orders", 512), 3).slotKey(0);
        hints.pushed.set(1);
        hints.onFound(2, 1, 8);
        hints.forget();
        assertNull(hints.slot);
        assertTrue(hints.pushed.isEmpty() && hints.found.isEmpty());
    }
}
