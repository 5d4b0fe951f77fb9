package dev.redlock.node;

import io.netty.buffer.ByteBuf;

/**
 * Sends commands to one master of a cluster. Commands of other masters are between its own in the shared batch, so it
 * gets copies in a batch of its own.
 *
 * @threading event-loop-confined
 */
final class MemberSender extends CommandSender {

    private final CommandRetries.Cluster cluster;
    private final MemberBatch ownBatch;

    MemberSender(NodeView view, NodeContext context, FanOut fanOut, CommandRetries.Cluster cluster) {
        super(view, context, fanOut);
        this.cluster = cluster;
        this.ownBatch = new MemberBatch(fanOut.buffers());
    }

    @Override
    CommandRetries.Cluster cluster() {
        return cluster;
    }

    @Override
    void detach() {
        super.detach();
        ownBatch.free();
    }

    @Override
    boolean enqueue(InFlightRequest request, int tag, int bytes) {
        return reserve(bytes) && super.enqueue(request, tag, bytes);
    }

    @Override
    boolean enqueueWithWakeUp(LockRequest request, int tag, int bytes) {
        return reserve(bytes) && super.enqueueWithWakeUp(request, tag, bytes);
    }

    /** Whether the node has memory for a command of its own batch. */
    private boolean reserve(int bytes) {
        try {
            if (!ownBatch.hasRoom(bytes)) {
                writeBatch();
                ownBatch.free();
            }
            return ownBatch.reserve(bytes);
        } catch (RuntimeException | Error e) {
            connection().fail("commands cannot be written: " + e);
            return false;
        }
    }

    @Override
    void copy(ByteBuf batch, int from, int to) {
        ownBatch.copy(batch, from, to);
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
        ByteBuf written = ownBatch.take();
        if (written != null) {
            connection().write(written);
        }
    }

    @Override
    void writeShared(ByteBuf batch) {
        writeOwn();
    }

    @Override
    void skip(ByteBuf batch, int start, int end) {
        // It gets no slices.
    }

    @Override
    void writeBatchEnd(ByteBuf batch, int end) {
        // As above.
    }

    @Override
    void flush() {
        super.flush();
        ownBatch.onFlushed();
    }
}
