package dev.redlock.loadtest.commit;

import dev.redlock.cli.AdminClient;
import dev.redlock.loadtest.cli.ChildJvm;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A program that is measured in turns with others.
 *
 * @threading caller-confined
 */
interface Contender extends AutoCloseable {

    /**
     * Runs a closed loop of calls of a form.
     *
     * @return {@link ClosedLoop#FIGURES}
     * @throws IllegalStateException if there are none, with the reason. The contender is of no more use
     */
    double[] measure(String form, int inFlight, double seconds) throws IOException, InterruptedException;

    @Override
    void close();

    /** The next line of a process, which is killed if the line does not come within its time. */
    private static String line(String name, Process process, double limitSeconds) throws InterruptedException {
        CompletableFuture<String> line = new CompletableFuture<>();
        Thread reader = new Thread(() -> {
            try {
                line.complete(process.inputReader().readLine());
            } catch (IOException e) {
                line.complete(null);
            }
        }, "load-reader-" + name);
        reader.setDaemon(true);
        reader.start();
        String text;
        try {
            text = line.get((long) (limitSeconds * 1e3), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            process.destroyForcibly();
            throw new IllegalStateException(String.format(Locale.ROOT,
                    "%s: no figures within %.1f s, so its process was killed", name, limitSeconds), e);
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
        if (text == null || text.startsWith(ClosedLoop.FAIL)) {
            throw new IllegalStateException(name + ": " + (text == null ? "the process has ended" : text));
        }
        return text;
    }

    /**
     * A {@link CommitDriver} or a {@link PeerDriver}. It ends with its standard input, so with this process.
     *
     * @param name         the contender
     * @param process      the JVM
     * @param limitSeconds the time after the end of a turn within which it has to print its figures
     * @threading caller-confined
     */
    record Client(String name, Process process, double limitSeconds) implements Contender {

        private static final List<String> JVM_OPTIONS = List.of("-Xms512m", "-Xmx512m");
        private static final int END_LIMIT_SECONDS = 5;

        /** A state of this project, of the given class path. */
        static Client start(String name, String classPath, List<String> arguments, double limitSeconds)
                throws IOException {
            return start(name, classPath, CommitDriver.class, arguments, limitSeconds);
        }

        /** A driver of {@code compare}. */
        static Client startPeer(String driver, List<String> arguments, double limitSeconds) throws IOException {
            return start(driver, System.getProperty("java.class.path"), PeerDriver.class,
                    Stream.concat(Stream.of(driver), arguments.stream()).toList(), limitSeconds);
        }

        private static Client start(String name, String classPath, Class<?> program, List<String> arguments,
                double limitSeconds) throws IOException {
            List<String> command = ChildJvm.command(JVM_OPTIONS, classPath, program.getName(), arguments);
            return new Client(name, new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start(),
                    limitSeconds);
        }

        @Override
        public double[] measure(String form, int inFlight, double seconds) throws InterruptedException {
            try {
                process.outputWriter().write(form + " " + inFlight + " " + seconds + "\n");
                process.outputWriter().flush();
            } catch (IOException e) {
                throw new IllegalStateException(name + ": the process has ended", e);
            }
            String figures = line(name, process, seconds + limitSeconds);
            return Arrays.stream(figures.split(",")).mapToDouble(Double::parseDouble).toArray();
        }

        @Override
        public void close() {
            process.destroy();
            try {
                if (!process.waitFor(END_LIMIT_SECONDS, TimeUnit.SECONDS)) {
                    process.destroyForcibly();
                }
            } catch (InterruptedException e) {
                process.destroyForcibly();
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * The floor, a process for each turn.
     *
     * @param program  the program
     * @param nodes    the nodes, on ports in a row
     * @param basePort the first port
     * @param pids     the processes of the nodes
     * @threading caller-confined
     */
    record Floor(Path program, List<AdminClient> nodes, int basePort, String pids) implements Contender {
        /** Where its line has the figures; -1 for the heap and the switches, which it has not. */
        private static final int[] COLUMNS = {9, 14, 15, 16, 17, 20, 18, 19, 20, 21, -1, 27, -1};
        private static final int FAILED = 25;
        private static final int LIMIT_SECONDS = 60;

        @Override
        public double[] measure(String form, int inFlight, double seconds) throws IOException, InterruptedException {
            for (AdminClient node : nodes) {
                // It leaves its last locks behind.
                node.call("FLUSHALL");
            }
            ProcessBuilder builder = new ProcessBuilder(program.toString(), "epoll", "evalsha",
                    Integer.toString(nodes.size()), Integer.toString(inFlight), Double.toString(seconds))
                    .redirectError(ProcessBuilder.Redirect.INHERIT);
            builder.environment().put("WARMUP", "0.5");
            builder.environment().put("BASE_PORT", Integer.toString(basePort));
            builder.environment().put("SERVER_PIDS", pids);
            String[] words = line("floor", builder.start(), seconds + LIMIT_SECONDS).split(",");
            if (Long.parseLong(words[FAILED]) > 0) {
                throw new IllegalStateException("the floor did not acquire " + words[FAILED] + " locks");
            }
            return IntStream.of(COLUMNS).mapToDouble(i -> i < 0 ? 0 : Double.parseDouble(words[i])).toArray();
        }

        @Override
        public void close() {
            // Each turn ends its own process.
        }
    }
}
