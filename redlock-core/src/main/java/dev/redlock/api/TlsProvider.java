package dev.redlock.api;

/**
 * The implementation of TLS that encrypts the connections.
 *
 * @threading immutable
 */
public enum TlsProvider {
    /** {@link #OPENSSL} if its native library can be loaded, else {@link #JDK}. */
    AUTO,
    /** The implementation of the JDK. */
    JDK,
    /** BoringSSL or OpenSSL, which the application adds as a dependency: netty-tcnative. */
    OPENSSL
}
