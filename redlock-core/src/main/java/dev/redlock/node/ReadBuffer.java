package dev.redlock.node;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.DefaultMaxMessagesRecvByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;

/**
 * Gives a connection the same buffer for each read. A new one each time is pooled by Netty, but every 128th is watched
 * by its leak detector, at its default level, and the record of that costs about 50 B for each cycle over three nodes.
 *
 * <p>The buffer is used again when nobody else holds it any more; whoever keeps one past its read gets it to himself.
 *
 * @threading event-loop-confined
 */
final class ReadBuffer extends DefaultMaxMessagesRecvByteBufAllocator {

    /** Some 4000 lock replies; what does not fit comes with the next read. */
    static final int LENGTH = 16 * 1024;

    private final DirectBuffers buffers;
    private ByteBuf buffer;
    private boolean isClosed;

    ReadBuffer(final DirectBuffers buffers) {
        this.buffers = buffers;
    }

    @Override
    @SuppressWarnings("deprecation") // it is what the channels of Netty 4.2 ask for
    public RecvByteBufAllocator.Handle newHandle() {
        return new OneBuffer();
    }

    private ByteBuf take(final ByteBufAllocator allocator) {
        if (isClosed) {
            return allocator.ioBuffer(LENGTH);
        }
        if (buffer != null && buffer.refCnt() > 1) {
            buffer.release();
            buffer = null;
        }
        if (buffer == null) {
            buffer = buffers.takeLongLived(allocator, LENGTH);
        }
        if (buffer == null) {
            // The channel takes this for the end of the connection, which is opened again.
            throw new OutOfMemoryError("no direct memory to read into");
        }
        return buffer.clear().retain();
    }

    /** Gives the buffer back; later reads, if there are any, get new ones. */
    void close() {
        isClosed = true;
        if (buffer != null) {
            buffer.release();
            buffer = null;
        }
    }

    /**
     * Allocates nothing but the first time.
     *
     * @threading event-loop-confined
     */
    private final class OneBuffer extends MaxMessageHandle {
        @Override
        public ByteBuf allocate(final ByteBufAllocator allocator) {
            return take(allocator);
        }

        @Override
        public int guess() {
            return LENGTH;
        }
    }
}
