package dev.redlock.tls;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.KeyStore;
import java.time.Duration;
import java.time.Instant;

/** An authority, the certificates that it issues, and their files in one folder. */
public final class TestCertificates {

    private final Path folder;
    private final X509Bundle authority = authority("CN=redlock test authority");

    public TestCertificates(Path folder) {
        this.folder = folder;
    }

    public static X509Bundle authority(String name) {
        try {
            return new CertificateBuilder().subject(name).setIsCertificateAuthority(true).buildSelfSigned();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    /** Issues a certificate for nodes on loopback. */
    public X509Bundle forNode() {
        return issued(
                new CertificateBuilder().subject("CN=node").addSanDnsName("localhost").addSanIpAddress("127.0.0.1"));
    }

    /** Issues a certificate for a node at another host. */
    public X509Bundle forHost(String host) {
        return issued(new CertificateBuilder().subject("CN=node").addSanDnsName(host));
    }

    /** Issues a certificate for nodes on loopback that has another time of validity. */
    public X509Bundle validFor(Duration start, Duration end) {
        Instant now = Instant.now();
        return issued(new CertificateBuilder().subject("CN=node")
                .addSanDnsName("localhost")
                .notBefore(now.plus(start))
                .notAfter(now.plus(end)));
    }

    public X509Bundle forClient() {
        return forClient("CN=client");
    }

    public X509Bundle forClient(String subject) {
        return issued(new CertificateBuilder().subject(subject));
    }

    /** Issues a certificate with a key of another algorithm. */
    public X509Bundle forClient(CertificateBuilder.Algorithm algorithm) {
        return issued(new CertificateBuilder().subject("CN=client").algorithm(algorithm));
    }

    private X509Bundle issued(CertificateBuilder builder) {
        try {
            return builder.buildIssuedBy(authority);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    public X509Bundle authority() {
        return authority;
    }

    /** @return PEM file with the certificate of the authority */
    public Path authorityFile() {
        return write("ca.pem", authority.getCertificatePEM());
    }

    public Path certificateFile(String name, X509Bundle bundle) {
        return write(name + ".pem", bundle.getCertificatePathPEM());
    }

    public Path keyFile(String name, X509Bundle bundle) {
        return write(name + ".key", bundle.getPrivateKeyPEM());
    }

    /** Replaces a file in one step, as a deployment does. */
    public Path write(String name, String content) {
        try {
            Path next = Files.writeString(folder.resolve(name + ".next"), content);
            return Files.move(next, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE,
                    StandardCopyOption.REPLACE_EXISTING);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    /** @return key store with a trusted certificate, and a key if its owner is not null */
    public Path storeFile(String name, String type, char[] password, X509Bundle trusted, X509Bundle owner) {
        try {
            KeyStore store = KeyStore.getInstance(type);
            store.load(null, null);
            if (trusted != null) {
                store.setCertificateEntry("trusted", trusted.getCertificate());
            }
            if (owner != null) {
                store.setKeyEntry("client", owner.getKeyPair().getPrivate(), password, owner.getCertificatePath());
            }
            Path file = folder.resolve(name);
            try (OutputStream out = Files.newOutputStream(file)) {
                store.store(out, password);
            }
            return file;
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }
}
