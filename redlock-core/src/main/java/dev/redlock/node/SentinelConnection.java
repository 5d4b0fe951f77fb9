package dev.redlock.node;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespProtocolException;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.RespValueReader;
import dev.redlock.resp.SafeText;
import dev.redlock.resp.netty.RespInboundHandler;
import dev.redlock.transport.OpenableConnection;
import dev.redlock.transport.TlsChannel;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;

/**
 * One connection to a Sentinel, in RESP2, which all versions have. Replies belong to the oldest command without one;
 * messages of subscriptions come between them.
 *
 * @threading event-loop-confined
 */
final class SentinelConnection extends ChannelInboundHandlerAdapter
        implements
            OpenableConnection,
            RespInboundHandler.Owner {

    /** An answer is a host and a port, and a message has two of them. */
    private static final RespLimits LIMITS = RespLimits.defaults()
            .lineLengthMax(4_096)
            .bulkLengthMax(4_096)
            .replyBytesMax(16_384)
            .elementCountMax(16)
            .depthMax(2);
    private static final int MESSAGE_LENGTH = 3;

    /**
     * Gets what arrives.
     *
     * @threading event-loop-confined
     */
    interface Listener {

        /** The message of a subscription. */
        void onMessage(String text);

        /** The connection has ended. No call follows. */
        void onClosed(SentinelConnection connection, String reason);
    }

    private final TlsChannel tls;
    private final Listener listener;
    private final Deque<Consumer<RespValue>> handlers = new ArrayDeque<>();
    private Channel channel;
    private boolean isEnded;

    SentinelConnection(TlsChannel tls, Listener listener) {
        this.tls = tls;
        this.listener = listener;
    }

    @Override
    public TlsChannel tls() {
        return tls;
    }

    @Override
    public void addTo(ChannelPipeline pipeline) {
        channel = pipeline.channel();
        if (tls != null) {
            tls.addTo(channel);
        }
        pipeline.addLast(new RespInboundHandler(new RespValueReader(this::onValue), LIMITS, this), this);
    }

    /** Sends a command, without a flush; null means that there was no memory for it. */
    void send(ByteBuf command, Consumer<RespValue> onReply) {
        if (command == null) {
            end("no memory for a command");
        } else if (isEnded) {
            command.release();
        } else {
            handlers.add(onReply);
            channel.write(command, channel.voidPromise());
        }
    }

    void flush() {
        channel.flush();
    }

    /** Closes the connection without a report. */
    void close() {
        isEnded = true;
        handlers.clear();
        if (channel != null) {
            channel.close();
        }
    }

    private void end(String reason) {
        if (!isEnded) {
            close();
            listener.onClosed(this, reason);
        }
    }

    private void onValue(RespValue value) {
        if (isEnded) {
            return;
        }
        if (isMessage(value)) {
            listener.onMessage(ServerReply.textOf(value.elements().get(2)));
            return;
        }
        Consumer<RespValue> handler = handlers.poll();
        if (handler == null) {
            end("it replies without a question: " + SafeText.of(value.type().toString()));
        } else {
            handler.accept(value);
        }
    }

    private static boolean isMessage(RespValue value) {
        return value.type().isAggregate() && !value.isNull() && value.elements().size() == MESSAGE_LENGTH
                && ServerReply.textOf(value.elements().get(0)).equals("message");
    }

    @Override
    public void onProtocolError(RespProtocolException e) {
        end("malformed reply: " + e.getMessage());
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        end("it closed the connection");
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        end(tls == null ? "connection failed: " + cause : tls.failureOf(cause, false).reason());
        ctx.close();
    }
}
