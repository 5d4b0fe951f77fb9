package dev.redlock.node;

import dev.redlock.time.NanoClock;
import dev.redlock.time.TimerWheel;
import dev.redlock.transport.IoTransport;
import io.netty.channel.EventLoop;
import java.util.random.RandomGenerator;

/**
 * What the nodes of one conductor share.
 *
 * @param loop      the one thread of all of them
 * @param transport how bytes travel
 * @param clock     monotonic time
 * @param timers    deadlines, polled by the conductor
 * @param random    jitter of reconnects; need not be secure
 * @param options   the configuration
 * @param listener  told of state changes
 * @param peers     all nodes by index, filled by the conductor; to find one server behind two addresses
 * @threading event-loop-confined
 */
public record NodeContext(EventLoop loop, IoTransport transport, NanoClock clock, TimerWheel timers,
        RandomGenerator random, NodeOptions options, NodeListener listener, Node[] peers) {
}
