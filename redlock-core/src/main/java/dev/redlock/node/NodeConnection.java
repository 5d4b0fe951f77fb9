package dev.redlock.node;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespProtocolException;
import dev.redlock.resp.netty.RespInboundHandler;
import dev.redlock.transport.TlsChannel;
import dev.redlock.transport.TlsFailure;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;

/**
 * One connection to a node, from its opening to its end, with the requests in flight. A new connection is a new object,
 * so a reply of an old stream cannot reach a new request.
 *
 * @threading event-loop-confined
 */
final class NodeConnection extends ChannelInboundHandlerAdapter implements RespInboundHandler.Owner {

    /** Replies to lock commands are integers and those of the handshake a few KiB; a larger reply is an error. */
    private static final RespLimits LIMITS = RespLimits.defaults()
            .bulkLengthMax(1 << 20)
            .replyBytesMax(4 << 20)
            // A map of a cluster has up to 16384 ranges.
            .elementCountMax(KeySlot.COUNT)
            .depthMax(16);

    /** The redirected command has its own reply. */
    private static final ValueRequest ASKING = new ValueRequest(reply -> {
    });

    /** The first byte of the records that a server with TLS may send first. */
    private static final int TLS_ALERT = 21;
    private static final int TLS_HANDSHAKE = 22;

    /**
     * Gets the end of the connection.
     *
     * @threading event-loop-confined
     */
    interface Listener {

        /** The connection must close, for a reason. */
        void onConnectionError(NodeConnection connection, String reason);

        /** The connection has failed without a request of the client. */
        void onConnectionBroken(NodeConnection connection, String reason);

        /** The connection must close, and only a person can mend it. */
        void onConnectionRejected(NodeConnection connection, String reason);

        /** The connection is closed. */
        void onDisconnected(NodeConnection connection);
    }

    private final CommandSender sender;
    private final Listener listener;
    private final NodeListener nodeListener;
    private final RequestRing ring;
    private final ReadBuffer readBuffer;
    private final ReplyReader replyReader;
    private final TlsChannel tls;
    private Channel channel;
    private final WakeUps wakeUps = new WakeUps();
    private boolean hasUnflushed;
    private long checkpointCount;
    private long checkpointNs;

    /** A connection that is opened next, with TLS or null for none. */
    NodeConnection(CommandSender sender, Listener listener, NodeOptions options,
            DirectBuffers buffers, TlsChannel tls) {
        this.sender = sender;
        this.listener = listener;
        this.nodeListener = sender.listener();
        this.readBuffer = new ReadBuffer(buffers);
        this.ring = new RequestRing(options.inFlightMax());
        this.replyReader = new ReplyReader(ring, sender);
        this.tls = tls;
    }

    void addTo(ChannelPipeline pipeline) {
        channel = pipeline.channel();
        channel.config().setRecvByteBufAllocator(readBuffer);
        if (tls != null) {
            tls.addTo(channel);
        }
        pipeline.addLast(new RespInboundHandler(replyReader, LIMITS, this), this);
    }

    /** The TLS of the connection; null for none. */
    TlsChannel tls() {
        return tls;
    }

    // ---- sending ----------------------------------------------------------------------------------------------------

    /**
     * Adds a request to those in flight; its bytes follow.
     *
     * @return false if there is no memory for it
     */
    boolean add(InFlightRequest request, int tag) {
        try {
            ring.add(request, tag);
            return true;
        } catch (OutOfMemoryError e) {
            return false;
        }
    }

    /**
     * As {@link #add} for a lock request, which a congested connection does not accept.
     *
     * @return false if the connection is congested, or there is no memory for it
     */
    boolean offer(InFlightRequest request, int tag) {
        try {
            return channel.isWritable() && ring.offer(request, tag);
        } catch (OutOfMemoryError e) {
            return false;
        }
    }

    /**
     * Adds a lock request whose refusal registers the connection for a push. The bytes of both commands follow.
     *
     * @return false if there is no memory for it
     */
    boolean addWithWakeUp(InFlightRequest request, int tag, int keyCount) {
        if (!add(WakeUpRequest.INSTANCE, 0)) {
            return false;
        }
        wakeUps.onRegister(keyCount);
        return addSecond(request, tag);
    }

    /**
     * Adds a request for a slot that the server imports. The bytes of {@code ASKING} and of the request follow.
     *
     * @return false if there is no memory for it
     */
    boolean addWithAsking(InFlightRequest request, int tag) {
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

    /** Counts a push about a key; returns false if the server has sent more than the client registered for. */
    boolean onPush(long nowNs) {
        return wakeUps.onPush(nowNs);
    }

    /** Counts a push about no key; returns false if the server has sent too many. */
    boolean onOtherPush(long nowNs, int weight) {
        return wakeUps.onOtherPush(nowNs, weight);
    }

    /** Passes bytes to the channel, which releases them. */
    void write(ByteBuf bytes) {
        hasUnflushed = true;
        channel.write(bytes, channel.voidPromise());
    }

    void flush() {
        if (hasUnflushed) {
            hasUnflushed = false;
            channel.flush();
        }
    }

    boolean isCongested() {
        return ring.isFull() || !channel.isWritable();
    }

    /**
     * Whether a request has had no reply for a time. To be called at regular intervals: a call checks the requests of
     * an earlier one.
     *
     * @param timeoutNs the time; 0 starts anew
     */
    boolean isUnanswered(long nowNs, long timeoutNs) {
        if (ring.removedCount() >= checkpointCount || timeoutNs == 0) {
            checkpointCount = ring.addedCount();
            checkpointNs = nowNs;
            return false;
        }
        return nowNs - checkpointNs >= timeoutNs;
    }

    /** Whether the server has replied to any request. */
    boolean hasReplied() {
        return ring.removedCount() > 0;
    }

    /** Frees memory that was not needed since the last call. To be called at regular intervals. */
    void trim() {
        ring.trim();
    }

    void close() {
        channel.close();
    }

    /** Reports an error that requires the connection to close. */
    void fail(String reason) {
        listener.onConnectionError(this, reason);
    }

    /** The connection is closed: the outcome of each request in flight is unknown. */
    void failAll() {
        while (!ring.isEmpty()) {
            InFlightRequest request = ring.head();
            int tag = ring.take();
            try {
                fail(request, tag);
            } catch (RuntimeException | Error e) {
                // The other requests need their outcome.
                Log.error("a request threw at the end of its connection; the client continues", e);
            }
        }
    }

    private void fail(InFlightRequest request, int tag) {
        if (request instanceof LockRequest lockRequest) {
            sender.onUnknown(lockRequest, tag);
        } else if (request instanceof CommandBatch batch) {
            sender.onBatchUnknown(batch);
        } else if (request instanceof UndeliveredRelease release) {
            release.onUnknown();
        } else if (request instanceof ValueRequest valueRequest) {
            valueRequest.onValue(null);
        }
    }

    /** The loop has terminated, maybe before {@link #channelInactive}. */
    void end() {
        readBuffer.close();
        failAll();
    }

    // ---- the channel ------------------------------------------------------------------------------------------------

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        readBuffer.close();
        listener.onDisconnected(this);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        if (tls == null) {
            listener.onConnectionBroken(this, "connection failed: " + cause);
            return;
        }
        TlsFailure failure = tls.failureOf(cause, false);
        if (failure.isPermanent()) {
            listener.onConnectionRejected(this, failure.reason());
        } else {
            listener.onConnectionBroken(this, failure.reason());
        }
    }

    @Override
    public void onReadStart() {
        nodeListener.onReadStart();
    }

    @Override
    public void onProtocolError(RespProtocolException e) {
        if (e.offset() == 0 && !hasReplied()) {
            listener.onConnectionRejected(this, otherProtocolOf(e));
        } else {
            fail("malformed reply: " + e.getMessage());
        }
    }

    /** The first byte of the server is none of a reply: a person has to correct the address. */
    private String otherProtocolOf(RespProtocolException e) {
        return switch (e.byteSeen()) {
            case TLS_ALERT, TLS_HANDSHAKE -> "the server replies with TLS: write rediss:// in the address of the node";
            case 'H' -> "the server replies with HTTP: write the host and the port of Redis in the address of the node";
            case 'S' -> "the server replies with SSH: write the host and the port of Redis in the address of the node";
            default -> "the server does not speak the protocol of Redis: check the host and the port in the address of"
                    + " the node; malformed reply: " + e.getMessage();
        };
    }

    @Override
    public void onVisitorError(RuntimeException e) {
        fail(e.getMessage());
        if (!(e instanceof IllegalStateException)) {
            throw e;
        }
    }
}
