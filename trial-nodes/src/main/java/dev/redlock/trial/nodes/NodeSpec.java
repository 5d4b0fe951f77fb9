package dev.redlock.trial.nodes;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The configuration of one started node.
 *
 * @param clockLibrary the library that steps its clock, or null
 * @param tlsPort    the loopback port with TLS; 0 without
 * @threading immutable
 */
record NodeSpec(int index, int port, Path folder, boolean isAppendOnly, Path socketFile, List<String> extra,
        Path clockLibrary, NodePlace place, NodeTls tls, int tlsPort) {

    NodeSpec withPorts(int other, int otherTls) {
        return new NodeSpec(index, other, folder, isAppendOnly, socketFile, extra, clockLibrary, place, tls, otherTls);
    }

    Path dataFolder() {
        return folder.resolve("data");
    }

    Path logFile() {
        return folder.resolve("server.log");
    }

    /** The file with the offset of its clock, if the clock can be stepped. */
    Path clockFile() {
        return folder.resolve("clock");
    }

    /** Replaces the file in one step, so that the node never reads half of it. */
    void writeClock(Duration offset) throws IOException {
        Path next = Files.writeString(folder.resolve("clock.next"),
                String.format(Locale.ROOT, "%+.3f%n", offset.toMillis() / 1e3));
        Files.move(next, clockFile(), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    /** Writes the configuration file: a file keeps a password out of the process list. */
    Path writeConfig() throws IOException {
        Files.createDirectories(dataFolder());
        Path file = folder.resolve("node.conf");
        List<String> lines = new ArrayList<>(
                List.of("bind " + place.host(), "port " + port, "dir " + quoted(dataFolder()), "daemonize no"));
        lines.addAll(commonLines());
        if (!place.host().equals(NodePlace.LOOPBACK.host())) {
            // The node listens on a private network.
            lines.add("protected-mode no");
        }
        if (socketFile != null) {
            lines.add("unixsocket " + quoted(socketFile));
            lines.add("unixsocketperm 700");
        }
        if (tls != null) {
            lines.addAll(tls.configLines(tlsPort));
        }
        Files.write(file, lines);
        return file;
    }

    /** The lines for both processes and containers. */
    List<String> commonLines() {
        List<String> lines = new ArrayList<>();
        lines.add("save \"\"");
        lines.add("appendonly " + (isAppendOnly ? "yes" : "no"));
        lines.add("appendfsync always");
        lines.addAll(extra);
        return lines;
    }

    String logTail() {
        try {
            List<String> lines = Files.exists(logFile()) ? Files.readAllLines(logFile()) : List.of();
            return String.join(" | ", lines.subList(Math.max(0, lines.size() - 5), lines.size()));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read the server's log " + logFile(), e);
        }
    }

    static String quoted(Path path) {
        return '"' + path.toString().replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }
}
