package dev.redlock.transport;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.channel.IoHandlerFactory;
import java.net.SocketAddress;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.BiConsumer;

/**
 * A network transport: an I/O handler for event loops, and the channel types that work with it.
 *
 * @threading any thread
 */
public interface IoTransport {

    /** @return the name of the transport, one line */
    String description();

    /** @return the factory of the I/O handler of a new event loop */
    IoHandlerFactory newIoHandlerFactory();

    /** @return the allocator for buffers of commands; slices of a pooled buffer are pooled too */
    default ByteBufAllocator allocator() {
        return PooledByteBufAllocator.DEFAULT;
    }

    /**
     * Returns the channel type for an address.
     *
     * @return a channel class that registers with this transport's event loops
     * @throws IllegalArgumentException if the transport has no such channel
     */
    Class<? extends Channel> channelClass(NodeAddress address);

    /**
     * Sets the socket options of this transport, such as the TCP user timeout.
     *
     * @param userTimeoutMs milliseconds without an acknowledgement after which the kernel closes the connection
     */
    void tune(Bootstrap bootstrap, NodeAddress address, int userTimeoutMs);

    /**
     * Resolves an address without blocking the event loop. The client calls it for every connection, so it follows a
     * host name whose address changes.
     *
     * @param threads runs a look-up that may block; an address without a host name needs none
     * @param answer  receives all addresses, one or more, and null, or null and the failure; always called on the loop
     */
    void resolve(NodeAddress address, Executor threads, EventLoop loop,
            BiConsumer<List<SocketAddress>, Throwable> answer);

    /**
     * Creates a thread for code of the user that may block.
     *
     * @return a daemon thread that has not started
     */
    default Thread newThread(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }
}
