package dev.redlock.loadtest.chaos;

import dev.redlock.loadtest.cli.ChildJvm;
import dev.redlock.trial.nodes.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * One worker process, seen from its parent, which starts it from its own class path and signals it by process id. The
 * words before its command line, if there are any, must {@code exec} it.
 *
 * @threading caller-confined
 */
final class WorkerProcess {
    private static final Duration KILL_LIMIT = Duration.ofSeconds(10);
    private static final List<String> JVM_OPTIONS = List.of("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            "-Dio.netty.leakDetection.level=paranoid");

    private final int number;
    private final Path out;
    private final Path err;
    private final Process process;

    private WorkerProcess(int number, Path out, Path err, Process process) {
        this.number = number;
        this.out = out;
        this.err = err;
        this.process = process;
    }

    static WorkerProcess start(int number, Path folder, List<String> prefix, List<String> arguments)
            throws IOException {
        Path out = folder.resolve("worker-" + number + ".out");
        Path err = folder.resolve("worker-" + number + ".err");
        List<String> command = new ArrayList<>(prefix);
        command.addAll(ChildJvm.command(JVM_OPTIONS, arguments));
        Process process = new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile()).start();
        return new WorkerProcess(number, out, err, process);
    }

    /** Freezes the process. The same shell thaws it, so that a killed parent leaves no frozen process. */
    void pause(long ms) throws IOException {
        String seconds = ms / 1000 + "." + String.format("%03d", ms % 1000);
        String pid = Long.toString(process.pid());
        new ProcessBuilder("sh", "-c", "kill -STOP $1 && sleep $2; kill -CONT $1", "sh", pid, seconds)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
    }

    void resume() throws IOException {
        Shell.signal("CONT", process.pid());
    }

    int number() {
        return number;
    }

    boolean isEnded() {
        return !process.isAlive();
    }

    String said() throws IOException {
        return Files.readString(err).trim();
    }

    /** kill -9; returns when the process has ended. */
    void kill() throws InterruptedException {
        process.destroyForcibly();
        process.waitFor(KILL_LIMIT.toNanos(), TimeUnit.NANOSECONDS);
    }

    /** kill -9, without waiting for the end of the process. */
    void abandon() {
        process.destroyForcibly();
    }

    /** Closes the standard input of the process, which requests its end. */
    void requestStop() {
        try {
            process.getOutputStream().close();
        } catch (IOException e) {
            // The process has ended already; its exit code is checked later.
            return;
        }
    }

    /**
     * Waits for the end of the process and adds its counts. A worker that does not end, or ends with an error, is a
     * problem.
     */
    void collect(WorkerTally tally, long deadlineNs) throws IOException, InterruptedException {
        if (!process.waitFor(deadlineNs - System.nanoTime(), TimeUnit.NANOSECONDS)) {
            Shell.signal("QUIT", process.pid());
            process.waitFor(1, TimeUnit.SECONDS);
            kill();
            tally.problem(this + " did not stop; its threads:\n" + Files.readString(out));
        } else if (process.exitValue() != 0) {
            tally.problem(this + " ended with exit code " + process.exitValue());
        } else {
            tally.addPrinted(Files.readAllLines(out));
        }
        if (!said().isEmpty()) {
            tally.problem(this + " said: " + said());
        }
    }

    @Override
    public String toString() {
        return "worker process " + number;
    }
}
