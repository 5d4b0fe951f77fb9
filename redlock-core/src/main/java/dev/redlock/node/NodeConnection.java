package dev.redlock.node;

import dev.redlock.resp.RespProtocolException;
import dev.redlock.resp.netty.RespInboundHandler;
import dev.redlock.transport.TlsChannel;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelPipeline;

/**
 * One connection to a node: the requests in flight, and the bytes on their way to the socket. A new connection is a new
 * object, so a reply of an old stream cannot reach a new request. {@link ConnectionEvents} has its start and its end.
 *
 * @threading event-loop-confined
 */
class NodeConnection implements RespInboundHandler.Owner {

    /** The redirected command has its own reply. */
    private static final ValueRequest ASKING = new ValueRequest(reply -> {
    });
    private static final int NO_SEGMENT = -1;

    private final Arrivals arrivals;
    private final RequestRing ring;
    private final ReadBuffer readBuffer;
    private final ConnectionEvents events;
    private final WakeUps wakeUps = new WakeUps();
    private Channel channel;
    private boolean hasUnflushed;
    /** Where the bytes in the shared batch start that this node has not got; negative if it gets no lock command. */
    private int segmentStart = NO_SEGMENT;
    private long checkpointCount;
    private long checkpointNs;

    /** A connection that is opened next, with TLS or null for none. */
    NodeConnection(CommandSender sender, ConnectionEvents.Listener listener, NodeOptions options,
            DirectBuffers buffers, TlsChannel tls) {
        this.arrivals = sender.arrivals;
        this.readBuffer = new ReadBuffer(buffers);
        this.ring = new RequestRing(options.limits().inFlightMax());
        this.events = new ConnectionEvents(this, ring, sender, listener, tls);
    }

    void addTo(ChannelPipeline pipeline) {
        channel = pipeline.channel();
        channel.config().setRecvByteBufAllocator(readBuffer);
        events.addTo(pipeline);
    }

    ConnectionEvents events() {
        return events;
    }

    /** Counts the pushes of the server. */
    WakeUps wakeUps() {
        return wakeUps;
    }

    // ---- requests ---------------------------------------------------------------------------------------------------

    /**
     * Adds a request to those in flight; its bytes follow.
     *
     * @return false if there is no memory for it
     */
    final boolean add(InFlightRequest request, int tag) {
        try {
            ring.add(request, tag);
            return true;
        } catch (OutOfMemoryError e) {
            return false;
        }
    }

    /**
     * As {@link #add} for a lock request whose bytes end the shared batch. A congested connection does not accept it.
     *
     * @return false if the connection is congested, or there is no memory for it
     */
    boolean offer(InFlightRequest request, int tag, int bytes) {
        try {
            return channel.isWritable() && ring.offer(request, tag);
        } catch (OutOfMemoryError e) {
            return false;
        }
    }

    /** As above for a command whose refusal registers the connection for a push. The bytes are those of both. */
    boolean offerWithWakeUp(LockRequest request, int tag, int bytes) {
        return !isCongested() && addWithWakeUp(request, tag);
    }

    /**
     * Adds a lock request whose refusal registers the connection for a push. The bytes of both commands follow.
     *
     * @return false if there is no memory for it
     */
    final boolean addWithWakeUp(LockRequest request, int tag) {
        if (!add(WakeUpRequest.INSTANCE, 0)) {
            return false;
        }
        wakeUps.onRegister(request.keyCount());
        return addSecond(request, tag);
    }

    /**
     * Adds a request for a slot that the server imports. The bytes of {@code ASKING} and of the request follow.
     *
     * @return false if there is no memory for it
     */
    final boolean addWithAsking(InFlightRequest request, int tag) {
        return add(ASKING, 0) && addSecond(request, tag);
    }

    private boolean addSecond(InFlightRequest request, int tag) {
        if (!add(request, tag)) {
            // The reply to the first command would be assigned to another request.
            fail("no memory for a request");
            return false;
        }
        return true;
    }

    final boolean isCongested() {
        return ring.isFull() || !channel.isWritable();
    }

    /**
     * Whether a request has had no reply for a time. To be called at regular intervals: a call checks the requests of
     * an earlier one.
     *
     * @param timeoutNs the time; 0 starts anew
     */
    final boolean isUnanswered(long nowNs, long timeoutNs) {
        if (ring.removedCount() >= checkpointCount || timeoutNs == 0) {
            checkpointCount = ring.addedCount();
            checkpointNs = nowNs;
            return false;
        }
        return nowNs - checkpointNs >= timeoutNs;
    }

    /** Whether the server has replied to any request. */
    final boolean hasReplied() {
        return ring.removedCount() > 0;
    }

    /** Frees memory that was not needed since the last call. To be called at regular intervals. */
    final void trim() {
        ring.trim();
    }

    // ---- bytes ------------------------------------------------------------------------------------------------------

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

    // ---- the end ----------------------------------------------------------------------------------------------------

    /** Reports an error that requires the connection to close. */
    final void fail(String reason) {
        events.fail(reason);
    }

    final void close() {
        channel.close();
    }

    final void closeReadBuffer() {
        readBuffer.close();
    }

    /** The loop has terminated, maybe before the channel has reported its end. */
    final void end() {
        readBuffer.close();
        events.failAll();
    }

    @Override
    public final void onReadStart() {
        arrivals.isTimeOld = true;
    }

    @Override
    public final void onProtocolError(RespProtocolException e) {
        events.onProtocolError(e);
    }

    @Override
    public final void onVisitorError(RuntimeException e) {
        fail(e.getMessage());
        if (!(e instanceof IllegalStateException)) {
            throw e;
        }
    }
}
