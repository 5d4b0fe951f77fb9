package dev.redlock.node;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespProtocolException;
import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.RespValueReader;
import dev.redlock.resp.RespVisitor;
import dev.redlock.resp.netty.RespInboundHandler;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;

/**
 * One connection to a node, from its opening to its end: what was sent and is not answered, and who each reply belongs
 * to. A new connection is a new object, so nothing of an old stream can answer a new request.
 *
 * <p>The hot reply is one integer at the top level; anything else goes to a tree reader. A reply of the wrong kind, or
 * one that nobody asked for, means that the stream is out of step: the connection closes and every open request is
 * unknown.
 *
 * @threading event-loop-confined
 */
final class NodeConnection extends ChannelInboundHandlerAdapter implements RespVisitor, RespInboundHandler.Owner {

    /**
     * Replies of locks are integers, those of the handshake a few KiB: more is a peer that is not what it should be.
     */
    private static final RespLimits LIMITS = RespLimits.defaults()
            .bulkLengthMax(1 << 20)
            .replyBytesMax(4 << 20)
            .elementCountMax(4096)
            .depthMax(16);

    /**
     * What the current reply has turned out to be.
     *
     * @threading immutable
     */
    private enum Seen {
        NOTHING, INTEGER, OK, NULL, ERROR
    }

    private final Node node;
    private final RequestRing ring;
    private final ReadBuffer readBuffer;
    private final RespValueReader valueReader = new RespValueReader(new ValueSink());
    private Channel channel;
    private Seen seen = Seen.NOTHING;
    private long integer;
    private VoteFailure failure;
    private String errorCode = "";
    private RespValue value;
    private int depth;
    private boolean isBatchReply;
    private int elementIndex;
    private long deletedMask;
    private boolean isWriting;
    private long watchedCount;
    private long watchedSinceNs;

    NodeConnection(final Node node, final NodeOptions options, final DirectBuffers buffers) {
        this.node = node;
        this.readBuffer = new ReadBuffer(buffers);
        this.ring = new RequestRing(options.inFlightMax());
    }

    void addTo(final ChannelPipeline pipeline) {
        channel = pipeline.channel();
        channel.config().setRecvByteBufAllocator(readBuffer);
        pipeline.addLast(new RespInboundHandler(this, LIMITS, this), this);
    }

    // ---- sending ----------------------------------------------------------------------------------------------------

    /**
     * Notes a request whose bytes follow.
     *
     * @return false if there is no memory to note it
     */
    boolean add(final Object request, final int tag) {
        try {
            ring.add(request, tag);
            return true;
        } catch (final OutOfMemoryError e) {
            return false;
        }
    }

    /** Hands bytes to the channel, which releases them. */
    void write(final ByteBuf bytes) {
        isWriting = true;
        channel.write(bytes, channel.voidPromise());
    }

    void flush() {
        if (isWriting) {
            isWriting = false;
            channel.flush();
        }
    }

    boolean isCongested() {
        return ring.isFull() || !channel.isWritable();
    }

    /**
     * Looks whether answers still come.
     *
     * @return true if what was the oldest request one timeout ago is unanswered still
     */
    boolean watch(final long nowNs, final long timeoutNs) {
        if (ring.removedCount() >= watchedCount || timeoutNs == 0) {
            watchedCount = ring.addedCount();
            watchedSinceNs = nowNs;
            return false;
        }
        return nowNs - watchedSinceNs >= timeoutNs;
    }

    /** Gives up room that was not needed since the last call; to be called at regular times. */
    void trim() {
        ring.trim();
    }

    void close() {
        channel.close();
    }

    /** The connection is gone: tells every open request. Requests that this adds elsewhere do not come back here. */
    void failAll() {
        while (!ring.isEmpty()) {
            final Object request = ring.head();
            final int tag = ring.headTag();
            ring.removeHead();
            try {
                fail(request, tag);
            } catch (final RuntimeException | Error e) {
                // The others have to be answered all the same.
                Log.error("a request threw at the end of its connection; the client goes on", e);
            }
        }
    }

    private void fail(final Object request, final int tag) {
        if (request instanceof LockRequest lockRequest) {
            node.onUnknown(lockRequest, tag);
        } else if (request instanceof ReleaseBatch releases) {
            node.onBatchUnknown(releases);
        } else {
            ((ValueRequest) request).onValue(null);
        }
    }

    /** Its loop has ended, which may be before {@link #channelInactive} is called. */
    void end() {
        readBuffer.close();
        failAll();
    }

    // ---- the channel ------------------------------------------------------------------------------------------------

    @Override
    public void channelInactive(final ChannelHandlerContext ctx) {
        readBuffer.close();
        node.onDisconnected(this);
    }

    @Override
    public void exceptionCaught(final ChannelHandlerContext ctx, final Throwable cause) {
        node.onConnectionError(this, "its connection failed: " + cause);
    }

    @Override
    public void onProtocolError(final RespProtocolException e) {
        node.onConnectionError(this, "it broke the protocol: " + e.getMessage());
    }

    // ---- replies ----------------------------------------------------------------------------------------------------

    @Override
    public void onInteger(final long number) {
        if (depth == 0 && ring.head() instanceof LockRequest) {
            seen = Seen.INTEGER;
            integer = number;
        } else if (isBatchReply && depth == 1) {
            // One release of a batch is answered.
            deletedMask |= number == 1 ? 1L << elementIndex : 0;
            elementIndex++;
        } else {
            valueReader.onInteger(number);
        }
    }

    private boolean isLockAnswered() {
        return depth == 0 && (ring.head() instanceof LockRequest || ring.head() instanceof ReleaseBatch);
    }

    private static IllegalStateException outOfStep() {
        return new IllegalStateException("it answered a lock command with something that cannot be its answer");
    }

    @Override
    public void onSimpleError(final ByteBuf buf, final int index, final int length) {
        if (isLockAnswered()) {
            seen = Seen.ERROR;
            failure = VoteFailure.ofErrorReply(buf, index, length);
            errorCode = failure == VoteFailure.ERROR
                    ? VoteFailure.codeOf(buf, index, length, errorCode)
                    : failure.text();
        } else {
            valueReader.onSimpleError(buf, index, length);
        }
    }

    @Override
    public void onReplyEnd() {
        final Object request = ring.head();
        if (request instanceof LockRequest lockRequest) {
            answer(lockRequest);
        } else if (request instanceof ReleaseBatch releases) {
            answer(releases);
        } else if (request instanceof ValueRequest valueRequest) {
            valueReader.onReplyEnd();
            ring.removeHead();
            final RespValue reply = value;
            value = null;
            valueRequest.onValue(reply);
        } else {
            throw new IllegalStateException("it sent a reply that nothing asked for");
        }
    }

    private void answer(final LockRequest request) {
        final int tag = ring.headTag();
        final Seen reply = seen;
        seen = Seen.NOTHING;
        if (reply == Seen.ERROR) {
            ring.removeHead();
            node.onError(request, tag, failure, errorCode);
        } else if (RequestRing.encodingOf(tag).isAnsweredByOk()) {
            if (reply != Seen.OK && reply != Seen.NULL) {
                throw outOfStep();
            }
            ring.removeHead();
            node.onSetReply(request, tag, reply == Seen.OK);
        } else {
            if (reply != Seen.INTEGER) {
                throw outOfStep();
            }
            ring.removeHead();
            node.onReply(request, tag, integer);
        }
    }

    private void answer(final ReleaseBatch releases) {
        final int tag = ring.headTag();
        final Seen reply = seen;
        final long deleted = deletedMask;
        final int count = elementIndex;
        seen = Seen.NOTHING;
        deletedMask = 0;
        elementIndex = 0;
        if (reply == Seen.ERROR) {
            ring.removeHead();
            node.onBatchError(releases, tag, failure, errorCode);
        } else if (count == releases.length()) {
            ring.removeHead();
            node.onBatchReply(releases, deleted);
        } else {
            throw outOfStep();
        }
    }

    @Override
    public void onVisitorError(final RuntimeException e) {
        node.onConnectionError(this, e.getMessage());
        if (!(e instanceof IllegalStateException)) {
            throw e;
        }
    }

    @Override
    public void onPushEnd() {
        // Nothing is subscribed to; a push is not a reply and moves no queue.
        valueReader.onPushEnd();
        value = null;
    }

    @Override
    public void onAggregateStart(final RespType type, final int elementCount) {
        if (depth == 0 && type == RespType.ARRAY && ring.head() instanceof ReleaseBatch releases
                && elementCount == releases.length()) {
            isBatchReply = true;
        } else {
            valueReader.onAggregateStart(type, elementCount);
        }
        depth++;
    }

    @Override
    public void onAggregateEnd(final RespType type) {
        depth--;
        if (depth == 0 && isBatchReply) {
            isBatchReply = false;
        } else {
            valueReader.onAggregateEnd(type);
        }
    }

    @Override
    public void onSimpleString(final ByteBuf buf, final int index, final int length) {
        if (depth == 0 && ring.head() instanceof LockRequest && isOk(buf, index, length)) {
            seen = Seen.OK;
        } else {
            valueReader.onSimpleString(buf, index, length);
        }
    }

    private static boolean isOk(final ByteBuf buf, final int index, final int length) {
        return length == 2 && buf.getByte(index) == 'O' && buf.getByte(index + 1) == 'K';
    }

    @Override
    public void onBulkString(final ByteBuf buf, final int index, final int length) {
        valueReader.onBulkString(buf, index, length);
    }

    @Override
    public void onBulkError(final ByteBuf buf, final int index, final int length) {
        if (isLockAnswered()) {
            onSimpleError(buf, index, length);
        } else {
            valueReader.onBulkError(buf, index, length);
        }
    }

    @Override
    public void onVerbatimString(final int format, final ByteBuf buf, final int index, final int length) {
        valueReader.onVerbatimString(format, buf, index, length);
    }

    @Override
    public void onNull(final RespType type) {
        if (depth == 0 && ring.head() instanceof LockRequest) {
            seen = Seen.NULL;
        } else {
            valueReader.onNull(type);
        }
    }

    @Override
    public void onBoolean(final boolean bool) {
        valueReader.onBoolean(bool);
    }

    @Override
    public void onDouble(final double number) {
        valueReader.onDouble(number);
    }

    @Override
    public void onBigNumber(final ByteBuf buf, final int index, final int length) {
        valueReader.onBigNumber(buf, index, length);
    }

    /**
     * Keeps the value that the tree reader has completed.
     *
     * @threading event-loop-confined
     */
    private final class ValueSink implements RespValueReader.Sink {
        @Override
        public void onReply(final RespValue reply) {
            value = reply;
        }
    }
}
