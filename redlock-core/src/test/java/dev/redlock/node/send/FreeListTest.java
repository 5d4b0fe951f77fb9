package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The pool shrinks to the number of objects that are used. */
class FreeListTest {

    private static final int KEPT = 100;

    private final FreeList<Object> pool = new FreeList<>(KEPT);

    private void fill(int count) {
        for (int i = 0; i < count; i++) {
            pool.push(new Object());
        }
    }

    private List<Object> take(int count) {
        List<Object> taken = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            taken.add(pool.poll());
            assertNotNull(taken.get(i), "object " + i);
        }
        return taken;
    }

    @Test
    void pollsTheLastObjectFirst() {
        assertNull(pool.poll(), "an empty pool");
        Object first = new Object();
        Object second = new Object();
        pool.push(first);
        pool.push(second);
        assertSame(second, pool.poll());
        assertSame(first, pool.poll());
        assertNull(pool.poll());
    }

    @Test
    void trimShrinksAnUnusedPoolToItsMinimum() {
        fill(42_000);
        for (int period = 0; period < 80; period++) {
            pool.trim();
        }
        assertEquals(KEPT, pool.length());
        assertTrue(pool.capacity() <= 4 * KEPT, pool.capacity() + " entries");
        take(KEPT);
        assertNull(pool.poll());
    }

    @Test
    void trimKeepsTheObjectsThatEachPeriodUses() {
        fill(5_000);
        for (int period = 0; period < 1_000; period++) {
            take(5_000).forEach(pool::push);
            pool.trim();
        }
        assertEquals(5_000, pool.length());
    }

    @Test
    void trimFreesTheUnusedPartOnly() {
        fill(5_000);
        for (int period = 0; period < 200; period++) {
            take(2_000).forEach(pool::push);
            pool.trim();
        }
        assertEquals(2_000, pool.length());
    }

    /** One idle period may be a short pause. */
    @Test
    void trimFreesAnEighthAfterOneIdlePeriod() {
        fill(8_000);
        pool.trim();
        pool.trim();
        assertTrue(pool.length() > 7_000 && pool.length() < 8_000, pool.length() + " objects");
    }

    @Test
    void aPoolThatIsNeverTrimmedKeepsAllObjects() {
        fill(1_000);
        take(1_000);
        assertNull(pool.poll());
    }
}
