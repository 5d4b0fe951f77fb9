package org.example;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.test.AutoConfigureRedlockNodes;
import dev.redlock.test.RedlockNodes;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;

@SpringBootTest
@AutoConfigureRedlockNodes
class ShippingTest {
    @Autowired
    private Shipping shipping; // uses the Redlock of the starter

    @Autowired
    private RedlockNodes nodes;

    @Test
    void anOrderIsShippedOnce() throws InterruptedException {
        assertTrue(shipping.ship("42"));
        assertFalse(shipping.ship("42"));
        nodes.advance(Duration.ofSeconds(30));
        assertTrue(shipping.ship("42"));
    }
}
