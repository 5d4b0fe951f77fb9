package dev.redlock.loadtest.faults;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Runs this program again inside the clients' namespace of a network made for it, and removes the network afterwards:
 * when the inner program ends, on Ctrl-C, and when this process is killed.
 *
 * @threading caller-confined
 */
public final class NetworkRun {
    private static final long END_LIMIT_SECONDS = 30;

    private NetworkRun() {
    }

    /**
     * Makes the network, runs, removes it.
     *
     * @param prefix    what the namespaces' names begin with
     * @param nodes     how many nodes
     * @param mainClass of the program
     * @param arguments of the program
     * @return its exit code
     * @throws IOException          if the network cannot be made; the message says why
     * @throws InterruptedException if the wait for the inner program was interrupted; that is ended
     */
    public static int run(String prefix, int nodes, Class<?> mainClass, List<String> arguments)
            throws IOException, InterruptedException {
        NodeNetwork network = new NodeNetwork(prefix, nodes);
        try (NetworkGuard guard = NetworkGuard.start(network.namespaces())) {
            network.make();
            Process inner = start(network, mainClass, arguments);
            Thread hook = new Thread(() -> end(inner, guard), "node-network-end");
            Runtime.getRuntime().addShutdownHook(hook);
            try {
                return inner.waitFor();
            } finally {
                inner.destroy();
                unhook(hook);
            }
        }
    }

    private static Process start(NodeNetwork network, Class<?> mainClass, List<String> arguments) throws IOException {
        List<String> command = new ArrayList<>(network.entering(network.clients(),
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Djava.io.tmpdir=" + System.getProperty("java.io.tmpdir"), "-cp",
                System.getProperty("java.class.path"), mainClass.getName()));
        command.addAll(arguments);
        return new ProcessBuilder(command).inheritIO().start();
    }

    private static void end(Process inner, NetworkGuard guard) {
        inner.destroy();
        try {
            inner.waitFor(END_LIMIT_SECONDS, TimeUnit.SECONDS);
            guard.close();
        } catch (IOException e) {
            System.err.println("load-test: " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void unhook(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The JVM is ending: the hook does what is left to do.
            return;
        }
    }
}
