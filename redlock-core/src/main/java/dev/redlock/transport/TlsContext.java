package dev.redlock.transport;

import io.netty.handler.ssl.SslContext;

/**
 * The trusted certificates and the identity of the client, ready for connections.
 *
 * @param context  creates the engine of each connection
 * @param provider the implementation, as status texts show it
 * @param problem  why files that were replaced are not used yet; null if the newest files are in use
 * @threading immutable
 */
public record TlsContext(SslContext context, String provider, String problem) {

    TlsContext withProblem(String newProblem) {
        return new TlsContext(context, provider, newProblem);
    }

    @Override
    public String toString() {
        return provider + (problem == null ? "" : ", " + problem);
    }
}
