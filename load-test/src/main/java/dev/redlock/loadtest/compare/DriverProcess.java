package dev.redlock.loadtest.compare;

import dev.redlock.loadtest.cli.ChildJvm;
import dev.redlock.loadtest.driver.LockDriver;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import java.util.stream.Stream;

/**
 * A driver in its own JVM, so that the garbage and the compiled code of one client do not affect the next.
 * It stays warm and idle while other drivers are measured.
 *
 * @threading caller-confined, except for {@link #abandon}
 */
final class DriverProcess implements AutoCloseable {
    /** The same for every driver: collector and compiler are those of this JVM. */
    static final List<String> JVM_OPTIONS = Stream.concat(
            ManagementFactory.getRuntimeMXBean()
                    .getInputArguments()
                    .stream()
                    .filter(option -> option.matches("-XX:(\\+Use\\w+GC|TieredStopAtLevel=\\d)")),
            Stream.of("-Xms512m", "-Xmx512m")).toList();
    private static final long TICK_MS = 100;
    private static final long END_LIMIT_SECONDS = 10;
    private static final int SAID_MAX = 2_000;

    private final String driver;
    private final Process process;
    private final Path err;
    private final ObjectOutputStream in;
    /** A reply that is empty stands for the end of the process. */
    private final BlockingQueue<Optional<DriverReply>> replies = new LinkedBlockingQueue<>();

    private volatile boolean isAbandoned;

    private DriverProcess(String driver, Process process, Path err) throws IOException {
        this.driver = driver;
        this.process = process;
        this.err = err;
        this.in = new ObjectOutputStream(process.getOutputStream());
    }

    static DriverProcess start(LockDriver driver, List<String> options) throws IOException {
        List<String> arguments = new ArrayList<>(List.of(CompareDriverCommand.NAME, "--driver=" + driver.name()));
        arguments.addAll(options);
        Path err = Files.createTempFile("load-test-driver-", ".err");
        Process process = new ProcessBuilder(ChildJvm.command(JVM_OPTIONS, arguments)).redirectError(err.toFile())
                .start();
        DriverProcess started = new DriverProcess(driver.name(), process, err);
        Thread reader = new Thread(started::read, "load-driver-" + driver.name());
        reader.setDaemon(true);
        reader.start();
        return started;
    }

    private void read() {
        try (ObjectInputStream out = new ObjectInputStream(process.getInputStream())) {
            while (true) {
                replies.add(Optional.of((DriverReply) out.readObject()));
            }
        } catch (IOException | ClassNotFoundException e) {
            replies.add(Optional.empty());
        }
    }

    /** Runs a task in the process. The reply has an error if the process has ended. */
    DriverReply ask(DriverTask task, LongConsumer tick) throws InterruptedException {
        long startNs = System.nanoTime();
        try {
            in.writeObject(task);
            in.flush();
        } catch (IOException e) {
            return ended(task);
        }
        Optional<DriverReply> reply = replies.poll(TICK_MS, TimeUnit.MILLISECONDS);
        while (reply == null) {
            tick.accept(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs));
            reply = replies.poll(TICK_MS, TimeUnit.MILLISECONDS);
        }
        return reply.isPresent() ? reply.get() : ended(task);
    }

    private DriverReply ended(DriverTask task) throws InterruptedException {
        if (isAbandoned) {
            throw new InterruptedException("the comparison was cancelled");
        }
        // For the next caller.
        replies.add(Optional.empty());
        return new DriverReply(null, "the process of driver " + driver + " ended during " + task + ": " + said());
    }

    private String said() {
        try {
            String said = Files.readString(err).trim();
            return said.substring(Math.max(0, said.length() - SAID_MAX));
        } catch (IOException e) {
            return "its output cannot be read: " + e.getMessage();
        }
    }

    /** Kills the process without waiting for its end. */
    void abandon() {
        isAbandoned = true;
        process.destroyForcibly();
    }

    /** Closes the standard input of the process, which ends it. */
    @Override
    public void close() throws IOException {
        try (ObjectOutputStream closing = in) {
            closing.flush();
        } catch (IOException e) {
            // It has ended already.
            process.destroyForcibly();
        }
        try {
            if (!process.waitFor(END_LIMIT_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
        Files.deleteIfExists(err);
    }
}
