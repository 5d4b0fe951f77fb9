package dev.redlock.loadtest.cycle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Were the model to grant everything, a run on it would prove nothing. */
class LoopNodeTest {

    private final LoopNode node = new LoopNode();

    @Test
    void onlyOneHoldsALock() {
        assertTrue(node.acquire(7, 1, 2, 3));
        assertFalse(node.acquire(7, 4, 5, 6));
        assertFalse(node.acquire(7, 1, 2, 3));
        assertTrue(node.acquire(8, 4, 5, 6));
        assertEquals(2, node.heldCount());
    }

    @Test
    void onlyItsTokenReleasesIt() {
        assertTrue(node.acquire(7, 1, 2, 3));
        assertFalse(node.release(7, 0, 2, 3));
        assertFalse(node.release(7, 1, 0, 3));
        assertFalse(node.release(7, 1, 2, 0));
        assertFalse(node.release(8, 1, 2, 3));
        assertTrue(node.release(7, 1, 2, 3));
        assertFalse(node.release(7, 1, 2, 3));
        assertEquals(0, node.heldCount());
        assertTrue(node.acquire(7, 4, 5, 6));
    }

    @Test
    void tokenOfZerosHoldsALock() {
        assertTrue(node.acquire(0, 0, 0, 0));
        assertFalse(node.acquire(0, 1, 2, 3));
        assertTrue(node.release(0, 0, 0, 0));
    }

    @Test
    void anyResourceNumberIsStored() {
        assertFalse(node.release(999_999, 1, 2, 3));
        assertTrue(node.acquire(999_999, 1, 2, 3));
        assertTrue(node.acquire(1_024, 1, 2, 3));
        assertTrue(node.release(999_999, 1, 2, 3));
    }
}
