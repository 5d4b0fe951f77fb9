package dev.redlock.trial.nodes;

import dev.redlock.cli.ClientTls;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The PEM files for nodes and clients with TLS: an authority, and the certificates that it has issued. Nodes require
 * the certificate of a client.
 *
 * @param nodeCertificate   for localhost and the addresses of the nodes
 * @threading immutable
 */
record NodeTls(Path authority, Path nodeCertificate, Path nodeKey, Path clientCertificate, Path clientKey) {
    /** Protects a store that exists for some seconds in the folder of its user. */
    private static final String PASSWORD = "load-test";
    private static final String VALID_DAYS = "30";

    /** Issues certificates with the keytool of the JDK. */
    static NodeTls issue(Path folder, Set<String> hosts) {
        Path store = folder.resolve("issued.p12");
        try {
            keytool(store, "authority", "-ext", "bc:c");
            keytool(store, "node", "-signer", "authority", "-ext", "san=dns:localhost,ip:127.0.0.1"
                    + hosts.stream().map(host -> ",ip:" + host).collect(Collectors.joining()));
            keytool(store, "client", "-signer", "authority");
            KeyStore issued = KeyStore.getInstance("PKCS12");
            try (InputStream in = Files.newInputStream(store)) {
                issued.load(in, PASSWORD.toCharArray());
            }
            Files.delete(store);
            return new NodeTls(certificate(folder, issued, "authority"), certificate(folder, issued, "node"),
                    key(folder, issued, "node"), certificate(folder, issued, "client"), key(folder, issued, "client"));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("keytool wrote a store that cannot be read: " + e, e);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot issue certificates in " + folder, e);
        }
    }

    private static void keytool(Path store, String alias, String... more) throws IOException {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "keytool")
                .toString(), "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-genkeypair", "-alias", alias,
                "-dname", "CN=redlock load-test " + alias, "-keyalg", "EC",
                "-groupname", "secp256r1", "-validity", VALID_DAYS, "-keystore", store.toString(), "-storetype",
                "PKCS12", "-storepass", PASSWORD));
        command.addAll(List.of(more));
        Shell.Ended ended = Shell.run(command);
        if (ended.code() != 0) {
            throw new IOException("keytool failed: " + ended.said());
        }
    }

    private static Path certificate(Path folder, KeyStore store, String alias)
            throws GeneralSecurityException, IOException {
        Certificate certificate = store.getCertificate(alias);
        return write(folder.resolve(alias + ".pem"), "CERTIFICATE", certificate.getEncoded());
    }

    private static Path key(Path folder, KeyStore store, String alias) throws GeneralSecurityException, IOException {
        return write(folder.resolve(alias + ".key"), "PRIVATE KEY",
                store.getKey(alias, PASSWORD.toCharArray()).getEncoded());
    }

    private static Path write(Path file, String label, byte[] der) throws IOException {
        return Files.writeString(file, "-----BEGIN " + label + "-----\n" + Base64.getMimeEncoder().encodeToString(der)
                + "\n-----END " + label + "-----\n");
    }

    ClientTls forClients() {
        return new ClientTls(List.of(authority), clientCertificate, clientKey);
    }

    List<String> configLines(int port) {
        return List.of("tls-port " + port, "tls-auth-clients yes", "tls-ca-cert-file " + NodeSpec.quoted(authority),
                "tls-cert-file " + NodeSpec.quoted(nodeCertificate), "tls-key-file " + NodeSpec.quoted(nodeKey));
    }
}
