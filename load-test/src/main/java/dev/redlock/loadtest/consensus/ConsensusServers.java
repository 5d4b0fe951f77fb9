package dev.redlock.loadtest.consensus;

import dev.redlock.transport.NodeAddress;
import dev.redlock.trial.nodes.OrphanGuard;
import dev.redlock.trial.nodes.TemporaryFolders;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/**
 * A group of servers of one consensus service on loopback, on free ports, with their data in a temporary folder. They
 * are killed by {@link #close()}, by a shutdown hook when the JVM ends first, and by a guard when the JVM is killed.
 *
 * @threading any thread
 */
public final class ConsensusServers implements AutoCloseable {
    private static final long START_LIMIT_NS = TimeUnit.SECONDS.toNanos(40);
    private static final long POLL_MS = 20;

    private final ConsensusService service;
    private final Path folder;
    private final ConsensusService.ServerGroup group;
    private final List<ServerProcess> servers = new CopyOnWriteArrayList<>();
    private final OrphanGuard guard = OrphanGuard.start();
    private final Thread hook = new Thread(this::end, "consensus-servers-end");
    private boolean isEnded;

    private ConsensusServers(ConsensusService service, int count, Path folder) {
        this.service = service;
        this.folder = folder;
        this.group = service.group(count, folder);
    }

    /**
     * Starts a group with no data and waits until each server answers.
     *
     * @param count   the number of servers, 1 to {@link ConsensusService#COUNT_MAX}
     * @throws IOException          if the service is missing or a server does not serve within 40 s; has the end of its
     *                              log
     * @throws InterruptedException if interrupted; nothing is left running
     */
    public static ConsensusServers start(ConsensusService service, int count, Path parent)
            throws IOException, InterruptedException {
        Optional<String> missing = service.missing();
        if (missing.isPresent()) {
            throw new IOException(service.title() + " cannot be started: " + missing.get());
        }
        Path folder = TemporaryFolders.create(parent, "consensus-servers-");
        ConsensusServers servers = new ConsensusServers(service, count, folder);
        Runtime.getRuntime().addShutdownHook(servers.hook);
        try {
            for (int i = 0; i < count; i++) {
                servers.launch(i);
            }
            servers.awaitServing();
            return servers;
        } catch (IOException | InterruptedException | RuntimeException e) {
            servers.close();
            throw e;
        }
    }

    private synchronized void launch(int index) throws IOException {
        if (isEnded) {
            throw new IOException("the JVM ends");
        }
        ServerProcess server = ServerProcess.start(group.command(index), folder.resolve("server" + index + ".log"));
        servers.add(server);
        guard.onStarted(server.pid());
    }

    private void awaitServing() throws IOException, InterruptedException {
        long deadlineNs = System.nanoTime() + START_LIMIT_NS;
        for (int i = 0; i < servers.size(); i++) {
            while (!group.isServing(i)) {
                if (servers.get(i).awaitEnd(POLL_MS) || deadlineNs - System.nanoTime() < 0) {
                    throw new IOException(service.title() + " server " + i + " does not serve after "
                            + TimeUnit.NANOSECONDS.toSeconds(START_LIMIT_NS) + " s at most: it "
                            + servers.get(i).lastWords());
                }
            }
        }
    }

    public List<NodeAddress> addresses() {
        return group.addresses;
    }

    /** The CPU time of all servers since their start, microseconds; empty if the system does not report it. */
    public OptionalDouble cpuUs() {
        double sumUs = 0;
        for (ServerProcess server : servers) {
            Optional<Duration> cpu = server.cpu();
            if (cpu.isEmpty()) {
                return OptionalDouble.empty();
            }
            sumUs += cpu.get().toNanos() / 1e3;
        }
        return OptionalDouble.of(sumUs);
    }

    public void kill(int index) {
        servers.get(index).kill();
    }

    /** One line for the report: how many, which version, and where their data are. */
    public String choice() {
        return servers.size() + (servers.size() == 1 ? " server of " : " servers of ") + service.version()
                + ", data in " + folder.getParent();
    }

    private synchronized void end() {
        if (isEnded) {
            return;
        }
        isEnded = true;
        for (ServerProcess server : servers) {
            server.kill();
            guard.onEnded(server.pid());
        }
        guard.close();
        try {
            TemporaryFolders.delete(folder);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot remove the servers' folder " + folder, e);
        }
    }

    /** Kills the servers and removes their data. A second call does nothing. */
    @Override
    public void close() {
        end();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The JVM is ending; the hook finds nothing left to do.
            return;
        }
    }

    /** @threading any thread */
    static final class ServerProcess {
        private static final int LAST_WORDS_MAX = 1_500;
        private static final long END_LIMIT_SECONDS = 10;

        private final Process process;
        private final Path log;

        private ServerProcess(Process process, Path log) {
            this.process = process;
            this.log = log;
        }

        static ServerProcess start(List<String> command, Path log) throws IOException {
            Process process = new ProcessBuilder(command).redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
            process.getOutputStream().close();
            return new ServerProcess(process, log);
        }

        OptionalLong pid() {
            return OptionalLong.of(process.pid());
        }

        /** Waits until it has ended; false if the limit passes first. */
        boolean awaitEnd(long limitMs) throws InterruptedException {
            return process.waitFor(limitMs, TimeUnit.MILLISECONDS);
        }

        /** Its exit code, once it has ended, and the end of its log. */
        String lastWords() {
            String state = process.isAlive() ? "runs" : "ended with exit code " + process.exitValue();
            return state + "; its log ends with: " + logEnd();
        }

        private String logEnd() {
            try {
                String text = new String(Files.readAllBytes(log), StandardCharsets.UTF_8).trim();
                return text.isEmpty() ? "(nothing)" : text.substring(Math.max(0, text.length() - LAST_WORDS_MAX));
            } catch (IOException e) {
                return "(it cannot be read: " + e.getMessage() + ")";
            }
        }

        /** CPU time since its start; empty if the system does not report it. */
        Optional<Duration> cpu() {
            return process.info().totalCpuDuration();
        }

        /** Kills it and waits for its end. Its data are of no use to anyone. */
        void kill() {
            process.destroyForcibly();
            boolean isInterrupted = Thread.interrupted();
            try {
                process.waitFor(END_LIMIT_SECONDS, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                isInterrupted = true;
            }
            if (isInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
