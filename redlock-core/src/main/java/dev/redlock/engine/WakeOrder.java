package dev.redlock.engine;

import java.util.random.RandomGenerator;

/**
 * Spreads the waiters of different clients that one release wakes. Each starts after a random time, so that few of them
 * ask for a lock that another one has got already, and no client wins more often because a server sends it the push
 * first: a server sends its pushes in a fixed order of its connections.
 *
 * <p>The range of the times grows with the number of competitors. No client knows that number; each takes the refused
 * attempts that its own waiters had on average before they won. Where nobody loses, nobody is delayed.
 *
 * @threading event-loop-confined
 */
final class WakeOrder {

    /** Losses are kept in units of 1/16. */
    private static final int SCALE_SHIFT = 4;
    private static final int AVERAGE_SHIFT = 2;
    /** More competitors do not delay a waiter further, so that a lock is not free for long. */
    static final int LOSSES_MAX = 32;
    /** Measured: with less, 8 and 32 clients get fewer locks, and less evenly; with more, the lock is idle. */
    private static final int UNITS_PER_LOSS = 2;

    private final RandomGenerator random;
    private long averageScaled;

    WakeOrder(RandomGenerator random) {
        this.random = random;
    }

    /** A waiter has won after some losses. */
    void onWon(int lossCount) {
        averageScaled += ((long) lossCount << SCALE_SHIFT) - averageScaled >> AVERAGE_SHIFT;
    }

    /**
     * Returns the random delay of a woken waiter, none with less than one loss on average.
     *
     * @param unitNs nanoseconds, the time that a competitor needs for its attempt
     */
    long delayNs(long unitNs) {
        if (averageScaled < 1 << SCALE_SHIFT || unitNs == 0) {
            return 0;
        }
        long lossesScaled = Math.min(averageScaled, (long) LOSSES_MAX << SCALE_SHIFT);
        long rangeNs = unitNs * UNITS_PER_LOSS * lossesScaled >> SCALE_SHIFT;
        return (random.nextLong() >>> 1) % (rangeNs + 1);
    }
}
