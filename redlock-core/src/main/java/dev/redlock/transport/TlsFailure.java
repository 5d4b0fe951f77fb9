package dev.redlock.transport;

import io.netty.handler.ssl.NotSslRecordException;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;

/**
 * A failure of TLS: the reason and the fix.
 *
 * @param reason      one line without secrets
 * @param isPermanent whether a person has to change something
 * @threading immutable
 */
public record TlsFailure(String reason, boolean isPermanent) {

    private static final int CAUSES_MAX = 16;
    /** {@code Received fatal alert: unknown_ca} of the JDK, {@code ...:TLSV1_ALERT_UNKNOWN_CA} of OpenSSL. */
    private static final Pattern ALERT = Pattern
            .compile("(?:fatal alert: |(?:ssl|tls)v[0-9]{1,2}_alert_)([a-z_]{1,40})");
    private static final Pattern REJECTED_CLIENT = Pattern.compile(
            "certificate_required|bad_certificate|unsupported_certificate|certificate_unknown|certificate_revoked"
                    + "|certificate_expired|unknown_ca|access_denied|decrypt_error");

    static TlsFailure of(Throwable thrown, NodeAddress address, boolean isOpening) {
        Throwable cause = thrown;
        for (int i = 0; cause != null && i < CAUSES_MAX; i++) {
            TlsFailure known = ofOne(cause, address, isOpening);
            if (known != null) {
                return known;
            }
            cause = cause.getCause();
        }
        Throwable root = rootOf(thrown);
        return root instanceof SSLException
                ? new TlsFailure("TLS failed: " + root.getMessage(), false)
                : new TlsFailure("connection failed: " + root, false);
    }

    private static TlsFailure ofOne(Throwable cause, NodeAddress address, boolean isOpening) {
        if (cause instanceof NotSslRecordException) {
            return permanent(isOpening
                    ? "the node replies without TLS: give its TLS port, or write redis:// for a node without TLS"
                    : "the node sent data that is not TLS");
        }
        if (cause instanceof CertificateException || cause instanceof CertPathValidatorException
                || cause instanceof CertPathBuilderException) {
            return ofCertificate(cause, address);
        }
        Matcher alert = ALERT.matcher(String.valueOf(cause.getMessage()).toLowerCase(Locale.ROOT));
        if (cause instanceof SSLException && alert.find()) {
            return ofAlert(alert.group(1));
        }
        boolean isEnd = cause instanceof ClosedChannelException || cause instanceof IOException
                && !(cause instanceof SSLException) && cause.getCause() == null;
        if (isOpening && (isEnd || isClosedInHandshake(cause))) {
            return new TlsFailure("the node closed the connection in the TLS handshake: check that the port is its TLS"
                    + " port, and the log of the node", false);
        }
        return null;
    }

    /** Netty reports the end of the connection as a failure of TLS. */
    private static boolean isClosedInHandshake(Throwable cause) {
        return cause instanceof SSLException && cause.getCause() == null
                && String.valueOf(cause.getMessage()).startsWith("Connection closed");
    }

    private static TlsFailure ofCertificate(Throwable cause, NodeAddress address) {
        for (Throwable inner = cause; inner != null; inner = inner.getCause()) {
            if (inner instanceof CertificateExpiredException) {
                return permanent("a certificate of the node has expired (" + inner.getMessage()
                        + "): renew the certificate of the node");
            }
            if (inner instanceof CertificateNotYetValidException) {
                return permanent("a certificate of the node is not valid yet (" + inner.getMessage()
                        + "): check the clocks, or the certificate of the node");
            }
        }
        Throwable root = rootOf(cause);
        if (root instanceof CertPathBuilderException) {
            return permanent("the certificate of the node is not trusted: add the certificate of its authority with"
                    + " TlsOptions.trustCertificates or trustStore");
        }
        String message = String.valueOf(root.getMessage());
        if (message.startsWith("No subject alternative") || message.startsWith("No name matching")) {
            return permanent("the certificate of the node is not for host " + address.host() + " (" + message
                    + "): connect by a name of the certificate, or issue a certificate with this name");
        }
        return permanent("the certificate of the node is rejected: " + message);
    }

    private static TlsFailure ofAlert(String alert) {
        if (REJECTED_CLIENT.matcher(alert).matches()) {
            return permanent("the node rejected the client certificate (" + alert
                    + "): give one that the node trusts with TlsOptions.clientCertificate or clientKeyStore");
        }
        return switch (alert) {
            case "handshake_failure" -> permanent("the node rejected the TLS handshake (" + alert
                    + "): it needs a client certificate (TlsOptions.clientCertificate), or has no common cipher suite");
            case "protocol_version" -> permanent("the node supports none of the TLS protocols that the client offers ("
                    + alert + "): change TlsOptions.protocols, or tls-protocols of the node");
            case "unrecognized_name" -> permanent("the node does not know the host name that the client sent (" + alert
                    + "): connect by a name of the node");
            default -> new TlsFailure("the node ended TLS with the alert " + alert, false);
        };
    }

    private static Throwable rootOf(Throwable thrown) {
        Throwable root = thrown;
        for (int i = 0; root.getCause() != null && i < CAUSES_MAX; i++) {
            root = root.getCause();
        }
        return root;
    }

    private static TlsFailure permanent(String reason) {
        return new TlsFailure(reason, true);
    }
}
