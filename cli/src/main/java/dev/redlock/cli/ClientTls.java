package dev.redlock.cli;

import dev.redlock.TlsOptions;
import dev.redlock.api.TlsProvider;
import dev.redlock.transport.TlsFileException;
import dev.redlock.transport.TlsFiles;
import dev.redlock.transport.TlsSpec;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * The PEM files of a client with TLS: the same for this program's own connections and for every driver.
 *
 * @param authorities trusted certificates; empty for those of the JDK
 * @param certificate the certificate of the client, or null
 * @param key         its private key, or null
 * @threading immutable
 */
public record ClientTls(List<Path> authorities, Path certificate, Path key) {
    /** The environment variable with the password of an encrypted key; other users of this machine cannot read it. */
    public static final String KEY_PASSWORD = "REDLOCK_TLS_KEY_PASSWORD";

    /** No files: the certificates that the JDK trusts. */
    public static final ClientTls DEFAULTS = new ClientTls(List.of(), null, null);

    private static final List<String> PROTOCOLS = List.of("TLSv1.3", "TLSv1.2");

    /** Copies the list. */
    public ClientTls {
        authorities = List.copyOf(authorities);
    }

    /**
     * The options of this project's client.
     *
     * @return options with these files
     */
    public TlsOptions options() {
        TlsOptions options = TlsOptions.defaults();
        if (!authorities.isEmpty()) {
            options = options.trustCertificates(authorities.toArray(Path[]::new));
        }
        return certificate == null ? options : options.clientCertificate(certificate, key, ClientTls::keyPassword);
    }

    private static char[] keyPassword() {
        String password = System.getenv(KEY_PASSWORD);
        return password == null ? null : password.toCharArray();
    }

    TlsSpec spec() {
        return new TlsSpec(authorities.isEmpty() ? null : new TlsSpec.PemTrust(authorities),
                certificate == null ? null : new TlsSpec.PemIdentity(certificate, key, ClientTls::keyPassword),
                PROTOCOLS, true, TlsProvider.AUTO);
    }

    /**
     * Reads the files.
     *
     * @return their contents, for clients that take the factories of the JDK
     * @throws IllegalArgumentException if a file cannot be used: the file, the rule and the fix
     */
    public Managers read() {
        TlsFiles files = null;
        try {
            files = TlsFiles.read(spec());
            return new Managers(files.trust(), files.identity());
        } catch (TlsFileException e) {
            throw new IllegalArgumentException(inWords(e.getMessage()), e);
        } finally {
            if (files != null) {
                files.clear();
            }
        }
    }

    /** A problem as the library reports it, with the options of this program instead of the library's methods. */
    static String inWords(String problem) {
        return problem.replace("TlsOptions.trustCertificates or trustStore", "--tls-ca")
                .replace("give the password in TlsOptions.clientCertificate", "set " + KEY_PASSWORD)
                .replace("TlsOptions.clientCertificate or clientKeyStore", "--tls-cert and --tls-key")
                .replace("TlsOptions.clientCertificate", "--tls-cert and --tls-key")
                .replace("TlsOptions.protocols, or tls-protocols", "tls-protocols")
                .replace("check the password in TlsOptions", "check " + KEY_PASSWORD)
                .replace("check its password", "check " + KEY_PASSWORD)
                .replace("the path in TlsOptions", "the path");
    }

    /**
     * The contents of the files.
     *
     * @param trust    null for the certificates that the JDK trusts
     * @param identity null without a client certificate
     * @threading immutable
     */
    public record Managers(TrustManagerFactory trust, KeyManagerFactory identity) {
        /**
         * The TLS of the JDK with these files.
         *
         * @return a context for sockets
         */
        public SSLContext context() {
            try {
                SSLContext context = SSLContext.getInstance("TLS");
                context.init(identity == null ? null : identity.getKeyManagers(),
                        trust == null ? null : trust.getTrustManagers(), null);
                return context;
            } catch (GeneralSecurityException e) {
                throw new IllegalStateException("this JDK cannot use TLS: " + e, e);
            }
        }
    }
}
