package org.example;

import dev.redlock.Redlock;
import java.time.Duration;
import org.springframework.stereotype.Service;

/** Ships an order once, unless another instance is shipping it. */
@Service
public class Shipping {
    private final Redlock redlock;

    public Shipping(Redlock redlock) {
        this.redlock = redlock;
    }

    public boolean ship(String id) throws InterruptedException {
        return redlock.tryAcquire("orders/" + id, Duration.ofSeconds(30)).isAcquired();
    }
}
