package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.Lease;
import dev.redlock.engine.key.KeyText;
import dev.redlock.engine.key.LockKey;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** The holds of the views of a client: they are shared by resource, separate by thread, and end with their last use. */
class HoldsTest {

    private final LockKey orders = new LockKey(KeyText.ofResource("", "orders", 512));
    private final LockKey ordersAgain = new LockKey(KeyText.ofResource("", "orders", 512));
    private final LockKey invoices = new LockKey(KeyText.ofResource("", "invoices", 512));
    private final Lease first = new LeaseHandle(null);
    private final Lease second = new LeaseHandle(null);

    private static <T> T onAnotherThread(Supplier<T> call) {
        return CompletableFuture.supplyAsync(call).join();
    }

    @Test
    void aHoldIsSharedUntilItsLastCallLeaves() {
        LocalHolds holds = new LocalHolds();
        LocalHolds.Hold hold = holds.enter(orders);
        assertSame(hold, onAnotherThread(() -> holds.enter(ordersAgain)), "a thread that waits");
        assertSame(hold, holds.get(ordersAgain));
        assertNull(holds.get(invoices));
        assertNotSame(hold, holds.enter(invoices));
        holds.leave(orders);
        assertSame(hold, holds.get(orders), "one is left");
        holds.leave(orders);
        assertNull(holds.get(orders), "no entry stays behind");
        assertNotSame(hold, holds.enter(orders));
    }

    @Test
    void eachReaderHasItsLeaseAndItsCount() {
        LocalHolds.Hold hold = new LocalHolds().enter(orders);
        hold.lock().readLock().lock();
        hold.lock().readLock().lock();
        hold.keep(first);
        assertEquals(2, hold.holdCount());
        assertEquals(0, onAnotherThread(hold::holdCount));
        assertNull(onAnotherThread(hold::lease));
        onAnotherThread(() -> {
            hold.keep(second);
            assertSame(second, hold.lease());
            return hold.take();
        });
        assertSame(first, hold.lease());
        assertSame(first, hold.take());
        assertNull(hold.lease());
    }

    @Test
    void aWriterThatReadsCountsBoth() {
        LocalHolds.Hold hold = new LocalHolds().enter(orders);
        hold.lock().writeLock().lock();
        hold.lock().readLock().lock();
        assertEquals(2, hold.holdCount());
    }

    @Test
    void aThreadThatNeverUnlocksItsLostHoldsKeepsTheLatestAlone() {
        LocalHolds holds = new LocalHolds();
        for (int i = 0; i < 100; i++) {
            LockKey key = new LockKey(KeyText.ofResource("", "orders/" + i, 512));
            LocalHolds.Hold hold = holds.enter(key);
            holds.enter(key);
            hold.lock().writeLock().lock();
            hold.lock().writeLock().lock();
            hold.keep(first);
            holds.endLost(key, hold, hold.lock().writeLock());
        }
        assertFalse(holds.unlockLost(new LockKey(KeyText.ofResource("", "orders/35", 512))));
        assertTrue(holds.unlockLost(new LockKey(KeyText.ofResource("", "orders/36", 512))));
        assertFalse(holds.unlockLost(new LockKey(KeyText.ofResource("", "orders/36", 512))), "once");
        assertTrue(holds.unlockLost(new LockKey(KeyText.ofResource("", "orders/99", 512))));
    }

    @Test
    void thePermitThatAThreadTookLastIsReleasedFirst() {
        PermitHolds holds = new PermitHolds();
        assertNull(holds.last(orders));
        assertNull(holds.removeLast(orders));
        holds.add(orders, first);
        holds.add(ordersAgain, second);
        assertSame(second, holds.last(orders));
        assertNull(holds.last(invoices));
        assertNull(onAnotherThread(() -> holds.last(orders)), "of another thread");
        assertNull(onAnotherThread(() -> holds.removeLast(orders)), "of another thread");
        assertSame(second, holds.removeLast(orders));
        assertSame(first, holds.last(orders));
        assertSame(first, holds.removeLast(ordersAgain));
        assertNull(holds.last(orders));
        assertNull(holds.removeLast(orders));
    }
}
