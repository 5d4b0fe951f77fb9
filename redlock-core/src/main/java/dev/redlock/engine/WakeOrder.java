package dev.redlock.engine;

/**
 * Orders the waiters of different clients that one release wakes: a waiter that has lost more of these races starts
 * sooner. A server sends its pushes in a fixed order of its connections, so without this the same client would win each
 * time.
 *
 * <p>Each client compares the losses of its own waiter with those that a waiter had on average when it won. No client
 * knows the waiters of the others. Where nobody loses, nobody is delayed.
 *
 * @threading event-loop-confined
 */
final class WakeOrder {

    /** Losses are kept in units of 1/16. */
    private static final int SCALE_SHIFT = 4;
    private static final int AVERAGE_SHIFT = 2;

    private long averageScaled;

    /** A waiter has won after some losses. */
    void onWon(int lossCount) {
        averageScaled += ((long) lossCount << SCALE_SHIFT) - averageScaled >> AVERAGE_SHIFT;
    }

    /**
     * Returns the delay of a waiter with some losses: the longest delay without a loss, none with the average.
     *
     * @param delayNsMax nanoseconds
     */
    long delayNs(int lossCount, long delayNsMax) {
        long scaled = (long) lossCount << SCALE_SHIFT;
        return averageScaled < 1 << SCALE_SHIFT || scaled >= averageScaled
                ? 0
                : delayNsMax * (averageScaled - scaled) / averageScaled;
    }
}
