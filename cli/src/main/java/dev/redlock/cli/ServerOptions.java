package dev.redlock.cli;

import dev.redlock.transport.NodeAddress;
import dev.redlock.transport.VoterAddress;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * The options that name the nodes, for all commands.
 *
 * @threading caller-confined
 */
final class ServerOptions {

    static final String VARIABLE = "REDLOCK_NODES";
    private static final int NODES_MAX = 63;

    @Option(names = "--nodes", split = ",", paramLabel = "ADDRESS",
            description = "The nodes: host:port, unix:///path, or%nredis://[user:password@]host[:port], or%n"
                    + "redis-sentinel://[user:password@]host:port,...,host:port/name;%nrediss:// and"
                    + " rediss-sentinel:// are with TLS. User and password of Sentinels are in "
                    + SentinelQuestion.USER + " and "
                    + SentinelQuestion.PASSWORD + ". Without it, the environment variable " + VARIABLE
                    + " names them, which "
                    + "other users of this machine cannot read.")
    private List<String> nodes = List.of();

    @Mixin
    private TlsFileOptions tlsFiles;

    @Option(names = "--timeout", paramLabel = "TIME", defaultValue = "2s", converter = DurationConverter.class,
            description = "How long to wait for a connection and for each answer (default: ${DEFAULT-VALUE}).")
    private Duration timeout;

    ServerOptions() {
        // picocli fills the fields.
    }

    /** Throws picocli's error for addresses and files that cannot be used. */
    List<VoterAddress> check(CommandLine line) {
        EarlyLoading.await();
        String named = System.getenv(VARIABLE);
        if (nodes.isEmpty() && named != null && !named.isBlank()) {
            nodes = List.of(named.split(",", -1));
        }
        nodes = SentinelQuestion.joined(nodes);
        Options.require(line, !nodes.isEmpty(),
                "no nodes are named: give --nodes host:port,host:port,... or set " + VARIABLE);
        List<VoterAddress> addresses = addresses(line);
        Options.require(line, new HashSet<>(addresses).size() == addresses.size(),
                "--nodes names a server twice: name each node once, or the quorum is wrong");
        Options.require(line, addresses.size() <= NODES_MAX,
                "--nodes names " + addresses.size() + " nodes: expected 1 to " + NODES_MAX);
        Options.requireAtLeast(line, "--timeout", timeout, Duration.ofMillis(1));
        boolean isTls = false;
        for (VoterAddress address : addresses) {
            isTls |= address.isTls();
        }
        tlsFiles.check(line, isTls);
        return addresses;
    }

    private List<VoterAddress> addresses(CommandLine line) {
        List<VoterAddress> addresses = new ArrayList<>();
        try {
            for (String node : nodes) {
                addresses.add(SentinelQuestion.parse(node));
            }
            return addresses;
        } catch (IllegalArgumentException e) {
            throw new CommandLine.ParameterException(line, "--nodes: " + e.getMessage());
        }
    }

    /** The addresses as they were given, with passwords. */
    String[] texts() {
        return nodes.toArray(new String[0]);
    }

    /** The server of a node now. */
    NodeAddress serverOf(VoterAddress node) throws IOException {
        return SentinelQuestion.serverOf(node, timeout, tlsFiles.files());
    }

    Duration timeout() {
        return timeout;
    }

    ClientTls tlsFiles() {
        return tlsFiles.files();
    }
}
