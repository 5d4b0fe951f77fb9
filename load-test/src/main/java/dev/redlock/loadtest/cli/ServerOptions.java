package dev.redlock.loadtest.cli;

import dev.redlock.cli.ClientTls;
import dev.redlock.cli.Options;
import dev.redlock.cli.TlsFileOptions;
import dev.redlock.transport.NodeAddress;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * The options that name servers of the user: their addresses, with user and password, and the files for TLS.
 *
 * @threading caller-confined
 */
public final class ServerOptions {
    @Option(names = "--addresses", split = ",", paramLabel = "ADDRESS",
            description = "The servers: host:port, redis://[user:password@]host[:port], the same with rediss:// for "
                    + "TLS, or unix:///path (default: start servers).")
    private List<String> addresses = List.of();

    @Mixin
    private TlsFileOptions tlsFiles;

    ServerOptions() {
        // picocli fills the fields.
    }

    /** Throws picocli's error for addresses and files that cannot be used. */
    public void check(CommandLine line) {
        addresses = addresses.stream().map(String::trim).toList();
        Options.requireParsed(line, "--addresses", this::addresses);
        Options.require(line, addresses().stream().distinct().count() == addresses.size(),
                "--addresses names a server twice: name each node once, or the quorum is wrong");
        tlsFiles.check(line, hasTls());
    }

    public boolean isEmpty() {
        return addresses.isEmpty();
    }

    public List<NodeAddress> addresses() {
        return addresses.stream().map(NodeAddress::parse).toList();
    }

    /** The addresses as they were given, with passwords. */
    List<String> texts() {
        return addresses;
    }

    /** Whether any of the servers has TLS. */
    public boolean hasTls() {
        return addresses().stream().anyMatch(NodeAddress::isTls);
    }

    public ClientTls tlsFiles() {
        return tlsFiles.files();
    }
}
