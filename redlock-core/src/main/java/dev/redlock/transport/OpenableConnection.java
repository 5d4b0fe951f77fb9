package dev.redlock.transport;

import io.netty.channel.ChannelPipeline;

/**
 * The handlers of a connection that is about to be opened.
 *
 * @threading event-loop-confined
 */
public interface OpenableConnection {

    /** Adds its handlers to those of a new channel. */
    void addTo(ChannelPipeline pipeline);

    /** Its TLS; null for none. */
    TlsChannel tls();
}
