package dev.redlock.test;

import io.netty.util.concurrent.Ticker;
import java.util.concurrent.TimeUnit;

/**
 * The clock of this machine, which can be moved forward.
 *
 * @threading any thread
 */
final class MovableClock implements Ticker {

    private static final Ticker MACHINE = Ticker.systemTicker();

    private volatile long movedNs;

    /** An event loop subtracts it from the time of the machine to get the time of this clock. */
    @Override
    public long initialNanoTime() {
        return MACHINE.initialNanoTime() - movedNs;
    }

    @Override
    public long nanoTime() {
        return MACHINE.nanoTime() + movedNs;
    }

    @Override
    public void sleep(long delay, TimeUnit unit) throws InterruptedException {
        MACHINE.sleep(delay, unit);
    }

    /** Not by two threads at the same time. */
    void move(long ns) {
        movedNs += ns;
    }
}
