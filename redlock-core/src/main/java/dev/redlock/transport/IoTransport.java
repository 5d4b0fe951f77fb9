package dev.redlock.transport;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.channel.IoHandlerFactory;
import java.net.SocketAddress;
import java.util.function.BiConsumer;

/**
 * How bytes travel: the kind of event loop and of channel that belong together.
 *
 * @threading any thread
 */
public interface IoTransport {

    /** @return what was chosen and, for each better one, why it was refused; one line */
    String description();

    /** @return the I/O side of a new event loop */
    IoHandlerFactory newIoHandlerFactory();

    /** @return where buffers of commands come from; slices of a pooled buffer are pooled too */
    default ByteBufAllocator allocator() {
        return PooledByteBufAllocator.DEFAULT;
    }

    /**
     * The channel type for an address.
     *
     * @param address where to
     * @return a channel class that registers with this transport's event loops
     * @throws IllegalArgumentException if the transport has no such channel
     */
    Class<? extends Channel> channelClass(NodeAddress address);

    /**
     * Sets what this transport offers beyond the common options, such as a TCP user timeout.
     *
     * @param bootstrap     the connection being set up
     * @param address       where to
     * @param userTimeoutMs milliseconds after which unacknowledged bytes mean that the peer is gone
     */
    void tune(Bootstrap bootstrap, NodeAddress address, int userTimeoutMs);

    /**
     * Looks an address up without blocking the event loop. Called anew for every connection, so that a name that moved
     * is followed.
     *
     * @param address the address as configured
     * @param loop    where the answer is delivered
     * @param answer  gets the socket address and null, or null and the reason; always called on the loop
     */
    void resolve(NodeAddress address, EventLoop loop, BiConsumer<SocketAddress, Throwable> answer);
}
