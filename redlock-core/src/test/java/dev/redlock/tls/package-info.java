/**
 * TLS and credentials: connections by both implementations of TLS, the text of each problem, and passwords that
 * change while a connection lives. {@code TlsServer} answers over TLS with the certificates of {@code
 * TestCertificates}.
 */
package dev.redlock.tls;
