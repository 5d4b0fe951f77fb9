package dev.redlock.node.send;

import dev.redlock.resp.RespProtocolException;
import dev.redlock.transport.NodeAddress;
import dev.redlock.transport.OpenableConnection;
import dev.redlock.transport.TlsChannel;
import io.netty.channel.ChannelPipeline;

/**
 * One connection to a node. A new connection is a new object, so a reply of an old stream cannot reach a new request.
 * {@link ConnectionEvents} has its start and its end.
 *
 * @threading event-loop-confined
 */
public class NodeConnection extends LockConnection implements OpenableConnection {

    /** The redirected command has its own reply. */
    private static final ValueRequest ASKING = new ValueRequest(reply -> {
    });

    /**
     * Gets the end of the connection.
     *
     * @threading event-loop-confined
     */
    public interface Listener {

        /** The connection must close, for a reason. */
        void onConnectionError(NodeConnection connection, String reason);

        /** The connection has failed without a request of the client. */
        void onConnectionBroken(NodeConnection connection, String reason);

        /** The connection must close, and only a person can mend it. */
        void onConnectionRejected(NodeConnection connection, String reason);

        /** The connection is closed. */
        void onDisconnected(NodeConnection connection);
    }

    private final ReadBuffer readBuffer;
    private final ConnectionEvents events;
    /** Counts the pushes of the server. */
    final WakeUps wakeUps = new WakeUps();
    private long checkpointCount;
    private long checkpointNs;

    /** A connection that is opened next, with TLS or null for none. */
    public NodeConnection(CommandSender sender, Listener listener, TlsChannel tls) {
        super(new RequestRing(sender.context.limits().inFlightMax()), sender.context.arrivals());
        this.readBuffer = new ReadBuffer(sender.fanOut.batch.buffers);
        this.events = new ConnectionEvents(this, ring, sender, listener, tls);
    }

    @Override
    public final TlsChannel tls() {
        return events.tls;
    }

    @Override
    public final void addTo(ChannelPipeline pipeline) {
        channel = pipeline.channel();
        channel.config().setRecvByteBufAllocator(readBuffer);
        events.addTo(pipeline);
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

    /** As {@link #offer} for a command whose refusal registers for a push. The bytes are those of both. */
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
    public final boolean isUnanswered(long nowNs, long timeoutNs) {
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
    public final void trim() {
        ring.trim();
    }

    // ---- the end ----------------------------------------------------------------------------------------------------

    @Override
    final void fail(String reason) {
        events.fail(reason);
    }

    public final void close() {
        channel.close();
    }

    final void closeReadBuffer() {
        readBuffer.close();
    }

    /** Closes the connection in a task, after the replies that were read with the present one. */
    public final void endAfterRead(String reason) {
        events.endAfterRead(reason);
    }

    /** The connection is closed: the outcome of each request in flight is unknown. */
    public final void failAll() {
        events.failAll();
    }

    /** The loop has terminated, maybe before the channel has reported its end. */
    public final void end() {
        readBuffer.close();
        failAll();
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

    /** Why it may have ended before the first reply: the two ports of a server, or a certificate. */
    public String hintAtEnd(NodeAddress address) {
        if (hasReplied() || address.isUnixSocket()) {
            return "";
        }
        return events.tls == null
                ? " before its first reply; if this is its TLS port, write rediss://" + address
                : " right after the TLS handshake; if it requires a client certificate, give one that it trusts with"
                        + " TlsOptions.clientCertificate or clientKeyStore; its log has the reason";
    }
}
