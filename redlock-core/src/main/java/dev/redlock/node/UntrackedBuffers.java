package dev.redlock.node;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/**
 * Buffers that are used over and over for as long as a client lives.
 *
 * <p>Netty's leak detector watches one new buffer in 128, and each slice of a watched buffer is watched too, which
 * makes objects. For a buffer that lives for one message that is a sample; a client whose shared batch is watched would
 * pay hundreds of bytes of heap a lock, for as long as it lives. So a watched one is given back for another.
 *
 * @threading immutable
 */
final class UntrackedBuffers {

    /** Where the detector is set to watch every buffer, one of these is taken. */
    private static final int TRIES_MAX = 8;

    private UntrackedBuffers() {
    }

    /**
     * A direct buffer of a fixed capacity, not watched if such a one can be had.
     *
     * @param allocator where from
     * @param capacity  bytes
     * @return owned by the caller
     */
    static ByteBuf direct(final ByteBufAllocator allocator, final int capacity) {
        ByteBuf buffer = allocator.directBuffer(capacity, capacity);
        for (int tries = 1; tries < TRIES_MAX && isWatched(buffer); tries++) {
            // Before the next one is asked for, which may find no memory.
            buffer.release();
            buffer = allocator.directBuffer(capacity, capacity);
        }
        return buffer;
    }

    /** What watches a buffer is wrapped around it. */
    static boolean isWatched(final ByteBuf buffer) {
        return buffer.unwrap() != null;
    }
}
