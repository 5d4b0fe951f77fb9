package dev.redlock.node.send;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.DefaultMaxMessagesRecvByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;

/**
 * Allocates the same buffer for each read of a connection. With a new buffer each time, Netty's leak detector would
 * track every 128th at its default level, which costs about 50 B of heap per cycle over three nodes.
 *
 * <p>The buffer is reused when nobody else holds a reference to it. A buffer that is held past its read is replaced.
 *
 * @threading event-loop-confined
 */
final class ReadBuffer extends DefaultMaxMessagesRecvByteBufAllocator {

    /** About 4000 lock replies; longer input takes another read. */
    static final int LENGTH = 16 * 1024;

    private final DirectBuffers buffers;
    private ByteBuf buffer;
    private boolean isClosed;

    ReadBuffer(DirectBuffers buffers) {
        this.buffers = buffers;
    }

    @Override
    @SuppressWarnings("deprecation") // the channels of Netty 4.2 call this method
    public RecvByteBufAllocator.Handle newHandle() {
        return new OneBuffer();
    }

    private ByteBuf take(ByteBufAllocator allocator) {
        if (isClosed) {
            return allocator.ioBuffer(LENGTH);
        }
        if (buffer != null && buffer.refCnt() > 1) {
            buffer.release();
            buffer = null;
        }
        if (buffer == null) {
            buffer = buffers.takeReused(allocator, LENGTH);
        }
        if (buffer == null) {
            // The channel closes the connection on this error, and the client reconnects.
            throw new OutOfMemoryError("no direct memory to read into");
        }
        return buffer.clear().retain();
    }

    /** Releases the buffer. Later reads, if there are any, allocate new ones. */
    void close() {
        isClosed = true;
        if (buffer != null) {
            buffer.release();
            buffer = null;
        }
    }

    /**
     * Allocates the first time only.
     *
     * @threading event-loop-confined
     */
    private final class OneBuffer extends MaxMessageHandle {
        @Override
        public ByteBuf allocate(ByteBufAllocator allocator) {
            ByteBuf kept = buffer;
            return kept != null && kept.refCnt() == 1 ? kept.clear().retain() : take(allocator);
        }

        @Override
        public int guess() {
            return LENGTH;
        }
    }
}
