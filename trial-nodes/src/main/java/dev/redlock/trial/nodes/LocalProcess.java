package dev.redlock.trial.nodes;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;

/**
 * A server process on this machine, started and ended by its process id.
 *
 * @threading caller-confined to the {@link RedisNode} that owns it
 */
final class LocalProcess implements NodeProcess {
    /**
     * Behind libfaketime in the order of search, the C library's malloc comes before that of jemalloc, which
     * packaged servers link to: jemalloc reads the clock while it starts, and libfaketime allocates when it is
     * first asked for the time, so that each waits for the other (libfaketime issue 130).
     */
    private static final String PLAIN_MALLOC = "libc.so.6";
    private static final Duration FREEZE_LIMIT = Duration.ofSeconds(5);

    private final Path executable;
    private final NodeSpec spec;
    private final Process process;

    private LocalProcess(Path executable, NodeSpec spec, Process process) {
        this.executable = executable;
        this.spec = spec;
        this.process = process;
    }

    static LocalProcess start(Path executable, NodeSpec spec) throws IOException {
        List<String> command = new ArrayList<>(spec.place().prefix());
        command.addAll(List.of(executable.toString(), spec.writeConfig().toString()));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.directory(spec.folder().toFile()).redirectErrorStream(true);
        builder.redirectInput(ProcessBuilder.Redirect.PIPE);
        builder.redirectOutput(ProcessBuilder.Redirect.appendTo(spec.logFile().toFile()));
        if (spec.clockLibrary() != null) {
            spec.writeClock(Duration.ZERO);
            builder.environment()
                    .putAll(Map.of("LD_PRELOAD", spec.clockLibrary() + ":" + PLAIN_MALLOC,
                            "FAKETIME_TIMESTAMP_FILE", spec.clockFile().toString(), "FAKETIME_NO_CACHE", "1",
                            "FAKETIME_DONT_FAKE_MONOTONIC", "1"));
        }
        Process process = builder.start();
        process.getOutputStream().close();
        return new LocalProcess(executable, spec, process);
    }

    @Override
    public OptionalLong pid() {
        return OptionalLong.of(process.pid());
    }

    @Override
    public boolean isAlive() {
        return process.isAlive();
    }

    @Override
    public boolean awaitEnd(Duration limit) {
        try {
            return process.waitFor(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return !process.isAlive();
        }
    }

    @Override
    public void terminate() {
        process.destroy();
    }

    @Override
    public void kill() {
        process.destroyForcibly();
    }

    @Override
    public void pause() throws IOException {
        Shell.signal("STOP", process.pid());
        awaitFrozen();
    }

    @Override
    public void resume() throws IOException {
        Shell.signal("CONT", process.pid());
    }

    @Override
    public String lastWords() {
        return spec.logTail();
    }

    @Override
    public NodeProcess again() throws IOException {
        return start(executable, spec);
    }

    @Override
    public void discard() throws IOException {
        TemporaryFolders.deleteTree(spec.dataFolder());
    }

    /** The signal is delivered a moment after kill returns; where the kernel shows process states, wait for it. */
    private void awaitFrozen() throws IOException {
        Path stat = Path.of("/proc", Long.toString(process.pid()), "stat");
        long deadlineNs = System.nanoTime() + FREEZE_LIMIT.toNanos();
        while (Files.exists(stat) && !isFrozen(stat)) {
            if (awaitEnd(Duration.ofMillis(1)) || deadlineNs - System.nanoTime() < 0) {
                throw new IOException("process " + process.pid() + " did not stop within " + FREEZE_LIMIT);
            }
        }
    }

    private static boolean isFrozen(Path stat) throws IOException {
        String line = Files.readString(stat);
        return line.startsWith("T", line.lastIndexOf(')') + 2);
    }
}
