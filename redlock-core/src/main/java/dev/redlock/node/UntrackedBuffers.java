package dev.redlock.node;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/**
 * Allocates buffers that Netty's leak detector does not track, for buffers that live as long as a client.
 *
 * <p>The leak detector tracks one new buffer in 128, and each slice of a tracked buffer, which allocates objects. For a
 * buffer of one message that is a sample. A client with a tracked shared batch would allocate hundreds of bytes of heap
 * per lock. So a tracked buffer is released, and another one allocated.
 *
 * @threading immutable
 */
final class UntrackedBuffers {

    /** After so many tries a tracked buffer is used: the detector may track every buffer. */
    private static final int TRIES_MAX = 8;

    private UntrackedBuffers() {
    }

    /**
     * Allocates a direct buffer of a fixed capacity, untracked if possible.
     *
     * @param allocator allocates the buffer
     * @param capacity  bytes
     * @return owned by the caller
     */
    static ByteBuf direct(ByteBufAllocator allocator, int capacity) {
        ByteBuf buffer = allocator.directBuffer(capacity, capacity);
        for (int tries = 1; tries < TRIES_MAX && isTracked(buffer); tries++) {
            // Before the next allocation, which may find no memory.
            buffer.release();
            buffer = allocator.directBuffer(capacity, capacity);
        }
        return buffer;
    }

    /** A tracked buffer is wrapped by its tracker. */
    static boolean isTracked(ByteBuf buffer) {
        return buffer.unwrap() != null;
    }
}
