package dev.redlock.node.send;

import dev.redlock.resp.netty.RespInboundHandler;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;

/**
 * The part of a connection that the commands of locks pass: the requests in flight, and the bytes on their way to the
 * socket.
 *
 * @threading event-loop-confined
 */
abstract class LockConnection implements RespInboundHandler.Owner {

    private static final int NO_SEGMENT = -1;

    final RequestRing ring;
    Channel channel;
    private final Arrivals arrivals;
    private boolean hasUnflushed;
    /** Where the bytes in the shared batch start that this node has not got; negative if it gets no lock command. */
    private int segmentStart = NO_SEGMENT;

    LockConnection(RequestRing ring, Arrivals arrivals) {
        this.ring = ring;
        this.arrivals = arrivals;
    }

    /** Adds a lock request, whose bytes end the shared batch; false if the connection is congested or lacks memory. */
    boolean offer(InFlightRequest request, int tag, int bytes) {
        try {
            return channel.isWritable() && ring.offer(request, tag);
        } catch (OutOfMemoryError e) {
            return false;
        }
    }

    /** Passes bytes to the channel, which releases them. */
    final void write(ByteBuf bytes) {
        hasUnflushed = true;
        channel.write(bytes, channel.voidPromise());
    }

    void flush() {
        if (hasUnflushed) {
            hasUnflushed = false;
            channel.flush();
        }
    }

    /** The node gets lock commands from now on, from this index of the shared batch. */
    final void startSegment(int index) {
        segmentStart = index;
    }

    /** The node gets no lock command any more. */
    void endSegment() {
        segmentStart = NO_SEGMENT;
    }

    /** Writes the node's part of the shared batch so far; null if there is no batch. */
    void writeShared(ByteBuf batch) {
        if (batch != null) {
            skip(batch, batch.writerIndex(), batch.writerIndex());
        }
    }

    /** Leaves a range of the shared batch out: the bytes before it are written. */
    void skip(ByteBuf batch, int start, int end) {
        if (segmentStart >= 0) {
            writeBatchEnd(batch, start);
            segmentStart = end;
        }
    }

    /** Writes the node's bytes of the batch, up to an index; the next batch starts at 0. */
    void writeBatchEnd(ByteBuf batch, int end) {
        int start = segmentStart;
        if (start < 0) {
            return;
        }
        segmentStart = 0;
        if (end > start) {
            try {
                hasUnflushed = true;
                channel.write(batch.retainedSlice(start, end - start), channel.voidPromise());
            } catch (RuntimeException | Error e) {
                // The requests are in the ring already, so a connection that cannot write their bytes must close.
                fail("commands cannot be written: " + e);
            }
        }
    }

    /** Copies a command that was offered, if the node does not get a slice of the shared batch. */
    void copy(ByteBuf batch, int from, int to) {
        // It gets one.
    }

    /** Reports an error that requires the connection to close. */
    abstract void fail(String reason);

    @Override
    public final void onReadStart() {
        arrivals.isTimeOld = true;
    }
}
