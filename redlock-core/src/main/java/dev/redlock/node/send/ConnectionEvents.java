package dev.redlock.node.send;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespProtocolException;
import dev.redlock.resp.netty.RespInboundHandler;
import dev.redlock.telemetry.Log;
import dev.redlock.transport.TlsChannel;
import dev.redlock.transport.TlsFailure;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import java.util.concurrent.RejectedExecutionException;

/**
 * The start and the end of a {@link NodeConnection}: its pipeline, and the errors and the close of its channel.
 *
 * @threading event-loop-confined
 */
final class ConnectionEvents extends ChannelInboundHandlerAdapter {

    /** Replies to lock commands are integers and those of the handshake a few KiB; a larger reply is an error. */
    private static final RespLimits LIMITS = RespLimits.defaults()
            .bulkLengthMax(1 << 20)
            .replyBytesMax(4 << 20)
            // A map of a cluster has up to 16384 ranges.
            .elementCountMax(KeySlot.COUNT)
            .depthMax(16);

    /** The first byte of the records that a server with TLS may send first. */
    private static final int TLS_ALERT = 21;
    private static final int TLS_HANDSHAKE = 22;

    private final NodeConnection connection;
    private final RequestRing ring;
    private final CommandSender sender;
    private final NodeConnection.Listener listener;
    /** The TLS of the connection; null for none. */
    final TlsChannel tls;
    /** Why the connection ends soon; null if it does not. */
    private String endReason;

    ConnectionEvents(NodeConnection connection, RequestRing ring, CommandSender sender,
            NodeConnection.Listener listener, TlsChannel tls) {
        this.connection = connection;
        this.ring = ring;
        this.sender = sender;
        this.listener = listener;
        this.tls = tls;
    }

    void addTo(ChannelPipeline pipeline) {
        if (tls != null) {
            tls.addTo(pipeline.channel());
        }
        pipeline.addLast(new RespInboundHandler(new ShortReplies(ring, sender), LIMITS, connection), this);
    }

    /** Reports an error that requires the connection to close. */
    void fail(String reason) {
        listener.onConnectionError(connection, reason);
    }

    /** Ends the connection in a task, after the replies that were read with the present one. */
    void endAfterRead(String reason) {
        if (endReason != null) {
            return;
        }
        endReason = reason;
        try {
            connection.channel.eventLoop().execute(() -> fail(reason));
        } catch (RejectedExecutionException e) {
            // The loop ends, and the connection with it.
        }
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
            release.owner.onUnknown(release);
        } else if (request instanceof ValueRequest valueRequest) {
            valueRequest.onValue(null);
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        connection.closeReadBuffer();
        listener.onDisconnected(connection);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        if (tls == null) {
            listener.onConnectionBroken(connection, "connection failed: " + cause);
            return;
        }
        TlsFailure failure = tls.failureOf(cause, false);
        if (failure.isPermanent()) {
            listener.onConnectionRejected(connection, failure.reason());
        } else {
            listener.onConnectionBroken(connection, failure.reason());
        }
    }

    void onProtocolError(RespProtocolException e) {
        if (e.offset() == 0 && !connection.hasReplied()) {
            listener.onConnectionRejected(connection, otherProtocolOf(e));
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
}
