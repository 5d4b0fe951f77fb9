package dev.redlock.transport;

import dev.redlock.api.TlsProvider;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;

/**
 * The options of TLS, validated.
 *
 * @param trust              trusted certificates; null for those of the JDK
 * @param identity           certificate and key of the client; null for none
 * @param protocols          protocol versions to offer
 * @param areHostNamesVerified whether a node's certificate must be for its host
 * @param provider           the implementation
 * @threading immutable
 */
public record TlsSpec(Trust trust, Identity identity, List<String> protocols, boolean areHostNamesVerified,
        TlsProvider provider) {

    /**
     * Files with trusted certificates.
     *
     * @threading immutable
     */
    public sealed interface Trust {
    }

    /**
     * Files with the certificate and key of the client.
     *
     * @threading immutable
     */
    public sealed interface Identity {
    }

    /**
     * Certificates in PEM files.
     *
     * @threading immutable
     */
    public record PemTrust(List<Path> files) implements Trust {
        @Override
        public String toString() {
            return files.toString();
        }
    }

    /**
     * A certificate and its key in PEM files.
     *
     * @param certificates the client's certificate and those of intermediate authorities
     * @threading immutable
     */
    public record PemIdentity(Path certificates, Path key, Supplier<char[]> password) implements Identity {
        /** Leaves the supplier out, whose text may be the password. */
        @Override
        public String toString() {
            return certificates + " and " + key;
        }
    }

    /**
     * A PKCS12 or JKS file.
     *
     * @param password of the file and its key
     * @threading immutable
     */
    public record StoreFile(Path file, Supplier<char[]> password) implements Trust, Identity {
        /** Leaves the supplier out, whose text may be the password. */
        @Override
        public String toString() {
            return file.toString();
        }
    }

    @Override
    public String toString() {
        return "trust=" + (trust == null ? "JDK" : trust) + ", clientCertificate="
                + (identity == null ? "none" : identity) + ", protocols=" + protocols + ", hostNamesVerified="
                + areHostNamesVerified + ", provider=" + provider;
    }
}
