package dev.redlock.node;

import io.netty.buffer.ByteBuf;

/**
 * The commands of one duty cycle for one master of a cluster, copied from the shared batch. A slice for each command
 * would cost more than the copy, because commands of other masters are between them.
 *
 * <p>The buffer does not grow while slices of it are in use, and is used again when they are written.
 *
 * @threading event-loop-confined
 */
final class MemberBatch {

    /** Some 100 commands; a full buffer is written early. */
    private static final int CAPACITY = 16 * 1024;

    private final DirectBuffers buffers;
    private ByteBuf batch;
    /** The bytes before this index are written. */
    private int start;

    MemberBatch(DirectBuffers buffers) {
        this.buffers = buffers;
    }

    boolean hasRoom(int bytes) {
        return batch == null || batch.writableBytes() >= bytes;
    }

    /** Takes a buffer for so many bytes, if there is none; false if there is no memory. */
    boolean reserve(int bytes) {
        if (batch == null) {
            batch = buffers.takeReused(Math.max(CAPACITY, bytes));
        }
        return batch != null;
    }

    void copy(ByteBuf commands, int from, int to) {
        batch.writeBytes(commands, from, to - from);
    }

    /** A slice with the bytes so far, which the connection gets; null if there are none. */
    ByteBuf take() {
        if (batch == null || batch.writerIndex() == start) {
            return null;
        }
        int from = start;
        start = batch.writerIndex();
        return batch.retainedSlice(from, start - from);
    }

    /** The connection has flushed its bytes. */
    void onFlushed() {
        if (batch == null || batch.writerIndex() > start) {
            return;
        }
        if (batch.refCnt() == 1) {
            batch.clear();
            start = 0;
        } else {
            free();
        }
    }

    /** Drops the bytes that are not written. */
    void free() {
        if (batch != null) {
            batch.release();
            batch = null;
        }
        start = 0;
    }
}
