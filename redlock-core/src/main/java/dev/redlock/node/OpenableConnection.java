package dev.redlock.node;

import dev.redlock.transport.TlsChannel;
import io.netty.channel.ChannelPipeline;

/**
 * A connection that a {@link NodeConnector} opens.
 *
 * @threading event-loop-confined
 */
interface OpenableConnection {

    /** Adds its handlers to those of a new channel. */
    void addTo(ChannelPipeline pipeline);

    /** Its TLS; null for none. */
    TlsChannel tls();
}
