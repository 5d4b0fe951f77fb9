package dev.redlock.node.send;

import dev.redlock.time.NanoClock;
import dev.redlock.time.TimerWheel;
import java.util.random.RandomGenerator;

/**
 * What the senders of one event loop share.
 *
 * @param clock    monotonic time
 * @param timers   timers, polled by the conductor
 * @param random   for the jitter of delays; need not be secure
 * @param arrivals gets the arrival of bytes
 * @param waiter   the name of the event loop among waiting clients
 * @param limits   bounds for each sender
 * @threading event-loop-confined
 */
public record SendContext(NanoClock clock, TimerWheel timers, RandomGenerator random, Arrivals arrivals,
        WaiterName waiter, Limits limits) {

    /**
     * Bounds for each sender.
     *
     * @param inFlightMax            requests in flight at which further commands fail
     * @param undeliveredReleasesMax releases kept for a node that is not connected
     * @param rejectedNsMax          how long a rejected release is sent again: every key has expired then
     * @threading immutable
     */
    public record Limits(int inFlightMax, int undeliveredReleasesMax, long rejectedNsMax) {
    }
}
