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
 * A Netty handler that parses the bytes of one channel and calls a {@link RespVisitor} on the event loop, in the order
 * of the wire.
 * <ul>
 * <li>The handler releases every buffer that it receives, and keeps the unparsed end of a read until the next read.
 * Other messages pass to the next handler.
 * <li>The handler notifies the {@link Owner} of the first protocol error or the first exception of the visitor. Then it
 * closes the channel and drops all further input, so that no reply completes the wrong request.
 * <li>A visitor that closes the channel still receives the remaining values of the current read. To receive none, it
 * throws.
 * <li>Parsing allocates nothing on the heap in steady state.
 * </ul>
 *
 * @threading event-loop-confined; one instance for one channel
 */
public final class RespInboundHandler extends ChannelInboundHandlerAdapter {
    private final RespParser parser;
    private final RespVisitor visitor;
    private final Owner owner;
    private final ReadAccumulator accumulator = new ReadAccumulator();
    /** A field, so that a read allocates no lambda. */
    private final Consumer<ByteBuf> parse = this::parse;

    /** The last read ended within a value, whose first bytes the accumulator has. */
    private boolean isValueOpen;
    private boolean isReading;
    private boolean isStopped;

    /**
     * Creates a handler for replies and pushes of a server.
     *
     * @param visitor receives the values
     * @param limits  upper bounds for the input
     * @param owner   receives notifications of reads and failures
     */
    public RespInboundHandler(RespVisitor visitor, RespLimits limits, Owner owner) {
        this(RespParser.forReplies(limits), visitor, owner);
    }

    /**
     * Creates a handler with a given parser, for example {@link RespParser#forRequests} in a server.
     *
     * @param parser  a new parser, transferred; only this handler uses it
     * @param visitor receives the values
     * @param owner   receives notifications of reads and failures
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
            if (!isStopped) {
                read(ctx, in);
            }
        } finally {
            in.release();
        }
    }

    private void read(ChannelHandlerContext ctx, ByteBuf in) {
        isReading = true;
        boolean isParsed = false;
        try {
            owner.onReadStart();
            if (isValueOpen) {
                accumulator.read(ctx.alloc(), in, parse);
                isValueOpen = accumulator.pendingBytes() > 0;
            } else {
                parser.parse(in, visitor);
                if (in.isReadable()) {
                    accumulator.append(ctx.alloc(), in, in.readableBytes());
                    isValueOpen = true;
                }
            }
            isParsed = true;
        } catch (RespProtocolException e) {
            isStopped = true;
            owner.onProtocolError(e);
        } catch (RuntimeException e) {
            isStopped = true;
            owner.onVisitorError(e);
        } finally {
            isReading = false;
            // After an Error too: the parser has failed, or the unparsed end of the read is lost.
            isStopped |= !isParsed;
            if (isStopped) {
                accumulator.release();
                ctx.close();
            }
        }
    }

    /** The visitor may have closed the channel earlier in this read. */
    private void parse(ByteBuf in) {
        if (isStopped) {
            in.skipBytes(in.readableBytes());
        } else {
            parser.parse(in, visitor);
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        stop();
        ctx.fireChannelInactive();
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        stop();
    }

    /** Also runs within a read, if the visitor closes the channel; then {@link #read} releases the buffer. */
    private void stop() {
        isStopped = true;
        if (!isReading) {
            accumulator.release();
        }
    }

    /**
     * Whether the bytes received so far end with a complete top-level value. If this is false when the channel closes,
     * the last reply is incomplete.
     *
     * @return false inside a value, between an attribute and its value, and after the parser has failed
     */
    public boolean isBetweenReplies() {
        return parser.isBetweenReplies() && accumulator.pendingBytes() == 0;
    }

    /**
     * Receives the events of a connection that are not values.
     *
     * @threading event-loop-confined; called on the channel's event loop
     */
    public interface Owner {
        /** Called before each read is parsed, for example to read the clock once for all its values. */
        default void onReadStart() {
        }

        /**
         * Called when the peer violates the protocol or a limit, at most once. The handler closes the channel after the
         * call and delivers nothing more.
         *
         * @param e the rule, the byte and the offset
         */
        void onProtocolError(RespProtocolException e);

        /**
         * Called when the visitor throws, at most once. The handler closes the channel after the call and delivers
         * nothing more. Throws the exception unless overridden, so that Netty logs it at the end of the pipeline.
         *
         * @param e the exception of the visitor
         */
        default void onVisitorError(RuntimeException e) {
            throw e;
        }
    }
}
