package dev.redlock.node.send;

import dev.redlock.transport.TlsChannel;
import io.netty.buffer.ByteBuf;

/**
 * The connection to one master of a cluster. Commands of other masters are between its own in the shared batch, so it
 * gets copies in a batch of its own: a slice for each command would cost more.
 *
 * <p>The buffer does not grow while slices of it are in use, and is used again when they are written.
 *
 * @threading event-loop-confined
 */
public final class MemberConnection extends NodeConnection {

    /** Some 100 commands; a full buffer is written early. */
    private static final int CAPACITY = 16 * 1024;

    private final DirectBuffers buffers;
    private ByteBuf own;
    /** The bytes before this index are written. */
    private int start;

    /** A connection that is opened next, with TLS or null for none. */
    public MemberConnection(CommandSender sender, Listener listener, TlsChannel tls) {
        super(sender, listener, tls);
        this.buffers = sender.fanOut.batch.buffers;
    }

    @Override
    void endSegment() {
        super.endSegment();
        free();
    }

    @Override
    boolean offer(InFlightRequest request, int tag, int bytes) {
        return reserve(bytes) && super.offer(request, tag, bytes);
    }

    @Override
    boolean offerWithWakeUp(LockRequest request, int tag, int bytes) {
        return reserve(bytes) && super.offerWithWakeUp(request, tag, bytes);
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
            fail("commands cannot be written: " + e);
            return false;
        }
    }

    @Override
    void copy(ByteBuf batch, int from, int to) {
        own.writeBytes(batch, from, to - from);
    }

    private void writeBatch() {
        if (own != null && own.writerIndex() > start) {
            int from = start;
            start = own.writerIndex();
            write(own.retainedSlice(from, start - from));
        }
    }

    @Override
    void writeShared(ByteBuf batch) {
        try {
            writeBatch();
        } catch (RuntimeException | Error e) {
            fail("commands cannot be written: " + e);
        }
    }

    @Override
    void skip(ByteBuf batch, int from, int to) {
        // It gets no slices.
    }

    @Override
    void writeBatchEnd(ByteBuf batch, int end) {
        // It has no batch either.
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
