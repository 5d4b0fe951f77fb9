package dev.redlock.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/**
 * The options with the PEM files of a client with TLS.
 *
 * @threading caller-confined
 */
public final class TlsFileOptions {

    @Option(names = "--tls-ca", split = ",", paramLabel = "FILE",
            description = "For rediss:// addresses: trust the certificates in these PEM files and no others (default: "
                    + "those that the JDK trusts).")
    private List<Path> authorities = List.of();

    @Option(names = "--tls-cert", paramLabel = "FILE",
            description = "For rediss:// addresses: PEM file with the certificate of the client.")
    private Path certificate;

    @Option(names = "--tls-key", paramLabel = "FILE",
            description = "PEM file with the private key of --tls-cert, in PKCS#8. The environment variable "
                    + ClientTls.KEY_PASSWORD + " has the password of an encrypted key.")
    private Path key;

    /** picocli fills the fields. */
    public TlsFileOptions() {
        // No file yet.
    }

    /** Throws picocli's error for files that cannot be used, or that no address needs. */
    public void check(CommandLine line, boolean isTls) {
        Options.require(line, (certificate == null) == (key == null), certificate == null
                ? "--tls-key is given without --tls-cert: give the certificate of this key too"
                : "--tls-cert is given without --tls-key: give the private key of this certificate too");
        Options.require(line, isTls || isEmpty(), given() + " is for servers with TLS, and no address begins with "
                + "rediss://: write rediss://host:port, or leave the option out");
        if (!isEmpty()) {
            Options.requireParsed(line, given(), () -> files().read());
        }
    }

    private String given() {
        return authorities.isEmpty() ? "--tls-cert" : "--tls-ca";
    }

    private boolean isEmpty() {
        return authorities.isEmpty() && certificate == null && key == null;
    }

    /** The files; none if no option is given. */
    public ClientTls files() {
        return new ClientTls(authorities, certificate, key);
    }

    /**
     * Options that name files, for another process of this program.
     *
     * @param files the files
     * @return words of a command line
     */
    public static List<String> arguments(ClientTls files) {
        List<String> arguments = new ArrayList<>();
        files.authorities().forEach(file -> arguments.add("--tls-ca=" + file));
        if (files.certificate() != null) {
            arguments.add("--tls-cert=" + files.certificate());
            arguments.add("--tls-key=" + files.key());
        }
        return arguments;
    }
}
