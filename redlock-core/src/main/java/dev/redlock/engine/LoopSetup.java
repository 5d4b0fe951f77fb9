package dev.redlock.engine;

import dev.redlock.node.send.WaiterName;
import dev.redlock.quorum.TokenStream;
import dev.redlock.time.NanoClock;
import dev.redlock.transport.IoTransport;
import io.netty.channel.EventLoop;
import java.util.random.RandomGenerator;

/**
 * What one event loop of a client is made of, besides the configuration.
 *
 * @param loop      the event loop
 * @param transport connects to the nodes
 * @param clock     monotonic time
 * @param tokens    the tokens of its locks
 * @param waiter    its name among waiting clients
 * @param random    for delays, and for everything else that need not be secret
 * @threading immutable; its parts are event-loop-confined
 */
record LoopSetup(EventLoop loop, IoTransport transport, NanoClock clock, TokenStream tokens,
        WaiterName waiter, RandomGenerator random) {
}
