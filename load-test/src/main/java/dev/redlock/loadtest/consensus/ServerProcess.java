package dev.redlock.loadtest.consensus;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;

/**
 * One server, in a process of its own.
 *
 * @threading any thread
 */
final class ServerProcess {
    private static final int LAST_WORDS_MAX = 1_500;
    private static final long END_LIMIT_SECONDS = 10;

    private final Process process;
    private final Path log;

    private ServerProcess(Process process, Path log) {
        this.process = process;
        this.log = log;
    }

    static ServerProcess start(List<String> command, Path log) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
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
