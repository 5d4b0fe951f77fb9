package dev.redlock.node;

import io.netty.buffer.ByteBuf;

/**
 * Sends commands to one master of a cluster. Commands of other masters are between its own in the shared batch, so it
 * gets copies in a batch of its own: a slice for each command would cost more.
 *
 * <p>The buffer does not grow while slices of it are in use, and is used again when they are written.
 *
 * @threading event-loop-confined
 */
final class MemberSender extends CommandSender {

    /** Some 100 commands; a full buffer is written early. */
    private static final int CAPACITY = 16 * 1024;

    private final CommandRetries.Cluster cluster;
    private final DirectBuffers buffers;
    private ByteBuf own;
    /** The bytes before this index are written. */
    private int start;

    MemberSender(NodeView view, NodeContext context, FanOut fanOut, CommandRetries.Cluster cluster) {
        super(view, context, fanOut);
        this.cluster = cluster;
        this.buffers = fanOut.buffers();
    }

    @Override
    CommandRetries.Cluster cluster() {
        return cluster;
    }

    @Override
    void detach() {
        super.detach();
        free();
    }

    @Override
    boolean enqueue(InFlightRequest request, int tag, int bytes) {
        return reserve(bytes) && super.enqueue(request, tag, bytes);
    }

    @Override
    boolean enqueueWithWakeUp(LockRequest request, int tag, int bytes) {
        return reserve(bytes) && super.enqueueWithWakeUp(request, tag, bytes);
    }

    /** Provides room for a command; false if there is no memory. */
    private boolean reserve(int bytes) {
        try {
            if (own != null && own.writableBytes() < bytes) {
                writeBatch();
                free();
            }
            if (own == null) {
                own = buffers.takeReused(Math.max(CAPACITY, bytes));
            }
            return own != null;
        } catch (RuntimeException | Error e) {
            connection().fail("commands cannot be written: " + e);
            return false;
        }
    }

    @Override
    void copy(ByteBuf batch, int from, int to) {
        own.writeBytes(batch, from, to - from);
    }

    /** Writes the commands of this node alone so far to its connection. */
    void writeOwn() {
        if (!isConnected()) {
            return;
        }
        try {
            writeBatch();
        } catch (RuntimeException | Error e) {
            connection().fail("commands cannot be written: " + e);
        }
    }

    private void writeBatch() {
        if (own != null && own.writerIndex() > start) {
            int from = start;
            start = own.writerIndex();
            connection().write(own.retainedSlice(from, start - from));
        }
    }

    @Override
    void writeShared(ByteBuf batch) {
        writeOwn();
    }

    @Override
    void skip(ByteBuf batch, int from, int to) {
        // It gets no slices.
    }

    @Override
    void writeBatchEnd(ByteBuf batch, int end) {
        // As above.
    }

    @Override
    void flush() {
        super.flush();
        if (own == null || own.writerIndex() > start) {
            return;
        }
        if (own.refCnt() == 1) {
            own.clear();
            start = 0;
        } else {
            free();
        }
    }

    /** Drops the bytes that are not written. */
    private void free() {
        if (own != null) {
            own.release();
            own = null;
        }
        start = 0;
    }
}
