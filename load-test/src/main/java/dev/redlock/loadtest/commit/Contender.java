package dev.redlock.loadtest.commit;

import dev.redlock.cli.AdminClient;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A program that {@link VersusCommitCommand} measures.
 *
 * @threading caller-confined
 */
interface Contender extends AutoCloseable {

    /** Runs a closed loop of calls of a form; returns the figures in the order of the CSV. */
    double[] measure(String form, int inFlight, double seconds) throws IOException;

    @Override
    void close();

    private static String line(String name, Process process) throws IOException {
        String line = process.inputReader().readLine();
        if (line == null || line.startsWith("FAIL")) {
            throw new IllegalStateException(name + ": " + (line == null ? "the process has ended" : line));
        }
        return line;
    }

    /**
     * A {@link CommitDriver}. It ends with its standard input, so with this process.
     *
     * @param name    the contender
     * @param process the JVM
     * @threading caller-confined
     */
    record Client(String name, Process process) implements Contender {

        static Client start(String name, String classPath, List<String> arguments) throws IOException {
            List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java")
                    .toString(), "-Xms512m", "-Xmx512m", "-cp", classPath, CommitDriver.class.getName()));
            command.addAll(arguments);
            return new Client(name, new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start());
        }

        @Override
        public double[] measure(String form, int inFlight, double seconds) throws IOException {
            process.outputWriter().write(form + " " + inFlight + " " + seconds + "\n");
            process.outputWriter().flush();
            return Arrays.stream(line(name, process).split(",")).mapToDouble(Double::parseDouble).toArray();
        }

        @Override
        public void close() {
            process.destroy();
            process.onExit().join();
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

        @Override
        public double[] measure(String form, int inFlight, double seconds) throws IOException {
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
            String[] words = line("floor", builder.start()).split(",");
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
