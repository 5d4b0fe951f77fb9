package org.example;

import dev.redlock.trial.nodes.OrphanGuard;
import dev.redlock.trial.nodes.TemporaryFolders;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/** A PostgreSQL server on loopback, in a temporary folder. It refuses root, so root starts it as its own user. */
final class Postgres {

    private static final String USER = "postgres";
    private static final Path DEBIAN = Path.of("/usr/lib/postgresql");

    private final Path folder;
    private final Process server;
    private final OrphanGuard guard = OrphanGuard.start();
    final String url;
    final String password = UUID.randomUUID().toString();

    private Postgres(Path programs) throws Exception {
        folder = TemporaryFolders.create("redlock-nodes-postgres-");
        Path passwordFile = Files.writeString(folder.resolve("password"), password);
        List<String> own = new ArrayList<>();
        if (System.getProperty("user.name").equals("root")) {
            own.addAll(List.of("setpriv", "--reuid=" + USER, "--regid=" + USER, "--clear-groups"));
            run(List.of("chown", "-R", USER, folder.toString()));
        }
        Path data = folder.resolve("data");
        List<String> init = new ArrayList<>(own);
        init.addAll(List.of(programs.resolve("initdb").toString(), "-D", data.toString(), "-U", "sample", "-E", "UTF8",
                "--locale=C", "--no-sync", "--auth=scram-sha-256", "--pwfile=" + passwordFile));
        run(init);
        Files.delete(passwordFile);
        int port = freePort();
        List<String> start = new ArrayList<>(own);
        start.addAll(List.of(programs.resolve("postgres").toString(), "-D", data.toString(), "-p", "" + port,
                "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off"));
        server = new ProcessBuilder(start).directory(folder.toFile()).redirectErrorStream(true).start();
        guard.onStarted(OptionalLong.of(server.pid()));
        url = "jdbc:postgresql://127.0.0.1:" + port + "/postgres";
        try {
            awaitReady();
        } catch (Exception e) {
            close();
            throw e;
        }
    }

    /** Starts a server; aborts the test where none is installed and none is required. */
    static Postgres start() throws Exception {
        Path programs = programs();
        if (programs == null && !Boolean.getBoolean("tests.requireServers")) {
            Assumptions.abort("PostgreSQL is not installed");
        }
        return new Postgres(programs);
    }

    private static Path programs() throws IOException {
        List<Path> folders = new ArrayList<>();
        for (String folder : System.getenv("PATH").split(":")) {
            folders.add(Path.of(folder));
        }
        if (Files.isDirectory(DEBIAN)) {
            try (Stream<Path> versions = Files.list(DEBIAN)) {
                versions.sorted(Comparator.reverseOrder()).forEach(version -> folders.add(version.resolve("bin")));
            }
        }
        return folders.stream()
                .filter(folder -> Files.isExecutable(folder.resolve("initdb"))
                        && Files.isExecutable(folder.resolve("postgres")))
                .findFirst()
                .orElse(null);
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private void run(List<String> command) throws Exception {
        Process process = new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes());
        if (process.waitFor() != 0) {
            throw new IllegalStateException(command.get(0) + " failed: " + output);
        }
    }

    /** Reads the server's log to its end, on a thread of its own. */
    private void awaitReady() throws Exception {
        CompletableFuture<Boolean> ready = new CompletableFuture<>();
        List<String> log = new ArrayList<>();
        Thread reader = new Thread(() -> {
            try (BufferedReader lines = server.inputReader()) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    log.add(line);
                    if (line.contains("ready to accept connections")) {
                        ready.complete(true);
                    }
                }
            } catch (IOException e) {
                log.add(e.toString());
            }
            ready.complete(false);
        }, "postgres-log");
        reader.setDaemon(true);
        reader.start();
        if (!ready.get(60, TimeUnit.SECONDS)) {
            throw new IllegalStateException("the server does not start: " + log);
        }
    }

    Connection connect() throws SQLException {
        return connect(url, password);
    }

    static Connection connect(String url, String password) throws SQLException {
        return DriverManager.getConnection(url, "sample", password);
    }

    void execute(String... statements) throws SQLException {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            for (String each : statements) {
                statement.execute(each);
            }
        }
    }

    /** A fast shutdown, which does not wait for clients. */
    void close() throws Exception {
        new ProcessBuilder("kill", "-INT", Long.toString(server.pid())).start().waitFor();
        if (!server.waitFor(30, TimeUnit.SECONDS)) {
            server.destroyForcibly().waitFor();
        }
        guard.onEnded(OptionalLong.of(server.pid()));
        guard.close();
        TemporaryFolders.delete(folder);
    }
}
