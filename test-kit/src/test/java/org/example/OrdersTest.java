package org.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.test.RedlockExtension;
import dev.redlock.test.RedlockNodes;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(RedlockExtension.class)
class OrdersTest {
    private static final Duration TTL = Duration.ofSeconds(30);

    @Test
    void aLeaseExpires(Redlock redlock, RedlockNodes nodes) throws InterruptedException {
        Lease lease = redlock.acquire("orders/42", TTL).lease();
        nodes.advance(TTL); // takes some 100 ms
        assertFalse(lease.isHeld());
    }

    @Test
    void oneOfThreeNodesMayFail(Redlock redlock, RedlockNodes nodes) throws InterruptedException {
        nodes.fail(0);
        assertTrue(redlock.tryAcquire("orders/42", TTL).isAcquired());
        nodes.fail(1);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, redlock.tryAcquire("orders/43", TTL).kind());
    }
}
