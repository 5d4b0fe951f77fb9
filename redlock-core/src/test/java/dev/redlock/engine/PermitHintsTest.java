package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.engine.key.KeyText;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.key.PermitKey;
import java.util.BitSet;
import org.junit.jupiter.api.Test;

/** What a queue remembers of the permits that searches and pushes have named. */
class PermitHintsTest {

    private final PermitHints hints = new PermitHints(false);

    private static BitSet permits(int... numbers) {
        BitSet permits = new BitSet();
        for (int number : numbers) {
            permits.set(number);
        }
        return permits;
    }

    @Test
    void theOtherPermitsOfASearchFollowTheFirst() {
        hints.onFound(2, 0b1011, 8);
        assertEquals(permits(3, 4, 6), hints.found);
    }

    @Test
    void theFirstPermitFollowsTheLast() {
        hints.onFound(6, 0b1111, 8);
        assertEquals(permits(7, 0, 1, 2), hints.found);
        hints.onFound(0, (1L << PermitHints.OTHERS_MAX) - 1, PermitHints.OTHERS_MAX + 1);
        assertEquals(PermitHints.OTHERS_MAX, hints.found.cardinality());
        assertEquals(1, hints.found.nextSetBit(0), "all but the first one");
    }

    @Test
    void eachSearchReplacesTheLast() {
        hints.onFound(0, 0b11, 8);
        hints.onFound(4, 0b1, 8);
        assertEquals(permits(5), hints.found);
        hints.onFound(4, 0, 8);
        assertTrue(hints.found.isEmpty(), "the first permit is for the head");
    }

    @Test
    void nothingIsLeftOfForgottenHints() {
        hints.permit = new PermitKey(new LockKey(KeyText.ofResource("", "orders", 512)), 3).permitKey(0);
        hints.pushed.set(1);
        hints.onFound(2, 1, 8);
        hints.forget();
        assertNull(hints.permit);
        assertTrue(hints.pushed.isEmpty() && hints.found.isEmpty());
    }
}
