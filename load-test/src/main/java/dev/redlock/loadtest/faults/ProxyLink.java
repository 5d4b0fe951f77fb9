package dev.redlock.loadtest.faults;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;

/**
 * A client's connection and the connection to the node behind it.
 *
 * @threading event-loop-confined
 */
final class ProxyLink {
    private final FaultProxy proxy;
    private final Channel client;
    private Channel node;
    private ProxyPipe requests;
    private ProxyPipe replies;
    private boolean isClosed;

    ProxyLink(FaultProxy proxy, Channel client) {
        this.proxy = proxy;
        this.client = client;
        client.closeFuture().addListener(done -> close());
    }

    void connect(Bootstrap bootstrap) {
        ChannelFuture connecting = bootstrap.handler(new ChannelInboundHandlerAdapter()).connect();
        connecting.addListener(done -> onConnected(connecting));
    }

    private void onConnected(ChannelFuture connecting) {
        if (!connecting.isSuccess() || isClosed) {
            connecting.channel().close();
            close();
            return;
        }
        node = connecting.channel();
        node.closeFuture().addListener(done -> close());
        requests = new ProxyPipe(proxy, node, false);
        replies = new ProxyPipe(proxy, client, true);
        client.pipeline().addLast(requests);
        node.pipeline().addLast(replies);
        onTrafficChanged();
    }

    /** A stall stops the reads, so that the sender's buffers fill as on a silent network. */
    void onTrafficChanged() {
        if (requests == null || isClosed) {
            return;
        }
        boolean isReading = proxy.traffic() != Traffic.STALL;
        client.config().setAutoRead(isReading);
        node.config().setAutoRead(isReading);
        requests.drain();
        replies.drain();
    }

    void close() {
        if (isClosed) {
            return;
        }
        isClosed = true;
        client.close();
        if (requests != null) {
            requests.discard();
            replies.discard();
            node.close();
        }
        proxy.onLinkClosed(this);
    }
}
