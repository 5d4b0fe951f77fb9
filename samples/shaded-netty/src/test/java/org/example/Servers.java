package org.example;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assumptions;

/**
 * Three servers of the PATH. The modules that start nodes for other tests need the Netty that this class path does not
 * have.
 */
final class Servers implements AutoCloseable {

    private static final int TRIES = 5;

    private final List<Process> processes = new ArrayList<>();
    private final List<String> addresses = new ArrayList<>();

    Servers(Path folder) throws IOException {
        try {
            while (addresses.size() < 3) {
                start(folder);
            }
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
    }

    /** A port that was free may be taken by another process before the server has it. */
    private void start(Path folder) throws IOException {
        String output = "";
        for (int i = 0; i < TRIES; i++) {
            int port = freePort();
            Process process = process(folder, port);
            processes.add(process);
            BufferedReader reader = process.inputReader();
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                if (line.contains("Ready to accept connections")) {
                    addresses.add("127.0.0.1:" + port);
                    return;
                }
                output += line + "\n";
            }
        }
        throw new IOException("redis-server does not start: " + output);
    }

    private static Process process(Path folder, int port) {
        try {
            return new ProcessBuilder("redis-server", "--port", "" + port, "--bind", "127.0.0.1", "--save", "",
                    "--dir", folder.toString()).redirectErrorStream(true).start();
        } catch (IOException e) {
            if (Boolean.getBoolean("tests.requireServers")) {
                throw new IllegalStateException("no redis-server on the PATH", e);
            }
            return Assumptions.abort("no redis-server on the PATH: " + e.getMessage());
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    String addresses() {
        return String.join(",", addresses);
    }

    @Override
    public void close() {
        processes.forEach(Process::destroyForcibly);
    }
}
