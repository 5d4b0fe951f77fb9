package dev.redlock.resp.netty;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespParser;
import dev.redlock.resp.RespProtocolException;
import dev.redlock.resp.RespVisitor;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * Feeds the bytes of one channel to a {@link RespParser}. The visitor is called on the event loop, in the order of the
 * wire. Every buffer that arrives here ends here and is released; how bytes are kept from one read to the next is told
 * at {@link ReadAccumulator}.
 * <p>
 * On the first protocol error, or the first exception of the visitor, the owner is told once, the channel is closed and
 * whatever still arrives is dropped: a stream that is out of step must never answer the wrong request. A visitor that
 * closes the channel itself still gets the values of the read at hand; to get nothing more, it throws.
 * <p>
 * In steady state nothing is allocated on the heap.
 *
 * @threading event-loop-confined; one instance for one channel
 */
public final class RespInboundHandler extends ChannelInboundHandlerAdapter {
    private final RespParser parser;
    private final RespVisitor visitor;
    private final Owner owner;
    private final ReadAccumulator accumulator = new ReadAccumulator();
    /** Made once, so that no read makes a lambda. */
    private final Consumer<ByteBuf> parse = this::parse;

    private boolean isReading;
    private boolean isDone;

    /**
     * A handler of what a server sends.
     *
     * @param visitor who is told the values
     * @param limits  what to accept at most
     * @param owner   who is told about reads and failures
     */
    public RespInboundHandler(RespVisitor visitor, RespLimits limits, Owner owner) {
        this(RespParser.forReplies(limits), visitor, owner);
    }

    /**
     * A handler with a parser of the caller's choice, for example {@link RespParser#forRequests} in a server.
     *
     * @param parser  new; this handler's alone from here on
     * @param visitor who is told the values
     * @param owner   who is told about reads and failures
     */
    public RespInboundHandler(RespParser parser, RespVisitor visitor, Owner owner) {
        this.parser = Objects.requireNonNull(parser, "parser");
        this.visitor = Objects.requireNonNull(visitor, "visitor");
        this.owner = Objects.requireNonNull(owner, "owner");
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
        if (!(msg instanceof ByteBuf in)) {
            ctx.fireChannelRead(msg);
            return;
        }
        try {
            if (!isDone) {
                read(ctx, in);
            }
        } finally {
            in.release();
        }
    }

    private void read(ChannelHandlerContext ctx, ByteBuf in) {
        isReading = true;
        boolean isRead = false;
        try {
            owner.onReadStart();
            accumulator.read(ctx.alloc(), in, parse);
            isRead = true;
        } catch (RespProtocolException e) {
            isDone = true;
            owner.onProtocolError(e);
        } catch (RuntimeException e) {
            isDone = true;
            owner.onVisitorError(e);
        } finally {
            isReading = false;
            isDone |= !isRead;
            endRead(ctx);
        }
    }

    /**
     * Also after an {@link Error}, which is nobody's to catch: the parser has failed then, or bytes could not be kept
     * for the next read. Nothing else knows.
     */
    private void endRead(ChannelHandlerContext ctx) {
        isDone |= parser.hasFailed();
        if (isDone) {
            accumulator.release();
            ctx.close();
        }
    }

    /** A visitor may have closed the channel a moment ago; then the rest of the bytes is nobody's. */
    private void parse(ByteBuf in) {
        if (isDone) {
            in.skipBytes(in.readableBytes());
        } else {
            parser.parse(in, visitor);
        }
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        owner.onReadComplete();
        ctx.fireChannelReadComplete();
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        end();
        ctx.fireChannelInactive();
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        end();
    }

    /** Also called from inside a read, when the visitor closes the channel: then the read releases, at its end. */
    private void end() {
        isDone = true;
        if (!isReading) {
            accumulator.release();
        }
    }

    /**
     * Whether the channel's bytes so far end with the end of a value. When the channel closes and this is false, the
     * peer left in the middle of a reply.
     *
     * @return true if nothing is half read
     */
    public boolean isBetweenReplies() {
        return parser.isBetweenReplies() && accumulator.keptBytes() == 0;
    }

    /**
     * The side that owns the connection.
     *
     * @threading event-loop-confined; called on the channel's event loop
     */
    public interface Owner {
        /** Bytes arrived and are about to be parsed: a good moment to read the clock once for all of them. */
        default void onReadStart() {
        }

        /** All that the kernel had was read and parsed: a good moment to write what the replies asked for. */
        default void onReadComplete() {
        }

        /**
         * The peer broke the protocol. Told once; the channel is closing and nothing more will be delivered.
         *
         * @param e the rule, the byte and the offset
         */
        void onProtocolError(RespProtocolException e);

        /**
         * The visitor threw. Told once; the channel is closing and nothing more will be delivered. Rethrown unless
         * overridden, so that it reaches the pipeline's end and is logged there.
         *
         * @param e what it threw
         */
        default void onVisitorError(RuntimeException e) {
            throw e;
        }
    }
}
