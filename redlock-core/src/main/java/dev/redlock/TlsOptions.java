package dev.redlock;

import dev.redlock.api.CheckReturnValue;
import dev.redlock.api.TlsProvider;
import dev.redlock.resp.SafeText;
import dev.redlock.transport.TlsSpec;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;

/**
 * The options of TLS, for nodes with a {@code rediss://} address. Each method returns a changed copy.
 *
 * <pre>{@code
 * TlsOptions tls = TlsOptions.defaults()
 *         .trustCertificates(Path.of("/etc/redlock/ca.pem"))
 *         .clientCertificate(Path.of("/etc/redlock/client.pem"), Path.of("/etc/redlock/client.key"));
 * }</pre>
 *
 * <p>The client reads the files before each connection, on a thread of its own, so a replaced file is used without a
 * restart. If files that were replaced cannot be used, the client keeps the previous ones and logs a warning.
 *
 * @threading immutable
 */
@CheckReturnValue
public final class TlsOptions {

    private static final List<String> PROTOCOLS = List.of("TLSv1.3", "TLSv1.2");
    private static final TlsOptions DEFAULTS = new TlsOptions(
            new TlsSpec(null, null, PROTOCOLS, true, TlsProvider.AUTO));

    private final TlsSpec spec;

    private TlsOptions(TlsSpec spec) {
        this.spec = spec;
    }

    TlsSpec spec() {
        return spec;
    }

    /** The certificates that the JDK trusts, no client certificate, TLS 1.3 and 1.2, and verified host names. */
    public static TlsOptions defaults() {
        return DEFAULTS;
    }

    /**
     * Trusts the certificates in PEM files, and no others.
     *
     * @param files certificates of authorities, or of single nodes; each file has at least one
     * @throws IllegalArgumentException if there is no file
     */
    public TlsOptions trustCertificates(Path... files) {
        Objects.requireNonNull(files, "trusted certificate files are null");
        if (files.length == 0) {
            throw new IllegalArgumentException("no trusted certificate file is given: give at least one PEM file");
        }
        List<Path> copy = Arrays.stream(files).map(file -> nonNull(file, "trusted certificate file")).toList();
        return with(new TlsSpec.PemTrust(copy), spec.identity());
    }

    /**
     * Trusts the certificates in a PKCS12 or JKS file, and no others.
     *
     * @param password called when the file is read, on a thread of the client; returns null for none. The client does
     *                 not change or keep the array.
     */
    public TlsOptions trustStore(Path file, Supplier<char[]> password) {
        return with(new TlsSpec.StoreFile(nonNull(file, "trust store"), nonNull(password)), spec.identity());
    }

    /**
     * Sends a client certificate to nodes that ask for one (mTLS).
     *
     * @param certificates PEM file with the client's certificate, then those of intermediate authorities
     * @param key          PEM file with the private key in PKCS#8: {@code BEGIN PRIVATE KEY}
     */
    public TlsOptions clientCertificate(Path certificates, Path key) {
        return clientCertificate(certificates, key, () -> null);
    }

    /**
     * Sends a client certificate to nodes that ask for one (mTLS).
     *
     * @param certificates PEM file with the client's certificate, then those of intermediate authorities
     * @param key          PEM file with the private key in PKCS#8: {@code BEGIN ENCRYPTED PRIVATE KEY}
     * @param password     of the key; called when the file is read, on a thread of the client. The client does not
     *                     change or keep the array.
     */
    public TlsOptions clientCertificate(Path certificates, Path key, Supplier<char[]> password) {
        return with(spec.trust(), new TlsSpec.PemIdentity(nonNull(certificates, "certificate file"),
                nonNull(key, "key file"), nonNull(password)));
    }

    /**
     * Sends a client certificate to nodes that ask for one (mTLS).
     *
     * @param file     PKCS12 or JKS file with one private key and its certificates
     * @param password of the file and of the key; called when the file is read, on a thread of the client. The client
     *                 does not change or keep the array.
     */
    public TlsOptions clientKeyStore(Path file, Supplier<char[]> password) {
        return with(spec.trust(), new TlsSpec.StoreFile(nonNull(file, "key store"), nonNull(password)));
    }

    /**
     * Sets the protocol versions that the client offers.
     *
     * @param names default {@code TLSv1.3} and {@code TLSv1.2}; at least one of these two
     * @throws IllegalArgumentException if there is none, or another one
     */
    public TlsOptions protocols(String... names) {
        Objects.requireNonNull(names, "TLS protocols are null");
        for (String name : names) {
            if (!PROTOCOLS.contains(Objects.requireNonNull(name, "TLS protocol is null"))) {
                throw new IllegalArgumentException(
                        "TLS protocol \"" + SafeText.of(name) + "\" is not supported: use TLSv1.3, TLSv1.2 or both");
            }
        }
        if (names.length == 0) {
            throw new IllegalArgumentException("no TLS protocol is given: use TLSv1.3, TLSv1.2 or both");
        }
        return with(List.of(names), spec.areHostNamesVerified(), spec.provider());
    }

    /**
     * Accepts any certificate of a trusted authority, whatever host it was issued for. Without the check of the host
     * name, every holder of such a certificate can act as a node. The client logs a warning when it is created.
     */
    public TlsOptions acceptAnyHostName() {
        return with(spec.protocols(), false, spec.provider());
    }

    /**
     * Sets the implementation of TLS.
     *
     * @param provider default {@link TlsProvider#AUTO}
     */
    public TlsOptions provider(TlsProvider provider) {
        return with(spec.protocols(), spec.areHostNamesVerified(),
                Objects.requireNonNull(provider, "TLS provider is null"));
    }

    private TlsOptions with(TlsSpec.Trust trust, TlsSpec.Identity identity) {
        return new TlsOptions(
                new TlsSpec(trust, identity, spec.protocols(), spec.areHostNamesVerified(), spec.provider()));
    }

    private TlsOptions with(List<String> protocols, boolean areHostNamesVerified, TlsProvider provider) {
        return new TlsOptions(new TlsSpec(spec.trust(), spec.identity(), protocols, areHostNamesVerified, provider));
    }

    private static Path nonNull(Path file, String what) {
        return Objects.requireNonNull(file, () -> what + " is null");
    }

    private static Supplier<char[]> nonNull(Supplier<char[]> password) {
        return Objects.requireNonNull(password, "password supplier is null: give () -> null for no password");
    }

    /** Shows files and never a password. */
    @Override
    public String toString() {
        return "TlsOptions{" + spec + "}";
    }
}
