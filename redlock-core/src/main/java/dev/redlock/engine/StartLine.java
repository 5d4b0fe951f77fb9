package dev.redlock.engine;

import dev.redlock.telemetry.Log;
import dev.redlock.node.NodeOptions;
import dev.redlock.transport.VoterAddress;
import java.util.stream.Collectors;

/**
 * The log line of a client that starts: what a reader of the log needs to know before any other line.
 *
 * @threading immutable
 */
final class StartLine {

    /** The version of the POM. It is no manifest's: that of a merged jar has the version of the application. */
    static final String VERSION = "0.1.0";

    private StartLine() {
    }

    static void log(ClientConfig config, String transport) {
        Log.log(System.Logger.Level.INFO, "{0}", textOf(config, transport));
    }

    /** Addresses are without user and password. */
    private static String textOf(ClientConfig config, String transport) {
        NodeOptions.Guards guards = config.nodes().options().guards();
        String nodes = config.nodes()
                .addresses()
                .stream()
                .map(VoterAddress::toString)
                .collect(Collectors.joining(", "));
        return "redlock " + VERSION + " starts with nodes " + nodes + "; votes needed: " + config.nodes().majority()
                + "; transport " + transport + ", event loops: " + config.loops().count() + "; restartGuard "
                + guards.mode() + ", maxTtl " + guards.maxTtlMs() + " ms";
    }
}
