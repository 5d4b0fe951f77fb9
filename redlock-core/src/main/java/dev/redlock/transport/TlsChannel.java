package dev.redlock.transport;

import io.netty.channel.Channel;
import io.netty.handler.ssl.SslHandler;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.List;
import java.util.function.Consumer;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSession;

/**
 * TLS on one connection: its handler, its handshake, and texts for its failures.
 *
 * @threading event-loop-confined
 */
public final class TlsChannel {

    /** Long enough for a socket that accepts bytes. A node that hangs does not delay the end of its connection. */
    private static final long CLOSE_NOTIFY_MS_MAX = 100;

    /** The kind of a subject alternative name that is a host name. */
    private static final Integer DNS_NAME = 2;

    private final NodeAddress address;
    private final TlsContext context;
    private final TlsContexts contexts;
    private SslHandler handler;

    /**
     * TLS for a connection that is opened next.
     *
     * @param address  the node, whose host the certificate must be for
     * @param contexts runs the parts of the handshake that take long
     */
    public TlsChannel(NodeAddress address, TlsContext context, TlsContexts contexts) {
        this.address = address;
        this.context = context;
        this.contexts = contexts;
    }

    /**
     * Encrypts a channel. The handshake starts when the channel is connected.
     *
     * @param channel a new channel, whose pipeline gets the handler
     */
    public void addTo(Channel channel) {
        handler = context.context()
                .newHandler(channel.alloc(), address.host(), address.port(),
                        contexts.handshakeTasks());
        setServerName();
        // The connector limits the time, from the start of the connection on.
        handler.setHandshakeTimeoutMillis(0);
        handler.setCloseNotifyFlushTimeoutMillis(CLOSE_NOTIFY_MS_MAX);
        channel.pipeline().addFirst(handler);
    }

    /** By default engines send only names with a dot, and names of containers have none. */
    private void setServerName() {
        String host = address.host();
        if (address.isIpAddress()) {
            return;
        }
        try {
            SSLParameters parameters = handler.engine().getSSLParameters();
            parameters.setServerNames(List.of(new SNIHostName(host)));
            handler.engine().setSSLParameters(parameters);
        } catch (IllegalArgumentException e) {
            // TLS has no form for this name, for example because of an underscore. The node sends its one certificate.
        }
    }

    /**
     * Sets the callback of the handshake's end.
     *
     * @param onEnd gets null after a success, else the failure; called on the event loop
     */
    public void onHandshake(Consumer<Throwable> onEnd) {
        handler.handshakeFuture().addListener(future -> onEnd.accept(future.cause()));
    }

    /**
     * Explains a failure of this connection.
     *
     * @param cause      from the pipeline or the handshake
     * @param isOpening whether the handshake of TLS is not complete
     * @return the reason and the fix
     */
    public TlsFailure failureOf(Throwable cause, boolean isOpening) {
        return TlsFailure.of(cause, address, isOpening);
    }

    /**
     * Checks what the implementations of TLS accept: without an alternative name they compare the common name, which an
     * authority need not verify (RFC 9525).
     *
     * @return the reason why the certificate of the node does not count; null if it does
     */
    public String nameProblem() {
        if (!contexts.areHostNamesVerified() || address.isIpAddress()) {
            return null;
        }
        try {
            X509Certificate certificate = (X509Certificate) handler.engine().getSession().getPeerCertificates()[0];
            Collection<List<?>> names = certificate.getSubjectAlternativeNames();
            if (names != null && names.stream().anyMatch(name -> name.get(0).equals(DNS_NAME))) {
                return null;
            }
        } catch (SSLPeerUnverifiedException | CertificateParsingException e) {
            return "the certificate of the node cannot be read: " + e.getMessage();
        }
        return "the certificate of the node has host " + address.host() + " as its common name only, which does not"
                + " count: issue one with this host as subject alternative name";
    }

    /** @return protocol, cipher suite, implementation, and why newer files are not used; one line */
    public String description() {
        SSLSession session = handler.engine().getSession();
        return session.getProtocol() + ", " + session.getCipherSuite() + ", " + context;
    }

    /** @return why files that were replaced are not used yet; null if the newest files are in use */
    public String problem() {
        return context.problem();
    }
}
