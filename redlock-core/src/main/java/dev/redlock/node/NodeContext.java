package dev.redlock.node;

import dev.redlock.time.NanoClock;
import dev.redlock.time.TimerWheel;
import dev.redlock.transport.IoTransport;
import io.netty.channel.EventLoop;
import java.util.random.RandomGenerator;

/**
 * The parts that all nodes of one event loop share.
 *
 * @param loop      the event loop
 * @param transport opens sockets
 * @param clock     monotonic time
 * @param timers    timers, polled by the conductor
 * @param random    for the jitter of reconnects; need not be secure
 * @param options   the configuration
 * @param listener  gets the events
 * @param identities all nodes and clusters, which add themselves; finds those that are one server, or say so
 * @param freshGroup decides whether all nodes are new
 * @threading event-loop-confined
 */
public record NodeContext(EventLoop loop, IoTransport transport, NanoClock clock, TimerWheel timers,
        RandomGenerator random, NodeOptions options, NodeListener listener, SharedIdentities identities,
        FreshGroup freshGroup) {
}
