package dev.redlock.loadtest.locks;

import dev.redlock.loadtest.cli.DurationConverter;
import dev.redlock.loadtest.cli.Options;
import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/**
 * The options that all commands about locks share.
 *
 * @threading caller-confined
 */
final class LocksOptions {

    private static final int NODES_MAX = 63;

    @Option(names = "--addresses", split = ",", paramLabel = "ADDRESS", defaultValue = "${env:REDLOCK_ADDRESSES}",
            description = "All nodes of the locks, as in RedlockContext.nodes: host:port, "
                    + "redis://[user:password@]host[:port] or unix:///path (default: the environment variable "
                    + "REDLOCK_ADDRESSES, which other users of this machine cannot read).")
    private List<String> addresses;

    @Option(names = "--timeout", paramLabel = "TIME", defaultValue = "2s", converter = DurationConverter.class,
            description = "How long to wait for a connection and for each answer (default: ${DEFAULT-VALUE}).")
    private Duration timeout;

    @Option(names = "--values", description = "Show the whole values in hexadecimal. They are secrets.")
    private boolean values;

    @Option(names = "--json", description = "Print JSON for other programs; times are in milliseconds, -1 is never.")
    private boolean json;

    LocksOptions() {
        // picocli fills the fields.
    }

    boolean areValuesShown() {
        return values;
    }

    boolean isJson() {
        return json;
    }

    /** Connects to the nodes; at least one answers. */
    LockNodes connect(CommandLine line) throws IOException {
        Options.require(line, addresses != null && !addresses.isEmpty(),
                "no nodes are named: give --addresses host:port,host:port,... or set REDLOCK_ADDRESSES");
        List<NodeAddress> parsed = parse(line);
        Options.require(line, parsed.stream().distinct().count() == parsed.size(),
                "--addresses names a server twice: name each node once, or the quorum is wrong");
        Options.require(line, parsed.size() <= NODES_MAX,
                "--addresses names " + parsed.size() + " nodes: expected 1 to " + NODES_MAX);
        Options.requireAtLeast(line, "--timeout", timeout, Duration.ofMillis(1));
        LockNodes nodes = LockNodes.connect(parsed, timeout);
        if (nodes.upCount() == 0) {
            StringWriter problems = new StringWriter();
            LocksText.printProblems(new PrintWriter(problems, true), nodes);
            nodes.close();
            throw new IOException(
                    "none of the " + parsed.size() + " nodes answers\n" + problems.toString().strip());
        }
        return nodes;
    }

    private List<NodeAddress> parse(CommandLine line) {
        try {
            return addresses.stream().map(String::trim).map(NodeAddress::parse).toList();
        } catch (IllegalArgumentException e) {
            throw new CommandLine.ParameterException(line, "--addresses: " + e.getMessage());
        }
    }

    static void requireKey(CommandLine line, String key) {
        Options.require(line, !key.isEmpty(), "KEY is empty: give the name of the lock with its key prefix");
    }
}
