package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.node.guard.FreshGroup;
import dev.redlock.node.guard.OwnClockWatch;
import dev.redlock.node.guard.RestartGuard;
import dev.redlock.node.send.Arrivals;
import dev.redlock.node.send.SendContext;
import dev.redlock.node.send.WaiterName;
import dev.redlock.time.NanoClock;
import dev.redlock.time.TimerWheel;
import dev.redlock.transport.IoTransport;
import io.netty.channel.EventLoop;
import java.util.random.RandomGenerator;

/**
 * The parts that all nodes of one event loop share.
 *
 * @param platform what they run on
 * @param clock    monotonic time
 * @param timers   timers, polled by the conductor
 * @param options  the configuration
 * @param listener gets the events
 * @param group    what they know of each other
 * @threading event-loop-confined
 */
public record NodeContext(Platform platform, NanoClock clock, TimerWheel timers, NodeOptions options,
        NodeListener listener, Group group) {

    /** What the senders of the nodes need of it. */
    SendContext sending() {
        NodeOptions.Guards guards = options.guards();
        long rejectedNsMax = RestartGuard.neededUptimeMs(guards.maxTtlMs(), guards.drift()) * NS_PER_MS;
        return new SendContext(clock, timers, platform.random(), platform.arrivals(), platform.waiter(),
                new SendContext.Limits(options.limits().inFlightMax(), options.limits().undeliveredReleasesMax(),
                        rejectedNsMax));
    }

    /**
     * What the nodes run on.
     *
     * @param random    for the jitter of reconnects; need not be secure
     * @param arrivals  gets the arrival of bytes
     * @param waiter    the name of the event loop among waiting clients
     * @threading event-loop-confined
     */
    public record Platform(EventLoop loop, IoTransport transport, RandomGenerator random, Arrivals arrivals,
            WaiterName waiter) {
    }

    /**
     * What the nodes know of each other.
     *
     * @param identities all nodes and clusters, which add themselves; finds those that are one server, or say so
     * @threading event-loop-confined
     */
    public record Group(SharedIdentities identities, FreshGroup freshGroup, OwnClockWatch ownClock) {
    }
}
