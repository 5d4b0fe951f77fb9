package dev.redlock.cli;

import dev.redlock.transport.VoterAddress;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * The options that all commands about locks share.
 *
 * @threading caller-confined
 */
final class LocksOptions {

    @Mixin
    private ServerOptions servers;

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
        return connect(line, servers);
    }

    static LockNodes connect(CommandLine line, ServerOptions servers) throws IOException {
        List<VoterAddress> addresses = servers.check(line);
        LockNodes nodes = LockNodes.connect(addresses, servers.timeout(), servers.tlsFiles());
        if (nodes.upCount() == 0) {
            StringWriter problems = new StringWriter();
            LocksText.printProblems(new PrintWriter(problems, true), nodes);
            nodes.close();
            throw new IOException((addresses.size() == 1 ? "" : "none of the " + addresses.size() + " nodes answers\n")
                    + problems.toString().strip());
        }
        return nodes;
    }

    static void requireKey(CommandLine line, String key) {
        Options.require(line, !key.isEmpty(), "KEY is empty: give the name of the lock with its key prefix");
    }
}
